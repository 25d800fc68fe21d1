"""Test rows on which parameters were chosen: rows that the validation set and the test set share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trueval.audit.case import Case
from trueval.audit.finding import Finding
from trueval.audit.registry import check
from trueval.audit.sentences import counted
from trueval.audit.settings import keep_pairs
from trueval.render.numbers import number, short_percent

_KEYS = ["user", "item"]
_REMEDY = "choose parameters on rows of the train part (tv.tune does), and keep the test rows for the chosen system"


@check(
    heading="leakage", kind="fact", needs=("parts", "validation"),
    question="Were parameters chosen on the test rows?",
)  # fmt: skip
def tuned_on_test(case: Case) -> Iterable[Finding]:
    """Whether test pairs are in the validation set, and what the values are on the other test rows."""
    found = case.leakage["overlap_validation_test"]
    figures: dict[str, Any] = {"rows": found.count, "share": found.share}
    if not found.count:
        sentence = "No test row has its user and item in the validation set; what else it was used for leaves no trace."
        yield Finding("tuned_on_test", "leakage", "fine", "fact", sentence, figures)
        return
    rows = f"{counted(found.count, 'test row')} ({short_percent(found.share or 0.0)}) have their user and item in the "
    rows += "validation set"
    others = _on_others(case, figures)
    sentence = f"Values are those of systems that were chosen on the rows they are measured on: {rows}.{others}"
    yield Finding("tuned_on_test", "leakage", "wrong", "fact", sentence, figures, _REMEDY)


def _on_others(case: Case, figures: dict[str, Any]) -> str:
    """The system whose value changes most on test rows that are not in the validation set."""
    subject, given = case.subject, case.given
    assert given is not None
    assert given.validation is not None
    fresh = given.test.frame.join(given.validation.frame.select(_KEYS), on=_KEYS, how="anti")
    there = None if subject is None or not len(fresh) else subject.view("", keep_pairs(fresh))
    if subject is None or there is None:
        return ""
    label = subject.labels[0]
    values = {name: (subject.base.value(name, label), there.value(name, label)) for name in subject.names}
    name = max(values, key=lambda one: abs(values[one][0] - values[one][1]))
    figures["as_given_and_on_other_rows"] = values
    return f" {label} of {name} is {number(values[name][0])}, and {number(values[name][1])} on the other test rows."
