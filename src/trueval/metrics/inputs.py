"""What some metrics need besides the facts, and what to say when it is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueval.data.by_user import ByUser
from trueval.errors import DefinitionError

HOW = {
    "train": ("the train log", "pass train=… (--train FILE)"),
    "popularity": ("item counts of the train log", "pass train=… (--train FILE)"),
    "features": ("item features", "pass items=… with an `aspects` column (--items FILE)"),
}


@dataclass(frozen=True, slots=True)
class Popularity:
    """Train counts of each item and the number of train users."""

    counts: np.ndarray
    users: int

    @staticmethod
    def of(train: ByUser, n_items: int) -> Popularity:
        """Counts of a train log."""
        return Popularity(np.bincount(train.item, minlength=n_items), int(np.count_nonzero(train.counts)))

    @property
    def rank(self) -> np.ndarray:
        """Popularity rank of each item, 1 for the most popular; equals share the mean of their ranks."""
        order = np.sort(-self.counts)
        low = np.searchsorted(order, -self.counts, side="left")
        high = np.searchsorted(order, -self.counts, side="right")
        return (low + high + 1) / 2


@dataclass(frozen=True, slots=True)
class Inputs:
    """Optional inputs of metrics, under the names that metrics declare in `needs`."""

    train: ByUser | None = None
    popularity: Popularity | None = None
    features: np.ndarray | None = None

    def supply(self, name: str, *, metric: str) -> Any:
        """One input, or an error that says which metric needs it and how to supply it."""
        value = getattr(self, name)
        if value is None:
            what, do = HOW[name]
            raise DefinitionError(f"{metric} needs {what}", do=do)
        return value
