"""How much a place in the ranking counts, exactly or in expectation over equal scores."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from trueval.facts.ranking_facts import RankingFacts

Cutoff = int | np.ndarray | None  # one for all units, one each, or none


class Discount(Protocol):
    """Weight of a rank, and the sum of weights of the first ranks."""

    def at(self, rank: np.ndarray) -> np.ndarray: ...

    def upto(self, rank: np.ndarray) -> np.ndarray: ...


class Table:
    """Discounts looked up in a table, made once for the deepest rank that occurs."""

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = np.concatenate([[0.0], weights])
        self.sums = np.cumsum(self.weights)

    def at(self, rank: np.ndarray) -> np.ndarray:
        return self.weights[rank]

    def upto(self, rank: np.ndarray) -> np.ndarray:
        return self.sums[rank]


def log2(deepest: int) -> Table:
    """1 / log2(rank + 1)."""
    return Table(1 / np.log2(np.arange(1, deepest + 1) + 1))


def lenskit(deepest: int) -> Table:
    """1 / max(1, log2(rank)): the first two places count the same."""
    return Table(1 / np.maximum(1, np.log2(np.arange(1, deepest + 1))))


def harmonic(deepest: int) -> Table:
    """1 / rank."""
    return Table(1 / np.arange(1, deepest + 1))


def geometric(p: float, deepest: int) -> Table:
    """p^(rank-1)."""
    return Table(p ** np.arange(deepest))


def flat(deepest: int) -> Table:
    """Every place counts 1."""
    return Table(np.ones(deepest))


def deepest_rank(facts: RankingFacts, k: Cutoff) -> int:
    """The deepest rank a hit may have within the cutoff."""
    h = facts.hits
    last = h.above + h.tied if facts.ties == "expected" else h.rank
    deepest = int(last.max(initial=1))
    return deepest if k is None else max(1, min(deepest, int(np.max(k, initial=1))))


def collect(facts: RankingFacts, k: Cutoff, discount: Discount) -> tuple[np.ndarray, np.ndarray]:
    """What each hit collects within the cutoff: (rows of `facts.hits`, weights).

    With ties="expected" a hit is equally likely at every place its equals take up, so it collects their mean.
    """
    h = facts.hits
    limit = k[h.unit] if isinstance(k, np.ndarray) else k
    if facts.ties != "expected":
        inside = np.flatnonzero(h.rank <= limit) if limit is not None else np.arange(len(h.rank))
        return inside, discount.at(h.rank[inside])
    low, high = h.above, h.above + h.tied
    if limit is not None:
        low, high = np.minimum(low, limit), np.minimum(high, limit)
    return np.arange(len(h.rank)), (discount.upto(high) - discount.upto(low)) / h.tied


def hits_at(facts: RankingFacts, k: Cutoff) -> np.ndarray:
    """Number of relevant items within the cutoff, for each unit."""
    key = ("hits", k) if not isinstance(k, np.ndarray) else None
    if key in facts.memory:
        return facts.memory[key]
    rows, weight = collect(facts, k, flat(deepest_rank(facts, k)))
    number = facts.per_unit(facts.hits.unit[rows], weight if facts.ties == "expected" else None)
    if key:
        facts.memory[key] = number
    return number


def defined(facts: RankingFacts, value: np.ndarray, where: np.ndarray) -> np.ndarray:
    """NaN where the metric is undefined."""
    return np.where(where, value, np.nan)


def share(part: np.ndarray, whole: np.ndarray | float) -> np.ndarray:
    """part / whole, NaN where there is no whole."""
    whole = np.broadcast_to(np.asarray(whole, np.float64), part.shape)
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)
