"""What a system is: anything that can be fitted to a log and scores items for users."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.kernels import blocks, in_order
from trueval.render.shown import Shown

_AT_ONCE = 1_000_000  # rows that one worker counts at a time


@dataclass(frozen=True, slots=True)
class TrainSet(Shown):
    """What a system may learn from: the coded train log. Scores are asked for by these codes."""

    users: Ids
    items: Ids
    log: ByUser  # one row per train pair, with how many `times` it was there; `value`, their mean, where there are any
    seed: int = 0
    threshold: float | None = None  # value from which the evaluation calls an item relevant; None: any positive one

    count: str = "users"  # what popularity counts: users who have an item, or their rows

    def __str__(self) -> str:
        values = "" if self.log.value is None else ", with values"
        size = f"{len(self.users):,} users, {len(self.items):,} items, {len(self.log.item):,} pairs{values}"
        return f"train set: {size}; popularity counts {self.count}, seed {self.seed}"

    @property
    def popularity(self) -> np.ndarray:
        """Popularity of each item: its train users or, where the log counts those, its train rows."""
        return self.item_counts()

    def item_counts(self, keep: np.ndarray | None = None, *, count: str | None = None) -> np.ndarray:
        """Popularity of each item, over all train pairs or those to `keep`; `count` in place of what the log counts."""
        item, times = self.log.item, self.log.times
        if keep is not None:
            item, times = item[keep], None if times is None else times[keep]
        every = times if (count or self.count) == "rows" else None
        return _counted(item, every, len(self.items))


def _counted(item: np.ndarray, times: np.ndarray | None, items: int) -> np.ndarray:
    """Rows of each item, or the sum of their times: by all workers, for a count of all rows at once copies them."""

    def count(part: slice) -> np.ndarray:
        counts = np.bincount(item[part], None if times is None else times[part], minlength=items)
        return counts.astype(np.int64, copy=False)

    return sum(in_order(count, blocks(len(item), max(_AT_ONCE, items))), start=np.zeros(items, np.int64))


@runtime_checkable
class Recommender(Protocol):
    """`fit` learns and returns the system; `score` gives a block of users their scores for all items.

    A system whose scores are inner products may offer `factors() -> (users × d, items × d)` as well: blocks
    are then computed by one matrix product each. One that can score items for somebody new offers `score_new`, or
    `fold_in` beside `factors` (see `new_users`). Higher scores are better; all scores must be finite.
    """

    def fit(self, train: TrainSet) -> Recommender: ...

    def score(self, users: np.ndarray) -> np.ndarray: ...


ScoreFunction = Callable[[np.ndarray], Any]
