"""Expected reciprocal rank."""

from __future__ import annotations

from math import comb

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.registry import Parameter, metric


@metric(
    family="accuracy",
    formula="Σ over hits within k of s·Π(1 - s of hits above) / rank, s = (2^gain - 1) / 2^gmax",
    range=(0, 1),
    cutoff="optional",
    parameters={
        "gmax": Parameter(0.0, low=0.0, meaning="highest gain of the scale; 0 takes the highest in the test set")
    },
    reference="Chapelle et al. 2009",
)
def err(facts: RankingFacts, k: int | None, *, gmax: float) -> np.ndarray:
    """Expected reciprocal of the rank at which a reader is satisfied.

    >>> from trueval.metrics.measure import measure
    >>> round(measure("err[gmax=4]", ["a", "b", "c", "d"], {"a": 3, "c": 1, "d": 2}), 6)
    0.473938
    """
    h = facts.hits
    top = gmax or float(facts.value[facts.relevant].max(initial=0))
    satisfied = (np.exp2(h.gain) - 1) / 2**top
    if facts.ties == "expected" and (h.tied > 1).any():
        value = _expected(facts, satisfied, k)
    else:
        inside = slice(None) if k is None else h.rank <= k
        unit, s, rank = h.unit[inside], satisfied[inside], h.rank[inside]
        value = facts.per_unit(unit, s * _left_before(unit, 1 - s) / rank)
    return value


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
    """Average over the orders of equals, block by block."""
    h = facts.hits
    value, reach = np.zeros(len(facts)), np.ones(len(facts))
    row = 0
    while row < len(h.unit):
        stop = row + 1
        while stop < len(h.unit) and h.unit[stop] == h.unit[row] and h.above[stop] == h.above[row]:
            stop += 1
        unit, s = h.unit[row], satisfied[row:stop]
        value[unit] += reach[unit] * _block(s, int(h.above[row]), int(h.tied[row]), k)
        reach[unit] *= np.prod(1 - s)
        row = stop
    return value


def _block(s: np.ndarray, above: int, size: int, k: int | None) -> float:
    """Expected contribution of a block: an item at place j is reached past a random set of j-1 others."""
    places = size if k is None else min(size, max(k - above, 0))
    total = 0.0
    for i in range(len(s)):
        others = np.delete(1 - s, i)
        e = np.array([1.0])  # elementary symmetric sums of what the other relevant items leave
        for x in others:
            e = np.concatenate([e, [0.0]]) + x * np.concatenate([[0.0], e])
        idle = size - len(s)
        for j in range(places):
            ways = sum(e[q] * comb(idle, j - q) for q in range(min(j, len(others)) + 1) if j - q <= idle)
            total += s[i] * ways / comb(size - 1, j) / size / (above + j + 1)
    return float(total)
