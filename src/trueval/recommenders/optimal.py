"""Rankings that nobody without personal knowledge can beat: the optima of observed and true P@1 and antiP@1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueval.data.interactions import Interactions
from trueval.data.judgements import judge
from trueval.errors import DataError
from trueval.recommenders.baselines import for_everybody
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import parameter, system
from trueval.recommenders.training import known_users, values_of

_REFERENCE = "Mena-Maldonado et al., Agreement and disagreement between true and false-positive metrics, SIGIR 2020"
_THRESHOLD = "smallest relevant value (default: the threshold of the evaluation)"
_NONE = np.empty(0)
# The odds of an item that every train user has rated are infinite, and scores must be finite.
_NOBODY = 1e-6


@system(
    "optimal_precision",
    objective="φ_P(i) = p(rel|train,i) · p(train|i) / (1 − p(train|i)) = relevant_i / (users − ratings_i)",
    reference=_REFERENCE + ", Eq. 2",
    personalised=False,
)
@dataclass(slots=True, kw_only=True)
class OptimalPrecision:
    """Highest expected P@1 on a random split of all rankings that are the same for everybody.

    Counts are of train ratings and of users who have any. Without values every rating is relevant.
    """

    threshold: float | None = parameter(None, _THRESHOLD, otherwise="threshold")
    _scores: np.ndarray = field(default_factory=lambda: _NONE, init=False, repr=False)
    _users: int = field(default=0, init=False, repr=False)

    def fit(self, train: TrainSet) -> OptimalPrecision:
        relevant = _relevant(train, self.threshold, system="optimal_precision")
        liked = np.bincount(train.log.item[relevant], minlength=len(train.items))
        self._scores, self._users = liked / _open_to(train), len(train.users)
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        return for_everybody(self._scores, known_users(users, self._users, system="optimal_precision"))


@system(
    "optimal_antiprecision",
    objective="φ_antiP(i) = −p(¬rel|train,i) · p(train|i) / (1 − p(train|i)) = −disliked_i / (users − ratings_i)",
    reference=_REFERENCE + ", Eq. 4",
    needs="values",
    personalised=False,
)
@dataclass(slots=True, kw_only=True)
class OptimalAntiprecision:
    """Lowest expected antiP@1 on a random split of all rankings that are the same for everybody.

    Counts are of train ratings and of users who have any. Items without a disliking train rating are tied first.
    """

    threshold: float | None = parameter(None, _THRESHOLD, otherwise="threshold")
    _scores: np.ndarray = field(default_factory=lambda: _NONE, init=False, repr=False)
    _users: int = field(default=0, init=False, repr=False)

    def fit(self, train: TrainSet) -> OptimalAntiprecision:
        relevant = _relevant(train, self.threshold, system="optimal_antiprecision")
        disliked = np.bincount(train.log.item[~relevant], minlength=len(train.items))
        self._scores, self._users = 0 - disliked / _open_to(train), len(train.users)
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        return for_everybody(self._scores, known_users(users, self._users, system="optimal_antiprecision"))


@system(
    "optimal_true",
    objective="φ_true(i) = p(rel|¬train,i), estimated from the test part as relevant_i / (users − train ratings_i)",
    reference=_REFERENCE + ", Eq. 1 and 3",
    personalised=False,
    oracle=True,
)
@dataclass(slots=True, kw_only=True)
class OptimalTrue:
    """Highest expected P@1 on the test part itself of rankings that are the same for everybody.

    With a test part that was sampled at random from all pairs it is the optimum of true P@1 and true antiP@1.
    It is an oracle: the test part is given when the system is made. An evaluation hands its own to oracles that it
    makes by name; no system can find the test part in what it is fitted on.
    """

    test: Any = parameter(None, "the test part, a log or a table (by name: the evaluation's)")  # noqa: RUF009
    threshold: float | None = parameter(None, _THRESHOLD, otherwise="threshold")
    _scores: np.ndarray = field(default_factory=lambda: _NONE, init=False, repr=False)
    _users: int = field(default=0, init=False, repr=False)

    def fit(self, train: TrainSet) -> OptimalTrue:
        if self.test is None:
            raise DataError(
                "optimal_true is an oracle and needs the test part",
                found="no test",
                do='make_system("optimal_true", test=parts.test)',
            )
        threshold = train.threshold if self.threshold is None else self.threshold
        judged = judge(_as_log(self.test), train.users, train.items, threshold=threshold)
        liked = np.bincount(judged.rows.item[judged.relevant], minlength=len(train.items))
        self._scores, self._users = liked / _open_to(train), len(train.users)
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        return for_everybody(self._scores, known_users(users, self._users, system="optimal_true"))


def _relevant(train: TrainSet, threshold: float | None, *, system: str) -> np.ndarray:
    """Which train ratings are relevant: those that reach the threshold, or are positive where there is none."""
    threshold = train.threshold if threshold is None else threshold
    if threshold is not None:
        return values_of(train, system=f"{system} with a threshold", do="leave the threshold out") >= threshold
    return np.ones(len(train.log.item), bool) if train.log.value is None else train.log.value > 0


def _open_to(train: TrainSet) -> np.ndarray:
    """Number of train users that each item can still be recommended to."""
    users = np.count_nonzero(train.log.counts)
    return np.maximum(users - train.item_counts(count="users"), _NOBODY)


def _as_log(test: Any) -> Interactions:
    if isinstance(test, Interactions):
        return test
    from trueval.data.read import read

    return read(test)
