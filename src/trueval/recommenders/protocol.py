"""What a system is: anything that can be fitted to a log and scores items for users."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids


@dataclass(frozen=True, slots=True)
class TrainSet:
    """What a system may learn from: the coded train log. Scores are asked for by these codes."""

    users: Ids
    items: Ids
    log: ByUser  # one row per train pair; `value` where the log has values
    seed: int = 0
    threshold: float | None = None  # value from which the evaluation calls an item relevant; None: any positive one

    @property
    def popularity(self) -> np.ndarray:
        """Number of train rows of each item."""
        return np.bincount(self.log.item, minlength=len(self.items))


@runtime_checkable
class Recommender(Protocol):
    """`fit` learns and returns the system; `score` gives a block of users their scores for all items.

    A system whose scores are inner products may offer `factors() -> (users × d, items × d)` as well: blocks
    are then computed by one matrix product each. Higher scores are better; all scores must be finite.
    """

    def fit(self, train: TrainSet) -> Recommender: ...

    def score(self, users: np.ndarray) -> np.ndarray: ...


ScoreFunction = Callable[[np.ndarray], Any]
