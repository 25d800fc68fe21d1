"""RankingFacts: for every unit the exact rank of each judged item, the list shown, and the sizes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trueval.data.by_user import segment_sum
from trueval.data.ids import Ids

if TYPE_CHECKING:
    from trueval.facts.invalid_places import InvalidPlaces

# In place of the number of targets.
UNKNOWN = -1


class Hits(NamedTuple):
    """Relevant items that were ranked, unit by unit, best rank first."""

    unit: np.ndarray
    rank: np.ndarray
    above: np.ndarray
    tied: np.ndarray
    gain: np.ndarray
    row: np.ndarray  # row of the facts


@dataclass(frozen=True)
class RankingFacts:
    """What one system did under one design; every ranking metric is computed from this alone.

    A unit is what a metric gives one value for: a user, or in 1R one relevant item of a user. Judged rows
    of unit u are `start[u]` to `start[u+1]`, best rank first, rows without a rank (0) behind. `above` counts
    targets with a strictly better score, `tied` those with the same score, the item itself included.
    Lists are the first items of the ranking, `list_start[u]` to `list_start[u+1]`; a place that holds no item of the
    catalogue, or one that was shown before, has -1.
    """

    unit_user: np.ndarray
    start: np.ndarray
    item: np.ndarray
    value: np.ndarray
    relevant: np.ndarray
    rank: np.ndarray
    above: np.ndarray
    tied: np.ndarray
    list_start: np.ndarray
    list_item: np.ndarray
    targets: np.ndarray  # |T_u|, or UNKNOWN for all units
    users: Ids
    items: Ids
    catalogue: int  # number of items that could be recommended
    exact: bool  # whether ranks behind the list are known
    ties: str = "random"
    splits: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))  # lists whose cut at k splits a tie
    counted: int | None = None  # number of lists that `splits` is about, where units have been left out since
    score: np.ndarray | None = None  # predicted value of each judged row
    stratum: np.ndarray | None = None  # percentile of each unit (P1R)
    # non-relevant items each unit's sample was drawn from, where all were equally likely
    pool: np.ndarray | None = None
    listed: np.ndarray | None = None  # whether each unit's user was given a list; None: all were
    one_relevant: bool = False
    condensed: bool = False
    highest: float = 0.0  # highest value of the test set; 0 where unknown
    label: dict[str, Any] = field(default_factory=dict)
    # rank as in the lists, where a tie rule has moved `rank` away from them
    list_rank: np.ndarray | None = None
    # whether each row of the lists scores like the target behind it, shown or not; kept for tie rules that ask
    list_same: np.ndarray | None = None
    deepest: int | None = None  # the deepest cutoff, where all metrics that are asked for have one
    # of given lists, where these may have them: places that cannot count, missed or dropped since; not saved
    invalid: InvalidPlaces | None = None
    # what several metrics compute alike is computed once
    memory: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.unit_user)

    @cached_property
    def unit(self) -> np.ndarray:
        """Unit of each judged row."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.start))

    @cached_property
    def all_relevant(self) -> bool:
        """Whether every judged item is relevant."""
        same = self.relevant.strides == (0,)  # one value for all, which NumPy would look at again and again
        return bool(self.relevant[:1].all() if same else self.relevant.all())

    @cached_property
    def R(self) -> np.ndarray:
        """Number of relevant items of each unit, counted over the whole test set."""
        if self.all_relevant:
            return np.diff(self.start)
        return np.bincount(self.unit[self.relevant], minlength=len(self))

    @cached_property
    def N(self) -> np.ndarray:
        """Number of judged non-relevant items of each unit."""
        return np.diff(self.start) - self.R

    @cached_property
    def length(self) -> np.ndarray:
        """Number of items shown to each unit."""
        return np.diff(self.list_start)

    @cached_property
    def place(self) -> np.ndarray:
        """Rank of each row of the lists."""
        return np.arange(1, len(self.list_item) + 1) - np.repeat(self.list_start[:-1], self.length)

    @cached_property
    def list_unit(self) -> np.ndarray:
        """Unit of each row of the lists."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.length)

    @cached_property
    def depth(self) -> int:
        """Length of the longest list."""
        return int(self.length.max(initial=0))

    @cached_property
    def hits(self) -> Hits:
        """Relevant items that were ranked, and not behind the deepest cutoff."""
        ranked = self.rank > 0
        if self.deepest is not None:
            ranked &= self.rank <= self.deepest
        if not self.all_relevant:
            ranked &= self.relevant
        rows = np.flatnonzero(ranked)
        return Hits(self.unit[rows], self.rank[rows], self.above[rows], self.tied[rows], self.value[rows], rows)

    @cached_property
    def best_gains(self) -> tuple[np.ndarray, np.ndarray]:
        """Gains of all relevant items of each unit in descending order: (start, gain)."""
        start = np.concatenate([[0], np.cumsum(self.R)])
        if self.value.strides == (0,):  # one value for all
            return start, np.broadcast_to(self.value[:1], start[-1])
        gain = self.value[self.relevant]
        if len(gain) and gain.min() != gain.max():
            from trueval.kernels import choose

            choose("lists", len(gain)).sort_down(start, gain)
        return start, gain

    def per_unit(self, unit: np.ndarray, amounts: np.ndarray | None = None) -> np.ndarray:
        """Sum of some amounts (or a count) for each unit."""
        return np.bincount(unit, weights=amounts, minlength=len(self)).astype(np.float64)

    def total(self, amounts: np.ndarray) -> np.ndarray:
        """Sum over the judged rows of each unit."""
        return segment_sum(self.start, amounts)

    def tie_rate(self, k: int) -> float:
        """Share of lists whose cut at k falls between equal scores."""
        lists = len(self) if self.counted is None else self.counted
        return float(self.splits[k - 1]) / max(lists, 1) if 0 < k <= len(self.splits) else 0.0

    @cached_property
    def list_relevant(self) -> np.ndarray:
        """Whether each row of the lists is relevant to its unit."""
        flags = np.zeros(len(self.list_item), bool)
        rank = self.rank if self.list_rank is None else self.list_rank
        in_list = self.relevant & (rank > 0) & (rank <= self.length[self.unit])
        flags[self.list_start[self.unit[in_list]] + rank[in_list] - 1] = True
        return flags

    @cached_property
    def misses(self) -> np.ndarray | None:
        """Which rows of the lists hold no item that could count; None where all do."""
        return self.list_item < 0 if self.list_item.min(initial=0) < 0 else None

    def listed_at(self, k: int | None) -> np.ndarray:
        """Number of items in the list of each unit at cutoff k."""
        length = np.maximum(self.targets, 0) if self.one_relevant else self.length
        return length if k is None else np.minimum(length, k)

    def top(self, k: int | None) -> np.ndarray:
        """Which rows of the lists are within the cutoff."""
        if k is None or k >= self.depth:
            return np.ones(len(self.list_item), bool)
        # without `place`, whose 24 bytes per row (its parts included) are fresh memory: slower than all the rest
        inside = np.minimum(self.length, k)
        runs = np.column_stack([inside, self.length - inside]).ravel()
        return np.repeat(np.tile([True, False], len(self)), runs)

    def changed(self, **fields: Any) -> RankingFacts:
        """A copy with some fields replaced."""
        return replace(self, memory={}, **fields)
