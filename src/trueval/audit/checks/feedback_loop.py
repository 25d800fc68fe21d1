"""Feedback loops: were the ratings that systems are judged by chosen by an earlier system?"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from trueval.audit.case import Case
from trueval.audit.finding import Finding
from trueval.audit.registry import check
from trueval.data.interactions import Interactions
from trueval.statistics.inequality import gini_index

_REMEDY = (
    "mark rows that were recommended and evaluate the others; trueval track SNAPSHOT… follows logs over time, trueval "
    "simulate loop shows what a loop does"
)


@check(heading="feedback loop", kind="fact", question="Did an earlier system choose what users rated?")
def feedback_loop(case: Case) -> Iterable[Finding]:
    """What a log can tell of it: whether ratings fall on fewer items as time goes on."""
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
    yield Finding("feedback_loop", "feedback loop", "cannot tell", "fact", sentence, figures, _REMEDY)


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
