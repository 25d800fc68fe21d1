"""Hit rate."""

from __future__ import annotations

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.discount import hits_at
from trueval.metrics.registry import metric


@metric(
    family="accuracy",
    formula="1 if top(k) ∩ Rel is not empty, else 0",
    range=(0, 1),
    reference="Deshpande & Karypis 2004",
    aliases=("hr", "hit_rate", "success"),
    by_set=True,
)
def hit(facts: RankingFacts, k: int) -> np.ndarray:
    """Whether any relevant item is within the first k.

    >>> from trueval.metrics.measure import measure
    >>> measure("hit@5", ["A", "B", "C", "D", "E"], {"B", "C", "E", "G"})
    1.0
    """
    if facts.ties != "expected":
        value = (hits_at(facts, k) > 0).astype(np.float64)
    else:
        value = 1 - _missed(facts, k)
    return value


def _missed(facts: RankingFacts, k: int) -> np.ndarray:
    """Probability that no relevant item is within k when equals come in random order."""
    h = facts.hits
    missed = np.ones(len(facts))
    missed[h.unit[h.above + h.tied <= k]] = 0.0
    at_edge = (h.above < k) & (h.above + h.tied > k)
    # the i-th relevant item of the block that the cut splits: none of them among the first k - above
    place = _place_among(h.unit[at_edge])
    size, free = h.tied[at_edge] - place, h.tied[at_edge] - place - (k - h.above[at_edge])
    np.multiply.at(missed, h.unit[at_edge], np.maximum(free, 0) / size)
    return missed


def _place_among(unit: np.ndarray) -> np.ndarray:
    """0, 1, 2… within each run of equal units."""
    new = np.ones(len(unit), bool)
    new[1:] = unit[1:] != unit[:-1]
    first = np.flatnonzero(new)
    return np.arange(len(unit)) - first[np.cumsum(new) - 1] if len(unit) else np.arange(0)
