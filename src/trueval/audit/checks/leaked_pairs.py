"""Leakage by pair: test rows whose user and item are also in train."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trueval.audit.case import Case
from trueval.audit.finding import Finding
from trueval.audit.registry import check
from trueval.audit.sentences import counted
from trueval.render.numbers import number, short_percent

_REMEDY = "keep one row per user and item: trueval split of the log without repeated pairs (`trueval data info`)"


@check(
    heading="leakage", kind="fact", needs=("parts",),
    question="Are the answers in what the systems learned from?",
)  # fmt: skip
def leaked_pairs(case: Case) -> Iterable[Finding]:
    """Whether test pairs are in train, and what they do to the values where they are counted."""
    found = case.leakage["overlap"]
    figures: dict[str, Any] = {"rows": found.count, "share": found.share}
    if not found.count:
        sentence = "Train has none of the pairs of the test set. What else systems have learned from, it does not tell."
        yield Finding("leaked_pairs", "leakage", "fine", "fact", sentence, figures)
        return
    rows = f"{counted(found.count, 'test row')} ({short_percent(found.share or 0.0)}) have their user and item in train"
    leaked = None if case.subject is None else case.subject.leaked()
    if leaked is None:
        sentence = f"Every value counts answers that systems have learned: {rows}."
        yield Finding("leaked_pairs", "leakage", "wrong", "fact", sentence, figures, _REMEDY)
        return
    subject = case.measured
    label = subject.labels[0]
    values = {name: (leaked.value(name, label), subject.base.value(name, label)) for name in subject.names}
    name = max(values, key=lambda one: abs(values[one][0] - values[one][1]))
    sentence = (
        f"{label} of {name} is {number(values[name][0])} with the leaked rows and {number(values[name][1])} without "
        f"them: {rows}. They are left out of everything below."
    )
    figures |= {"with": {n: v[0] for n, v in values.items()}, "without": {n: v[1] for n, v in values.items()}}
    yield Finding("leaked_pairs", "leakage", "wrong", "fact", sentence, figures, _REMEDY)
