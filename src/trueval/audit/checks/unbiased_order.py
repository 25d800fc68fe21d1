"""Observed against true: the same systems on a test set of items that were drawn at random."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from trueval.audit.case import Case
from trueval.audit.drafts import Question, compare_orders, draft_of
from trueval.audit.finding import Draft, Finding
from trueval.audit.registry import check
from trueval.audit.sentences import listed
from trueval.comparison.tau import taus
from trueval.render.numbers import number, rounded

_REMEDY = (
    'trust the unbiased test; with propensities, trueval evaluate … --metrics "snips(recall)@10" --propensity … '
    "corrects the observed one"
)


@check(
    heading="missing not at random", kind="estimate", needs=("systems", "unbiased"),
    question="Is the observed order the true one, although users chose what they rated?",
)  # fmt: skip
def unbiased_order(case: Case) -> Iterable[Finding | Draft]:
    """Whether an order on the observed test is reversed on the unbiased one."""
    subject = case.measured
    there = subject.true
    label = subject.labels[0]
    if there is None:
        sentence = (
            f"It cannot be told whether the observed order on {label} is the true one: the unbiased test has no value."
        )
        yield Finding("unbiased_order", "missing not at random", "cannot tell", "estimate", sentence)
        return
    names = [name for name in subject.names if name in there.systems]
    observed, true = subject.base.values(label), there.values(label)
    figures: dict[str, Any] = {"metric": label, "observed": observed, "true": true}
    values = listed([f"{name} {number(true[name])} (observed {number(observed[name])})" for name in names])
    told = f"On the unbiased test {label} is: {values}."
    if len(names) > 2:
        scores = [np.array([[found[name] for name in names]]) for found in (observed, true)]
        tau = float(taus(*scores)[0][0])
        figures["tau"] = tau
        told += f" Kendall's τ between the two orders is {rounded(tau)}."
    if len(names) < 2:
        yield Finding("unbiased_order", "missing not at random", "fine", "estimate", told, figures)
        return
    question = Question(
        "unbiased_order", "missing not at random", "on the observed test",
        f"No significant difference on the observed test is reversed on the unbiased one. {told}",
        told, _REMEDY, figures=figures,
    )  # fmt: skip
    yield draft_of(question, compare_orders(subject, there, setting="on the unbiased test"))
