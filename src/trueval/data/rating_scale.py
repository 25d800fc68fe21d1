"""Whether values look like ratings of which the low ones are dislikes, and what to say where all count as relevant.

Values look like ratings where

- they lie on a scale in steps of 1 or 1/2 whose top is 4 to 10, with three or more different values;
- at least 1 % of them are low: above 0, and in the lower half of the scale from 1 to its top;
- 0 is not among them, or the top is 5 or more. Grades of 0 to 4 are taken for graded relevance, as in the qrels of
  retrieval tests, where 0 is "judged, not relevant" and all others are relevant to some degree;
- none is negative: of likes and dislikes by sign, what is above 0 is liked;
- they do not look like counts: whole numbers from 1 on, of which 1 is the most frequent, with more than half of them 1
  or less than 2 % at the top.
"""

from __future__ import annotations

import numpy as np

from trueval.data.interactions import Interactions
from trueval.render.numbers import percent

_TOPS = (4.0, 10.0)
_TOP_WITH_ZERO = 5.0  # from here on a scale that holds 0 is one of ratings
_LOW_SHARE = 0.01
_RARE_TOP = 0.02


def notes_on_ratings(test: Interactions, threshold: float | None) -> list[str]:
    """A warning where ratings are evaluated without a threshold, so that the lowest of them count as relevant.

    >>> import polars as pl
    >>> test = Interactions.of(pl.DataFrame({"user": range(5), "item": range(5), "value": [1.0, 2.0, 4.0, 5.0, 5.0]}))
    >>> notes_on_ratings(test, None)[0].split(":")[0]
    'the test values look like ratings (1 to 5), and without a threshold every rated item counts as relevant'
    >>> notes_on_ratings(test, 4)
    []
    """
    if threshold is not None or not test.has("value"):
        return []
    counted = test.frame["value"].value_counts(name="rows").sort("value")
    values, rows = counted["value"].to_numpy().astype(np.float64), counted["rows"].to_numpy()
    if not looks_like_ratings(values, rows):
        return []
    low = (values > 0) & (values < _middle(values))
    share, worst = rows[low].sum() / rows.sum(), values[low]
    which = f"{worst[0]:g}" if len(worst) == 1 else f"{worst[0]:g} to {worst[-1]:g}"
    limit = suggested_threshold(values)
    return [
        f"the test values look like ratings ({values[0]:g} to {values[-1]:g}), and without a threshold every rated "
        f"item counts as relevant: {percent(share, 0)} of them are rated only {which}; give a threshold, for example "
        f"--threshold {limit:g} (threshold={limit:g})"
    ]


def looks_like_ratings(values: np.ndarray, rows: np.ndarray) -> bool:
    """Whether distinct values (ascending, each in so many rows) are those of a rating scale with low ratings.

    >>> looks_like_ratings(np.arange(1.0, 6), np.array([6, 11, 27, 35, 21]))
    True
    >>> looks_like_ratings(np.arange(1.0, 6), np.array([60, 20, 10, 5, 1]))  # counts
    False
    >>> looks_like_ratings(np.arange(0.0, 5), np.array([60, 20, 10, 5, 5]))  # graded relevance
    False
    """
    if len(values) < 3 or values[0] < 0 or not _TOPS[0] <= values[-1] <= _TOPS[1]:
        return False
    if (2 * values != np.rint(2 * values)).any() or (values[0] == 0 and values[-1] < _TOP_WITH_ZERO):
        return False
    low = (values > 0) & (values < _middle(values))
    return bool(rows[low].sum() >= _LOW_SHARE * rows.sum()) and not _like_counts(values, rows)


def _like_counts(values: np.ndarray, rows: np.ndarray) -> bool:
    whole = values[0] == 1 and (values == np.rint(values)).all()
    share = rows / rows.sum()
    return bool(whole and rows[0] == rows.max() and (share[0] > 0.5 or share[-1] < _RARE_TOP))


def _middle(values: np.ndarray) -> float:
    """The middle of the scale from 1 to its top."""
    return (1 + float(values[-1])) / 2


def suggested_threshold(values: np.ndarray) -> float:
    """The rating at three quarters of the scale, the higher one where two are as near.

    >>> [suggested_threshold(np.array(scale)) for scale in ([1, 2, 3, 4, 5], [0.5, 1, 4, 5], [1, 2, 4], [0, 5, 10])]
    [4.0, 4.0, 3.0, 8.0]
    """
    low, top = min(float(values[0]), 1.0), float(values[-1])
    return float(np.floor(low + 0.75 * (top - low) + 0.5))
