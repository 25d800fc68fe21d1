"""Leakage by time: train rows from after the test began."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from trueval.audit.case import Case
from trueval.audit.drafts import Question, compare_orders, draft_of
from trueval.audit.finding import Draft, Finding
from trueval.audit.registry import check
from trueval.audit.sentences import counted
from trueval.audit.settings import Setting, keep_pairs
from trueval.render.numbers import short_percent

_REMEDY = "trueval split LOG --how temporal"
_NAMES = ("own_future", "global_future")


@check(heading="leakage", kind="estimate", needs=("parts",), question="Do systems learn from the future?")
def future_rows(case: Case) -> Iterable[Finding | Draft]:
    """Whether the order of systems is another one when train and test are divided by time."""
    own, everybody = (case.leakage[name] for name in _NAMES)
    if own.count is None or everybody.count is None:
        why = own.meaning.partition(" (")[0].removeprefix("unknown: ")
        sentence = f"It cannot be told whether systems learn from the future: {why}."
        yield Finding("future_rows", "leakage", "cannot tell", "fact", sentence, {}, own.do)
        return
    figures = {name: {"rows": one.count, "share": one.share} for name, one in zip(_NAMES, (own, everybody))}
    share = f"{short_percent(own.share or 0.0)} of the train rows are later than their user's first test row"
    if not own.count:
        share = (
            f"{short_percent(everybody.share or 0.0)} of the train rows are later than the first test row of anybody"
        )
    if not own.count and not everybody.count:
        sentence = "Train tells nothing of the future: none of its rows is later than a test row."
        yield Finding("future_rows", "leakage", "fine", "fact", sentence, figures)
        return
    if "wrong" in (own.verdict, everybody.verdict):
        sentence = f"Values are not those of a split by time, as which it is recorded: {share}."
        yield Finding("future_rows", "leakage", "wrong", "fact", sentence, figures, _REMEDY)
        return
    there, where = _alternative(case)
    if there is None:
        sentence = (
            f"It cannot be told what knowledge of the future does to {_metric(case)}: {share}. {_would_tell(case)}"
        )
        yield Finding("future_rows", "leakage", "cannot tell", "estimate", sentence, figures, _REMEDY)
        return
    yield _tested(case, there, where, share, figures)


def _tested(case: Case, there: Setting, where: str, share: str, figures: dict[str, Any]) -> Draft:
    subject = case.measured
    label = subject.labels[0]
    values = {name: (subject.base.value(name, label), there.value(name, label)) for name in subject.names}
    tested = counted(max(there.users(name, label) for name in subject.names), "user")
    question = Question(
        "future_rows", "leakage", "as split",
        f"No significant difference between systems is reversed {where} (of {tested}; {share}).",
        f"{tested} are tested there; {share}.", _REMEDY,
        figures={**figures, "as_split_and_by_time": values},
    )  # fmt: skip
    return draft_of(question, compare_orders(subject, there, setting=where))


def _alternative(case: Case) -> tuple[Setting | None, str]:
    """The values without knowledge of the future, as well as they can be had, and in words how."""
    subject = case.subject
    if subject is None or len(subject.names) < 2 or not subject.labels:
        return None, ""
    found = subject.by_time()
    if found is not None:
        return found, "when train and test are divided by time"
    assert case.given is not None
    last = case.given.train.frame.group_by("user").agg(pl.col("time").max().alias("last"))
    later = case.given.test.frame.join(last, on="user", how="left").filter(
        pl.col("last").is_null() | (pl.col("time") > pl.col("last"))
    )
    if not len(later):
        return None, ""
    where = "on test rows that are later than all train rows of their user"
    return subject.view(where, keep_pairs(later)), where


def _metric(case: Case) -> str:
    return case.measured.labels[0] if case.subject is not None and case.subject.labels else "the values"


def _would_tell(case: Case) -> str:
    if case.subject is None:
        return "Two systems or more would tell, with --systems or --recs."
    if len(case.subject.names) < 2:
        return "A second system would tell whether the order of both depends on it."
    return "Lists from a split by time would tell: no test row here is later than all train rows of its user."
