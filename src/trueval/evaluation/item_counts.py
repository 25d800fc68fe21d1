"""How often each item was recommended; parts over different users add up to the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.list_sums import is_open, recommended_counts


@dataclass(frozen=True, slots=True)
class ItemCounts:
    """Items that were recommended to anyone, ascending codes, and how often, down to a cutoff (0: in whole lists)."""

    item: np.ndarray
    count: np.ndarray
    depth: int

    @staticmethod
    def of(facts: RankingFacts, cutoffs: Sequence[int]) -> ItemCounts | None:
        """Counts at the deepest cutoff. None where lists are no recommendations: those that were cut to what is judged,
        or that are ranked several times for one user; and where ties=worst or best leaves open which items are in."""
        if facts.condensed or facts.one_relevant or facts.stratum is not None:
            return None
        depth = max(cutoffs, default=0)
        k = depth or max(facts.depth, 1)
        if facts.ties in ("worst", "best") and is_open(facts, k):
            return None
        return _sparse(recommended_counts(facts, k), depth)

    @staticmethod
    def sum(parts: Sequence[ItemCounts | None]) -> ItemCounts | None:
        """The counts of the whole.

        >>> one, other = (ItemCounts(np.array(item), np.array([1, 2]), 10) for item in ([0, 3], [3, 5]))
        >>> whole = ItemCounts.sum([one, other])
        >>> whole.item.tolist(), whole.count.tolist()
        ([0, 3, 5], [1.0, 3.0, 2.0])
        """
        known = [part for part in parts if part is not None]
        if len(known) < len(parts) or not known:
            return None
        item, count = (np.concatenate([getattr(part, name) for part in known]) for name in ("item", "count"))
        return _sparse(np.bincount(item, weights=count), known[0].depth)


def _sparse(counts: np.ndarray, depth: int) -> ItemCounts:
    """Without the many items that nobody sees: small enough to come from each of many workers."""
    item = np.flatnonzero(counts)
    return ItemCounts(item.astype(np.int32), counts[item].astype(np.float64), depth)


@dataclass(frozen=True, slots=True)
class Recommended:
    """What one system recommended: by item how often, and its popularity in train, where that is known."""

    counts: ItemCounts = field(repr=False)
    catalogue: int  # items that could be recommended
    popularity: np.ndarray | None = field(default=None, repr=False)  # by code

    def by_item(self) -> np.ndarray:
        """The count of every item of the catalogue, zeros included, ascending.

        >>> Recommended(ItemCounts(np.array([4]), np.array([2.0]), 10), catalogue=3).by_item().tolist()
        [0.0, 0.0, 2.0]
        """
        found = np.sort(self.counts.count)
        return np.concatenate([np.zeros(max(0, self.catalogue - len(found))), found])
