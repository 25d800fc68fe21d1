"""Feedback loops: were the ratings that systems are judged by chosen by an earlier system?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from trueval.audit.case import Case
from trueval.audit.drafts import Question, compare_orders, draft_of
from trueval.audit.finding import Draft, Finding
from trueval.audit.registry import check
from trueval.audit.settings import without_pairs
from trueval.data.interactions import Interactions
from trueval.errors import DataError
from trueval.render.numbers import short_percent
from trueval.statistics.inequality import gini_index

MARK = "recommended"  # the column that says which rows a recommender brought about
_NAME = "feedback_loop"
_REMEDY = (
    f"mark test rows that were recommended (a column {MARK!r}, 0 or 1): orders are then compared without them; trueval "
    "track SNAPSHOT… follows logs over time, trueval simulate loop shows what a loop does"
)
_MARKED = "evaluate on rows that were not recommended, or on items drawn at random (--unbiased FILE)"


@check(heading="feedback loop", kind="estimate", question="Did an earlier system choose what users rated?")
def feedback_loop(case: Case) -> Iterable[Finding | Draft]:
    """Orders without the rows that were recommended, where the test set marks them; else what a log can tell: whether
    ratings fall on fewer items as time goes on."""
    marked = None if case.test is None else _marked(case.test)
    if marked is None:
        yield _unmarked(case)
        return
    share = len(marked) / len(case.test.frame) if case.test is not None else 0.0
    rows = f"{short_percent(share)} of the test rows were recommended by an earlier system"
    figures: dict[str, Any] = {"recommended": share}
    if not len(marked):
        sentence = "No test row is marked as recommended by an earlier system."
        yield Finding(_NAME, "feedback loop", "fine", "fact", sentence, figures)
        return
    subject = case.subject
    several = subject is not None and subject.ranked is not None and len(subject.names) > 1 and bool(subject.labels)
    there = subject.view("", without_pairs(marked)) if subject is not None and several else None
    if subject is None or there is None:
        sentence = f"It cannot be told whether this favours some systems: {rows}. Two systems or more would tell."
        yield Finding(_NAME, "feedback loop", "cannot tell", "estimate", sentence, figures, _MARKED)
        return
    where = "without rows that were recommended"
    question = Question(
        _NAME, "feedback loop", "on all test rows",
        f"No significant difference between systems is reversed {where}: {rows}.", f"{rows[0].upper()}{rows[1:]}.",
        _MARKED, figures=figures,
    )  # fmt: skip
    yield draft_of(question, compare_orders(subject, there, setting=where))


def _marked(test: Interactions) -> pl.DataFrame | None:
    """Test rows that are marked as recommended; None where rows have no mark."""
    if MARK not in test.frame.columns:
        return None
    mark = test.frame[MARK]
    if mark.null_count() or not (mark.dtype == pl.Boolean or (mark.dtype.is_numeric() and mark.is_in([0, 1]).all())):
        raise DataError(
            f"the column {MARK!r} must say of every row whether it was recommended", where=test.name,
            found=f"{mark.dtype}, {mark.null_count():,} empty", do="write 1 for recommended rows, 0 for the others",
        )  # fmt: skip
    return test.frame.filter(mark.cast(pl.Boolean)).select("user", "item")


def _unmarked(case: Case) -> Finding:
    sentence = (
        "It cannot be told whether an earlier system chose what users rated, and so favours systems like itself: the "
        "log does not say which rows were recommended."
    )
    halves = None if case.train is None else _halves(case.train)
    figures = {} if halves is None else {"gini_first_half": halves[0], "gini_second_half": halves[1]}
    if halves is not None:
        sentence += (
            f" In train, the Gini index of the ratings of items is {halves[0]:.3f} in the earlier half of the rows and "
            f"{halves[1]:.3f} in the later one; a rise would fit a loop, and other causes as well."
        )
    return Finding(_NAME, "feedback loop", "cannot tell", "fact", sentence, figures, _REMEDY)


def _halves(log: Interactions) -> tuple[float, float] | None:
    """Gini of the ratings per item in the earlier and the later half of a log, over the items of each."""
    if not log.has("time") or len(log) < 2:
        return None
    ordered = log.frame.select("item", "time").drop_nulls().sort("time", "item")
    middle = len(ordered) // 2
    found = [_gini(part) for part in (ordered.head(middle), ordered.tail(len(ordered) - middle))]
    return (found[0], found[1]) if middle else None


def _gini(rows: pl.DataFrame) -> float:
    return gini_index(np.sort(rows.group_by("item").len()["len"].to_numpy()))
