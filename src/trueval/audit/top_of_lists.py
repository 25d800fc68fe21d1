"""The first places of all lists of a system as a table, and how well they fit the users that they are given to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from trueval.audit.subject import Subject
from trueval.facts.ranking_facts import RankingFacts


@dataclass(frozen=True)
class TopOfLists:
    """The first k places: a row per user with relevant items and a list; -1 where there is no item.

    `relevant` are the numbers of relevant items of these users, `rows` their units in the facts.
    """

    item: np.ndarray
    hit: np.ndarray
    judged: np.ndarray
    relevant: np.ndarray
    rows: np.ndarray
    n_items: int
    catalogue: int

    @staticmethod
    def of(facts: RankingFacts, k: int) -> TopOfLists:
        """The first k places of the lists of some facts; computed once for each k.

        >>> from trueval.metrics.measure import toy_facts
        >>> TopOfLists.of(toy_facts(["a", "b", "c"], {"c"}), 3).hit.tolist()
        [[False, False, True]]
        """
        key = ("top of lists", k)
        if key not in facts.memory:
            facts.memory[key] = _table(facts, k)
        found: TopOfLists = facts.memory[key]
        return found

    def __len__(self) -> int:
        return len(self.item)

    @property
    def depth(self) -> int:
        return self.item.shape[1]

    @cached_property
    def length(self) -> np.ndarray:
        """Number of items of each user."""
        return np.count_nonzero(self.item >= 0, axis=1)

    @cached_property
    def hits(self) -> np.ndarray:
        """Number of relevant items among them."""
        return np.count_nonzero(self.hit, axis=1)

    @property
    def recall(self) -> float:
        """Share of the relevant items that could be among the first places and are."""
        return float(self.hits.sum() / max(np.minimum(self.relevant, self.length).sum(), 1))

    @property
    def by_chance(self) -> float:
        """Share of the catalogue that a list holds."""
        return float(self.length.mean() / self.catalogue) if len(self) else math.nan

    @cached_property
    def exposure(self) -> np.ndarray:
        """Share of the users to whom each item is shown without being relevant."""
        others = self.item[(self.item >= 0) & ~self.hit]
        return np.bincount(others, minlength=self.n_items) / max(len(self), 1)

    @property
    def top_exposure(self) -> float:
        """Mean exposure of the most shown items, which take a fifth of the places that are no hits."""
        ranked = np.sort(self.exposure)[::-1]
        held = np.cumsum(ranked)
        most = int(np.searchsorted(held, 0.2 * held[-1])) + 1
        return float(ranked[:most].mean())

    def agreement(self) -> float:
        """How often lists that share an item share another one, hits aside: what the system shows is as predictable.

        NaN where no two lists share an item.
        """
        item = np.where(self.hit, -1, self.item).astype(np.int64)
        shown = np.bincount(item[item >= 0], minlength=self.n_items)
        keys, sources = [], []
        for one in range(self.depth):
            for other in range(self.depth):
                if one != other:
                    both = (item[:, one] >= 0) & (item[:, other] >= 0)
                    keys.append(item[both, one] * self.n_items + item[both, other])
                    sources.append(item[both, one])
        key, source = np.concatenate(keys), np.concatenate(sources)
        _, same, many = np.unique(key, return_inverse=True, return_counts=True)
        shared = shown[source] > 1
        if not shared.any():
            return math.nan
        return float(((many[same][shared] - 1) / (shown[source][shared] - 1)).mean())


def _table(facts: RankingFacts, k: int) -> TopOfLists:
    rows = np.flatnonzero((facts.R > 0) & (facts.length > 0))
    places = np.arange(min(k, max(facts.depth, 1)))
    within = places < facts.length[rows, None]
    at = np.where(within, facts.list_start[:-1][rows, None] + places, 0)
    item = np.where(within, facts.list_item[at], -1) if len(facts.list_item) else np.full(at.shape, -1)
    rank = facts.rank if facts.list_rank is None else facts.list_rank
    ranked = np.flatnonzero((rank > 0) & (rank <= len(places)) & (rank <= facts.length[facts.unit]))
    judged, hit = (np.zeros((len(facts), len(places)), bool) for _ in range(2))
    judged[facts.unit[ranked], rank[ranked] - 1] = True
    hits = ranked[facts.relevant[ranked]]
    hit[facts.unit[hits], rank[hits] - 1] = True
    return TopOfLists(item, hit[rows], judged[rows], facts.R[rows], rows, len(facts.items), facts.catalogue)


def lists_of(subject: Subject) -> dict[str, RankingFacts]:
    """The facts of all systems with lists of items, in the order of the systems; empty for 1R, condensed and P1R
    designs, and where ranks are not known."""
    facts = {name: one.facts for name, one in (subject.ranked or {}).items()}
    if any(one.one_relevant or one.condensed or one.stratum is not None or not one.depth for one in facts.values()):
        return {}
    return facts


def deepest_cutoff(subject: Subject) -> int:
    """The deepest cutoff of the reader's metrics; 10 where none has one."""
    return max([subject.specs[label].k or 0 for label in subject.labels]) or 10


class Fit(NamedTuple):
    """Hits of some users' own lists, and those that they would expect of the lists of others."""

    own: float
    others: float
    users: int

    @property
    def ratio(self) -> float:
        return self.own / self.others if self.others else math.nan
