"""Systems that know no person: random, popularity, average rating."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trueval.errors import DataError, DefinitionError
from trueval.kernels.plain import item_key, user_key
from trueval.kernels.seeds import derive
from trueval.recommenders.protocol import TrainSet


@dataclass(slots=True)
class Random:
    """Seeded uniform scores, the floor under every other system.

    Each user has a stream of their own, so scores do not depend on blocks or on the other users.
    """

    seed: int | None = None
    _seed: np.uint64 = field(default=np.uint64(0), repr=False)
    _items: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64), repr=False)

    def fit(self, train: TrainSet) -> Random:
        self._seed = derive(train.seed if self.seed is None else self.seed, "random system")
        self._items = np.arange(len(train.items))
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        streams = user_key(int(self._seed), users)
        # 24 bits are what a float32 holds without rounding
        return (item_key(streams[:, None], self._items[None, :]) >> np.uint64(40)).astype(np.float32)


@dataclass(slots=True)
class Popularity:
    """Number of train rows of an item; `threshold` counts only values that reach it."""

    threshold: float | None = None
    _counts: np.ndarray = field(default_factory=lambda: np.empty(0, np.float32), repr=False)

    def fit(self, train: TrainSet) -> Popularity:
        item = train.log.item
        if self.threshold is not None:
            if train.log.value is None:
                raise DataError(
                    "popularity by relevant ratings needs a value column",
                    where="train",
                    do="leave the threshold out",
                )
            item = item[train.log.value >= self.threshold]
        self._counts = np.bincount(item, minlength=len(train.items)).astype(np.float32)
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self._counts, (len(users), len(self._counts)))


@dataclass(slots=True)
class Average:
    """Mean train rating of an item with a Dirichlet prior: (Σr + μ·mean) / (n + μ)."""

    mu: float = 1.0
    _means: np.ndarray = field(default_factory=lambda: np.empty(0, np.float32), repr=False)

    def fit(self, train: TrainSet) -> Average:
        if train.log.value is None:
            raise DataError(
                "the average system needs a value column",
                where="train",
                do="use popularity for implicit data",
            )
        if self.mu < 0:
            raise DefinitionError("mu must not be negative", found=f"mu={self.mu}")
        total = np.bincount(train.log.item, weights=train.log.value, minlength=len(train.items))
        number = np.bincount(train.log.item, minlength=len(train.items))
        mean = train.log.value.mean()
        smooth = np.maximum(number + self.mu, np.finfo(float).tiny)
        self._means = ((total + self.mu * mean) / smooth).astype(np.float32)
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self._means, (len(users), len(self._means)))
