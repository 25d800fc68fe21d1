"""Expected reciprocal rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueval.errors import DefinitionError
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.grade_checks import MOST_EXPONENTIAL, check_grades
from trueval.metrics.registry import Parameter, metric
from trueval.metrics.wording import hits, number

_DO = "grades: state the top of their scale, err[gmax=5]; counts: use rr, or write 1 for every relevant item"


def _formula(o: Mapping[str, Any]) -> str:
    value = "1" if o["flipped"] else "value"
    highest = "1" if o["flipped"] else "the highest value in the test set"
    gmax = number(o["gmax"]) if o["gmax"] else highest
    return (
        f"Σ over {hits(o)} of s·Π(1 - s of the items of Rel above) / rank, s = (2^{value} - 1) / 2^gmax, gmax = {gmax}"
    )


@metric(
    family="accuracy",
    formula=_formula,
    range=(0, 1),
    cutoff="optional",
    parameters={
        "gmax": Parameter(
            0.0,
            low=0.0,
            high=1000.0,
            quiet=True,
            meaning="highest gain of the scale; 0 takes the highest in the test set, which must not be above 10",
        )
    },
    reference="Chapelle et al. 2009",
)
def err(facts: RankingFacts, k: int | None, *, gmax: float) -> np.ndarray:
    """Expected reciprocal of the rank at which a reader is satisfied.

    Gains are grades of a scale whose top satisfies almost surely. Counts are no such scale, and are refused.

    >>> from trueval.metrics.measure import measure
    >>> round(measure("err[gmax=4]", ["a", "b", "c", "d"], {"a": 3, "c": 1, "d": 2}), 6)
    0.473938
    """
    h = facts.hits
    highest = float(facts.value[facts.relevant].max(initial=0))
    top = gmax or check_grades(facts, "err", most=MOST_EXPONENTIAL, do=_DO)
    if highest > top:
        raise DefinitionError(
            "a gain is above gmax of err", found=f"{highest:g} > {top:g}", do=f"err[gmax={highest:g}]"
        )
    satisfied = np.exp2(h.gain - top) - np.exp2(-top)
    if facts.ties == "expected" and (h.tied > 1).any():
        return _expected(facts, satisfied, k)
    inside = slice(None) if k is None else h.rank <= k
    unit, s, rank = h.unit[inside], satisfied[inside], h.rank[inside]
    return facts.per_unit(unit, s * _left_before(unit, 1 - s) / rank)


def _left_before(unit: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Product of `left` over the earlier rows of each unit, place by place."""
    product = np.ones(len(unit))
    rows = np.flatnonzero(unit[1:] == unit[:-1]) + 1
    while len(rows):
        product[rows] = product[rows - 1] * left[rows - 1]
        # a row is final once the row before it is; each turn settles one more place of every unit
        rows = rows[np.isin(rows - 1, rows)]
    return product


def _expected(facts: RankingFacts, satisfied: np.ndarray, k: int | None) -> np.ndarray:
    """Average over the orders of equals: a unit's blocks one after the other, alike blocks of all units at once."""
    h = facts.hits
    new = np.ones(len(h.unit), bool)
    new[1:] = (h.unit[1:] != h.unit[:-1]) | (h.above[1:] != h.above[:-1])
    first = np.flatnonzero(new)
    m = np.diff(np.append(first, len(h.unit)))
    above, tied = h.above[first].astype(np.int64), h.tied[first].astype(np.int64)
    places = tied if k is None else np.clip(k - above, 0, tied)
    amount = np.zeros(len(first))
    kind = np.stack([np.frexp(places)[1], np.frexp(m)[1]])  # within a factor of two of each other
    for alike in np.unique(kind, axis=1).T:
        rows = np.flatnonzero((kind == alike[:, None]).all(axis=0))
        column = np.arange(m[rows].max())
        there = column < m[rows, None]
        s = np.where(there, satisfied[np.where(there, first[rows, None] + column, 0)], 0.0)
        amount[rows] = _blocks(s, m[rows], above[rows], tied[rows], places[rows])
    left = np.multiply.reduceat(1 - satisfied, first) if len(first) else amount
    return facts.per_unit(h.unit[first], amount * _left_before(h.unit[first], left))


def _blocks(s: np.ndarray, m: np.ndarray, above: np.ndarray, size: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Expected contribution of blocks of equals, one per row, the first m of `s` being its relevant items.

    Let p_q be the mean, over all choices of q of the m items, of what they leave together. A reader who has
    passed j places met q of the relevant ones with a hypergeometric probability, and stops at the next
    place with probability m/size · (p_q - p_(q+1)).
    """
    p = np.zeros((len(s), s.shape[1] + 1))
    p[:, 0] = 1.0
    q = np.arange(1, p.shape[1])
    for n, column in enumerate(s.T, 1):
        share = np.minimum(q / n, 1.0)
        with_one_more = (1 - share) * p[:, 1:] + share * (1 - column)[:, None] * p[:, :-1]
        p[:, 1:] = np.where((n <= m)[:, None], with_one_more, p[:, 1:])
    stops = np.where(q <= m[:, None], p[:, :-1] - p[:, 1:], 0.0)
    met = np.zeros_like(stops)  # probability of having met q - 1 relevant ones
    met[:, 0] = 1.0
    total = np.zeros(len(s))
    for j in range(int(places.max(initial=0))):
        total += np.where(j < places, (met * stops).sum(axis=1) * m / size / (above + j + 1), 0.0)
        rest = np.maximum(size - 1 - j, 1)[:, None]
        passed = met * np.maximum(size[:, None] - m[:, None] - j + (q - 1), 0) / rest
        passed[:, 1:] += met[:, :-1] * np.maximum(m[:, None] - q[:-1], 0) / rest
        met = passed
    return total
