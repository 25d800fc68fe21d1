"""Unjudged items: what the test set says nothing about counts as a miss.

A figure, and no verdict on orders: which of them may be claimed depends on how ratings came about.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from trueval.audit.case import Case
from trueval.audit.drafts import compare_orders, recorded
from trueval.audit.finding import ALPHA, Finding
from trueval.audit.registry import check
from trueval.audit.sentences import listed
from trueval.audit.settings import RankedSystem
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import condense
from trueval.render.numbers import short_percent
from trueval.statistics.multiple_comparisons import corrected

_REMEDY = "judge more of what the systems list (an unbiased test set: --unbiased FILE), most of all where they differ"


@check(
    heading="sparsity bias", kind="estimate", needs=("systems", "facts"),
    question="Does the order depend on items that nobody has judged?",
)  # fmt: skip
def unjudged_items(case: Case) -> Iterable[Finding]:
    """The share of unjudged items among the first places, and which orders are reversed without them."""
    subject = case.measured
    assert subject.ranked is not None
    first = next(iter(subject.ranked.values())).facts
    if first.one_relevant or first.condensed or first.stratum is not None:
        return  # there are no lists, or no unjudged items in them
    depth = max([subject.specs[label].k or 0 for label in subject.labels]) or 10
    specs = subject.more_specs([f"unjudged@{depth}"])
    shares = subject.view("", lambda one: one.facts, specs)
    if shares is None:
        return
    label = next(iter(specs))
    values = shares.values(label)
    figures: dict[str, Any] = {"unjudged": values, "depth": depth}
    if not any(values.values()):
        sentence = f"Every item of the first {depth} places is judged."
        yield Finding("unjudged_items", "sparsity bias", "fine", "fact", sentence, figures)
        return
    told = listed([f"{short_percent(share)} of {name}'s" for name, share in values.items()])
    sentence = (
        f"The test set does not say how good {told} first {depth} items are, which count as misses without having been "
        "judged."
    )
    if all(bool(one.facts.relevant.all()) for one in subject.ranked.values()):
        sentence += " It has relevant items alone, so that nothing tells an unjudged item from a bad one."
    else:
        orders = compare_orders(subject, subject.view("", _condensed), setting="on judged items alone")
        q = corrected(np.array([one.p for one in orders], float))
        figures |= {"pairs": len(orders), "reversed": [recorded(one) for one, at in zip(orders, q) if at < ALPHA]}
    yield Finding("unjudged_items", "sparsity bias", "cannot tell", "estimate", sentence, figures, _REMEDY)


def _condensed(one: RankedSystem) -> RankingFacts:
    found = condense(one.facts)
    assert np.all(found.rank >= 0)
    return found
