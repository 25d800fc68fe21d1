"""Reciprocal rank."""

from __future__ import annotations

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.registry import metric
from trueval.metrics.wording import hits


@metric(
    family="accuracy",
    formula=lambda o: f"1 / rank of the first item of {hits(o)}, 0 if there is none",
    range=(0, 1),
    cutoff="optional",
    reference="Voorhees 1999",
    aliases=("mrr",),
)
def rr(facts: RankingFacts, k: int | None) -> np.ndarray:
    """Reciprocal of the rank of the first relevant item.

    >>> from trueval.metrics.measure import measure
    >>> measure("rr", ["A", "B", "C", "D", "E"], {"B", "C", "E", "G"})
    0.5
    """
    h = facts.hits
    first = np.ones(len(h.unit), bool)
    first[1:] = h.unit[1:] != h.unit[:-1]
    value = np.zeros(len(facts))
    if facts.ties != "expected":
        inside = first if k is None else first & (h.rank <= k)
        value[h.unit[inside]] = 1 / h.rank[inside]
    else:
        value[h.unit[first]] = _expected(facts, first, k)
    return value


def _expected(facts: RankingFacts, first: np.ndarray, k: int | None) -> np.ndarray:
    """Expected reciprocal rank of the first of m relevant items in a block of t equals behind a others."""
    h = facts.hits
    a, t = h.above[first], h.tied[first]
    same_block = h.above == a[np.cumsum(first) - 1]
    m = np.bincount(h.unit[same_block], minlength=len(facts))[h.unit[first]]
    cases, back = np.unique(np.stack([a, t, m]), axis=1, return_inverse=True)
    values = np.array([_first_of(int(a), int(t), int(m), k) for a, t, m in cases.T])
    return values[back.ravel()] if len(values) else np.empty(0)


def _first_of(a: int, t: int, m: int, k: int | None) -> float:
    last = t - m + 1 if k is None else min(t - m + 1, k - a)
    if last < 1:
        return 0.0
    j = np.arange(1, last + 1)
    # P(first at j) = m/t for j = 1, and then (t-j-m+1)/(t-j) of the one before
    steps = np.concatenate([[m / t], (t - j[:-1] - m + 1) / (t - j[:-1])])
    return float(np.sum(np.cumprod(steps) / (a + j)))
