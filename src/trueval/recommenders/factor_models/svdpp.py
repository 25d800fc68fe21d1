"""SVD++: ratings from factors and biases, where the items a user has rated speak as well as the ratings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueval.data.by_user import ByUser
from trueval.errors import DataError
from trueval.kernels.compiled import load
from trueval.kernels.threads import blocks
from trueval.progress import progress
from trueval.recommenders.factor_models.matrices import (
    check_width,
    fitted_factors,
    fitted_scores,
    seed_of,
    single_precision,
)
from trueval.recommenders.given import Factors
from trueval.recommenders.new_users import checked_profile
from trueval.recommenders.parameters import MOST_FACTORS, MOST_STEPS
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import parameter, system
from trueval.recommenders.training import NOTHING

# Users per call of the kernel: a call cannot be interrupted.
_BLOCK = 1024


@system(
    "svdpp",
    objective="Σ_obs { (R_ui − μ − b_u − b_i − q_i·(p_u + |N_u|^-½ Σ_{j∈N_u} y_j))² "
    "+ λ (b_u² + b_i² + |q_i|² + |p_u|² + Σ_{j∈N_u} |y_j|²) }",
    reference="Koren, Factorization Meets the Neighborhood, KDD 2008",
    needs="values",
    caution="trained to predict the ratings that were made; unrated items are ignored, so its top-n lists are poor",
)
@dataclass(slots=True, kw_only=True)
class SVDpp:
    """Rating prediction from biases, factors, and the set of items that a user has rated.

    Stochastic gradient descent over users in random order, on one thread: it is the same on any machine size.

    >>> from trueval.recommenders.factor_models.matrices import train_of_table
    >>> train = train_of_table([[5, 1, np.nan], [5, 1, 1], [1, 5, 5], [1, 5, 4]])
    >>> scores = SVDpp(n_factors=2, epochs=200, learning_rate=0.05).fit(train).score([0])
    >>> bool(scores[0, 0] > scores[0, 2])
    True
    """

    n_factors: int = parameter(20, "length of the factor vectors", low=1, high=MOST_FACTORS)
    learning_rate: float = parameter(0.007, "initial step size", low=0, above=True, high=1)
    decay: float = parameter(1.0, "factor applied to the step size after each epoch", low=0, above=True, high=1)
    regularization: float = parameter(0.02, "λ, the weight of squared parameters", low=0, high=1)
    epochs: int = parameter(20, "number of passes over all ratings", low=1, high=MOST_STEPS)
    seed: int | None = parameter(
        None, "seed of the initial factors and the order (default: that of the evaluation)", low=0, otherwise="seed"
    )
    _fitted: Factors | None = field(default=None, init=False, repr=False)
    _errors: list[float] = field(default_factory=list, init=False, repr=False)
    _chosen: np.ndarray = field(default_factory=lambda: NOTHING, init=False, repr=False)
    _mean: float = field(default=0.0, init=False, repr=False)

    def fit(self, train: TrainSet) -> SVDpp:
        """Learn from the train ratings."""
        check_width(train, self.n_factors, system="svdpp")
        rng = np.random.default_rng(seed_of(train, self.seed, system="svdpp"))
        state = State.start(len(train.users), len(train.items), self.n_factors, rng)
        mean, errors, rate = _mean(train), [], self.learning_rate
        with progress("fitting svdpp", self.epochs * len(train.users)) as step:
            for epoch in range(self.epochs):
                order, squares = rng.permutation(len(train.users)), 0.0
                for part in blocks(len(order), _BLOCK):
                    squares += state.learn(train.log, order[part], mean=mean, rate=rate, ridge=self.regularization)
                    step(part.stop - part.start)
                errors.append(float(np.sqrt(squares / len(train.log.item))))
                rate *= self.decay
                if not np.isfinite(errors[-1]):
                    raise DataError(
                        "svdpp did not converge",
                        found=f"learning_rate {self.learning_rate:g}, epoch {epoch + 1}",
                        do="lower the learning_rate",
                    )
        self._fitted, self._errors = state.factors(train.log, mean), errors
        self._chosen, self._mean = state.y, mean
        return self

    @property
    def errors(self) -> list[float]:
        """Root mean squared error met during each epoch."""
        return self._errors

    def score(self, users: np.ndarray) -> np.ndarray:
        """Predicted ratings of all items."""
        return fitted_scores(self._fitted, users, system="svdpp")

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Users and items whose inner products are the scores; the last two columns are biases."""
        return fitted_factors(self._fitted, system="svdpp")

    def fold_in(self, items: Any, values: Any) -> np.ndarray:
        """The row of a new user: what they chose to rate, and p and b_u that minimise their part of the objective."""
        vectors = self.factors()[1].astype(np.float64)
        codes, ratings = checked_profile(items, values, len(vectors))
        q, bias = vectors[codes, :-2], vectors[codes, -1]
        chosen = self._chosen[codes].sum(axis=0) / np.sqrt(max(len(codes), 1))
        known = np.column_stack([q, np.ones(len(codes))])
        ridge = self.regularization * max(len(codes), 1) * np.eye(known.shape[1])
        own = np.linalg.lstsq(known.T @ known + ridge, known.T @ (ratings - self._mean - bias - q @ chosen))[0]
        return np.concatenate([own[:-1] + chosen, [self._mean + own[-1], 1.0]]).astype(np.float32)


@dataclass(frozen=True, slots=True)
class State:
    """What is learned; arrays change in place."""

    user_bias: np.ndarray
    item_bias: np.ndarray
    p: np.ndarray  # users
    q: np.ndarray  # items, as rated
    y: np.ndarray  # items, as chosen to be rated

    @staticmethod
    def start(n_users: int, n_items: int, n_factors: int, rng: np.random.Generator) -> State:
        """No biases, small random factors."""
        p, q, y = (rng.normal(0.0, 0.1, (number, n_factors)) for number in (n_users, n_items, n_items))
        return State(np.zeros(n_users), np.zeros(n_items), p, q, y)

    def learn(self, log: ByUser, order: np.ndarray, *, mean: float, rate: float, ridge: float) -> float:
        """One pass over some users; returns the sum of squared errors met."""
        assert log.value is not None
        kernel = load("svdpp").train_users
        values = log.value.astype(np.float64, copy=False)
        arrays = (self.user_bias, self.item_bias, self.p, self.q, self.y)
        return kernel(order, log.start, log.item, values, mean, rate, ridge, *arrays)

    def factors(self, log: ByUser, mean: float) -> Factors:
        """Score = (p_u + |N_u|^-½ Σ y_j)·q_i + (μ + b_u)·1 + 1·b_i."""
        chosen = np.zeros_like(self.p)
        np.add.at(chosen, log.user, self.y[log.item])
        chosen /= np.sqrt(np.maximum(log.counts, 1))[:, None]
        known = log.counts > 0  # of others nothing was learned: their start is noise
        p = np.where(known[:, None], self.p, 0.0)
        users = np.column_stack([p + chosen, mean + self.user_bias, np.ones(len(p))])
        rated = np.bincount(log.item, minlength=len(self.q)) > 0
        items = np.column_stack([np.where(rated[:, None], self.q, 0.0), np.ones(len(self.q)), self.item_bias])
        return single_precision(users, items)


def _mean(train: TrainSet) -> float:
    assert train.log.value is not None
    return float(train.log.value.mean())
