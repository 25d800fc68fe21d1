"""Systems that know no person: random, popularity, average rating."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueval.data.popularity import COUNTS
from trueval.kernels.hashing import item_key, user_key
from trueval.kernels.seeds import derive
from trueval.recommenders.new_users import checked_profile
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import parameter, system
from trueval.recommenders.training import known_users, values_of


@system(
    "random",
    objective="none: score_ui uniform on [0, 1), independent of everything",
    reference="the floor under every other system",
    needs=None,
)
@dataclass(slots=True, kw_only=True)
class Random:
    """Seeded uniform scores, the floor under every other system.

    Each user has a stream of their own, so scores do not depend on blocks or on the other users.
    """

    seed: int | None = parameter(None, "seed of the scores (default: that of the evaluation)", low=0, otherwise="seed")
    _seed: np.uint64 = field(default=np.uint64(0), init=False, repr=False)
    _items: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64), init=False, repr=False)
    _users: int = field(default=0, init=False, repr=False)

    def fit(self, train: TrainSet) -> Random:
        self._seed = derive(train.seed if self.seed is None else self.seed, "random system")
        self._items = np.arange(len(train.items))
        self._users = len(train.users)
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        streams = user_key(int(self._seed), known_users(users, self._users, system="random"))
        # 24 bits are what a float32 holds without rounding
        return (item_key(streams[:, None], self._items[None, :]) >> np.uint64(40)).astype(np.float32)

    def score_new(self, items: Any, values: Any) -> np.ndarray:
        """Scores for a new user: a stream of their own for each set of ratings."""
        codes, ratings = checked_profile(items, values, len(self._items))
        stream = derive(int(self._seed), f"new user {codes.tolist()} {ratings.tolist()}")
        return (item_key(np.asarray(stream), self._items) >> np.uint64(40)).astype(np.float32)


@system(
    "popularity",
    objective="score_i = number of train users of item i; with count=rows, of its train rows",
    reference="the usual non-personalised baseline",
    personalised=False,
)
@dataclass(slots=True, kw_only=True)
class Popularity:
    """Number of train users of an item; `threshold` counts only pairs whose value, the mean of their rows, reaches it.

    `count="rows"` counts all rows of these pairs, so that ten plays by one user count ten.
    """

    threshold: float | None = parameter(None, "count only values of at least this")
    count: str | None = parameter(
        None, "users or rows (default: what the log counts)", choices=(None, *COUNTS), otherwise="count"
    )
    _scores: np.ndarray = field(default_factory=lambda: np.empty(0, np.float32), init=False, repr=False)
    _users: int = field(default=0, init=False, repr=False)

    def fit(self, train: TrainSet) -> Popularity:
        keep = None
        if self.threshold is not None:
            value = values_of(train, system="popularity by relevant ratings", do="leave the threshold out")
            keep = value >= self.threshold
        self._scores = train.item_counts(keep, count=self.count).astype(np.float32)
        self._users = len(train.users)
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        return for_everybody(self._scores, known_users(users, self._users, system="popularity"))

    def score_new(self, items: Any, values: Any) -> np.ndarray:
        """Scores for a new user: those of everybody."""
        checked_profile(items, values, len(self._scores))
        return self._scores


@system(
    "average",
    objective="(Σr + μ·mean) / (n + μ)",
    reference="Mena-Maldonado et al., Agreement and disagreement between true and false-positive metrics, SIGIR 2020",
    needs="values",
    personalised=False,
)
@dataclass(slots=True, kw_only=True)
class Average:
    """Mean train rating of an item with a Dirichlet prior."""

    mu: float = parameter(1.0, "ratings that the prior counts as", low=0)
    _scores: np.ndarray = field(default_factory=lambda: np.empty(0, np.float32), init=False, repr=False)
    _users: int = field(default=0, init=False, repr=False)

    def fit(self, train: TrainSet) -> Average:
        value = values_of(train, system="average", do="use popularity for implicit data")
        total = np.bincount(train.log.item, weights=value, minlength=len(train.items))
        number = np.bincount(train.log.item, minlength=len(train.items))
        smooth = np.maximum(number + self.mu, np.finfo(float).tiny)
        self._scores = ((total + self.mu * value.mean()) / smooth).astype(np.float32)
        self._users = len(train.users)
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        return for_everybody(self._scores, known_users(users, self._users, system="average"))

    def score_new(self, items: Any, values: Any) -> np.ndarray:
        """Scores for a new user: those of everybody."""
        checked_profile(items, values, len(self._scores))
        return self._scores


def for_everybody(scores: np.ndarray, users: np.ndarray) -> np.ndarray:
    """One row of scores as the rows of all these users, without copies.

    >>> for_everybody(np.array([1.0, 2.0]), np.array([4, 2])).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    return np.broadcast_to(scores, (len(users), len(scores)))
