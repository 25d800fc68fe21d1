"""pLSA: who a user is in terms of topics, and which items belong to a topic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueval.data.by_user import ByUser
from trueval.errors import DataError
from trueval.kernels import blocks, choose, in_order
from trueval.kernels.plsa_lanes import LANES
from trueval.kernels.seeds import derive
from trueval.progress import progress
from trueval.recommenders.new_users import checked_profile
from trueval.recommenders.parameters import MOST_FACTORS, MOST_STEPS
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import parameter, system
from trueval.recommenders.training import NOTHING, known_users, values_of

# The first steps may gain little before topics come apart.
LEAST_STEPS = 10
_FOLD_IN_STEPS = 200  # with items fixed the likelihood has one maximum, which this many steps come close to


@system(
    "plsa",
    objective="max Σ_ui n_ui · log P(i|u), with P(i|u) = Σ_z P(i|z) P(z|u); n_ui = 1 for each train row, or its value",
    reference="Hofmann, Latent semantic models for collaborative filtering, ACM TOIS 22(1), 2004",
)
@dataclass(slots=True, kw_only=True)
class PLSA:
    """Probabilistic latent semantic analysis, fitted by expectation maximisation.

    One step maximises the expected likelihood over P(z|u) and then, with new expectations, over P(i|z). These are the
    multiplicative updates of a non-negative factorisation under Kullback-Leibler loss; the likelihood rises with each.
    A user without train rows gets the topics of everybody together, P(z).
    """

    n_factors: int = parameter(50, "number of topics", low=1, high=MOST_FACTORS)
    iterations: int = parameter(200, "maximum number of steps", low=1, high=MOST_STEPS)
    tolerance: float = parameter(5e-5, "stop when a step raises the log-likelihood by less than this share", low=0)
    feedback: str = parameter("implicit", "implicit: every train row counts 1; explicit: its value",
                              choices=("implicit", "explicit"))  # fmt: skip
    seed: int | None = parameter(
        None, "seed of the initial factors (default: that of the evaluation)", low=0, otherwise="seed"
    )
    likelihood: tuple[float, ...] = field(default=(), init=False, repr=False)  # log-likelihood before each step
    _users: np.ndarray = field(default_factory=lambda: NOTHING, init=False, repr=False)
    _items: np.ndarray = field(default_factory=lambda: NOTHING, init=False, repr=False)

    def fit(self, train: TrainSet) -> PLSA:
        rows = ByUser(train.log.start, train.log.item, _counts(train, self.feedback))
        rng = np.random.default_rng(int(derive(train.seed if self.seed is None else self.seed, "plsa")))
        # topics drawn evenly from all there are: an even start would sit on a plateau, where steps gain little
        users, items = (rng.exponential(size=(len(ids), self.n_factors)) for ids in (train.users, train.items))
        users, items, history = fit_topics(
            rows, users, items, iterations=self.iterations, tolerance=self.tolerance, title="plsa"
        )
        self._users, self._items = as_chances(users, items)
        self.likelihood = tuple(history)
        return self

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """P(z|u) and P(i|z): a score is the inner product, P(i|u)."""
        known_users([0], len(self._users), system="plsa")
        return self._users, self._items

    def fold_in(self, items: Any, values: Any) -> np.ndarray:
        """P(z|u) of a new user with these ratings, P(i|z) being as they are; P(z) where nothing is known of them."""
        topics = self.factors()[1].astype(np.float64)
        codes, ratings = checked_profile(items, values, len(topics))
        counts = ratings if self.feedback == "explicit" else np.ones(len(codes))
        known = (topics[codes].sum(axis=1) > 0) & (counts > 0)
        chance, counts = topics[codes[known]], counts[known]
        share = self._users.mean(axis=0, dtype=np.float64)
        for _ in range(_FOLD_IN_STEPS if known.any() else 0):
            expected = chance @ share
            share = share * (chance.T @ (counts / np.maximum(expected, np.finfo(float).tiny)))
            share /= share.sum()
        return share.astype(np.float32)

    def score(self, users: np.ndarray) -> np.ndarray:
        return self._users[known_users(users, len(self._users), system="plsa")] @ self._items.T


def fit_topics(
    rows: ByUser,
    users: np.ndarray,
    items: np.ndarray,
    *,
    iterations: int,
    tolerance: float = 0.0,
    title: str = "topics",
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Raise the likelihood of counts from a start; returns the factors and the log-likelihood of every step.

    The factors are not normalised: users @ items.T approximates the counts, and `as_chances` makes probabilities
    of them. The likelihood is that of the model with the users' side just renewed, where row sums are right.

    >>> rows = ByUser(np.array([0, 1, 2]), np.array([0, 1], np.int32), np.ones(2))
    >>> users, items, history = fit_topics(rows, np.ones((2, 2)), np.array([[2.0, 1], [1, 2]]), iterations=9)
    >>> (users @ items.T).round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    assert rows.value is not None
    columns = ByUser.of(rows.item, rows.user, rows.value, n_users=len(items))
    assert columns.value is not None
    topics = users.shape[1]
    left, right = _padded(users), _padded(items)
    own = np.bincount(rows.user, weights=rows.value, minlength=len(users))
    sizes = float(np.sum(own[own > 0] * np.log(own[own > 0])))  # of the row sums, which probabilities do not have
    fitted = np.empty(len(rows.item))
    history: list[float] = []
    with progress(f"{title}: steps", iterations) as step:
        for _ in range(iterations):
            _renew(rows, left, right, fitted)
            _renew(columns, right, left, fitted)
            history.append(float(np.sum(columns.value * np.log(fitted))) - sizes)
            step()
            if len(history) > LEAST_STEPS and history[-1] - history[-2] < tolerance * abs(history[-2]):
                break
    return left[:, :topics], right[:, :topics], history


def as_chances(users: np.ndarray, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P(z|u) and P(i|z) of factors; who has no counts gets P(z)."""
    scale = items.sum(axis=0)
    mass = users * scale
    total = mass.sum(axis=1, keepdims=True)
    everybody = mass.sum(axis=0) / mass.sum()
    np.divide(mass, total, out=mass, where=total > 0)
    mass[total[:, 0] == 0] = everybody
    return mass.astype(np.float32), (items / np.where(scale > 0, scale, 1.0)).astype(np.float32)


def _renew(side: ByUser, own: np.ndarray, other: np.ndarray, fitted: np.ndarray) -> None:
    """One side's factors, the other's held fixed; `fitted` becomes what was expected of each entry."""
    scale = other.sum(axis=0)
    scale[scale == 0] = 1.0  # topics that nobody has, and the padding
    kernel = choose("topics", len(side.item) * own.shape[1]).explain_rows

    def work(part: slice) -> None:
        kernel(side.start, side.item, side.value, own, other, scale, part.start, part.stop, fitted)

    for _ in in_order(work, blocks(len(own), 128)):
        pass


def _padded(factors: np.ndarray) -> np.ndarray:
    """Factors with columns of 0 up to whole lanes of the kernel."""
    width = -(-factors.shape[1] // LANES) * LANES
    out = np.zeros((len(factors), width))
    out[:, : factors.shape[1]] = factors
    return out


def _counts(train: TrainSet, feedback: str) -> np.ndarray:
    if feedback == "implicit":
        return np.ones(len(train.log.item))
    value = values_of(train, system="explicit plsa", do="leave feedback out, or write plsa[feedback=implicit]")
    if (value < 0).any() or not (value > 0).any():
        raise DataError(
            "explicit plsa takes values as counts, which are not negative and not all 0",
            where="train",
            found=f"values from {value.min():g} to {value.max():g}",
            do="shift the values, or use feedback=implicit",
        )
    return value.astype(np.float64)
