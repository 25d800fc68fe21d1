"""Units of a sampled design by the numbers of items they were drawn from, and where their system seems to rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trueval.design.rank_distribution import Sampled, rank_chances
from trueval.design.sampled_ranks import all_sampled_ranks
from trueval.facts.ranking_facts import RankingFacts

_MOST = 12  # pool sizes that are solved for with the same sample size; between them values are interpolated


@dataclass(frozen=True, slots=True)
class Class:
    """A pool and a sample size, the units near it with their weights, and the chances of full ranks."""

    pool: int
    sample: int
    units: np.ndarray
    weight: np.ndarray
    chances: np.ndarray


@dataclass(frozen=True, slots=True)
class Classes:
    """All units of some facts. Pools differ by what users have seen: a unit is between the two nearest classes."""

    facts: RankingFacts
    each: list[Class]

    @staticmethod
    def of(facts: RankingFacts, pools: np.ndarray, samples: np.ndarray) -> Classes:
        """Classes with the chances that the sampled ranks give."""
        found = [
            (pool, int(sample), units[weight > 0], weight[weight > 0])
            for sample in np.unique(samples)
            for units in [np.flatnonzero(samples == sample)]
            for pool, weight in _weights(pools[units])
        ]
        seen = [Sampled(pool, sample, _counts(facts, units, weight, sample)) for pool, sample, units, weight in found]
        return Classes(facts, [Class(*one, chances) for one, chances in zip(found, rank_chances(seen))])

    def looked_up(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """Values of all units, from values by sampled rank for each class."""
        value = np.zeros(len(self.facts))
        for one, by_rank in zip(self.each, tables):
            value[one.units] += one.weight * at_sampled_rank(self.facts, one.units, by_rank)
        return value

    def bias(self, tables: Sequence[np.ndarray], metric: Callable[..., np.ndarray]) -> float:
        """Root mean square, over units and likely full ranks, of what values by sampled rank are off by on average."""
        total = weight = 0.0
        for one, by_rank in zip(self.each, tables):
            truth = metric(np.arange(1, one.pool + 2), size=one.pool + 1)
            off = float(one.chances @ (all_sampled_ranks(one.pool, one.sample) @ by_rank - truth) ** 2)
            if not np.isnan(off):
                total, weight = total + one.weight.sum() * off, weight + one.weight.sum()
        return float(np.sqrt(total / weight)) if weight else float("nan")


def at_sampled_rank(facts: RankingFacts, units: np.ndarray, by_rank: np.ndarray) -> np.ndarray:
    """What each unit's sampled rank has; equal scores in expectation where they are left open."""
    if facts.ties != "expected":
        return by_rank[facts.rank[units] - 1]
    upto = np.concatenate([[0.0], np.cumsum(by_rank)])
    first, tied = facts.above[units], facts.tied[units]
    return (upto[first + tied] - upto[first]) / tied


def _weights(pools: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Pool sizes, and how much each unit has of them: those of the data, or a few between the ends."""
    known = np.unique(pools)
    if len(known) > _MOST:
        known = np.unique(np.linspace(known[0], known[-1], _MOST).round().astype(np.int64))
    above = np.searchsorted(known, pools)
    below = np.where(known[above] == pools, above, above - 1)
    span = np.where(above > below, known[above] - known[below], 1)
    part = np.where(above > below, (pools - known[below]) / span, 0.0)
    return [
        (int(pool), np.where(below == at, 1 - part, 0.0) + np.where((above == at) & (above > below), part, 0.0))
        for at, pool in enumerate(known)
    ]


def _counts(facts: RankingFacts, units: np.ndarray, weight: np.ndarray, sample: int) -> np.ndarray:
    """How often each sampled rank was seen; equal scores are counted in every place they may have."""
    if facts.ties != "expected":
        return np.bincount(facts.rank[units] - 1, weight, minlength=sample + 1)
    first, tied = facts.above[units], facts.tied[units]
    steps = np.bincount(first, weight / tied, minlength=sample + 2)
    steps = steps - np.bincount(first + tied, weight / tied, minlength=sample + 2)
    return np.maximum(np.cumsum(steps)[: sample + 1], 0)
