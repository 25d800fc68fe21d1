"""WRMF and BPR, as the library `implicit` trains them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueval.errors import DataError
from trueval.kernels.threads import threads
from trueval.progress import progress
from trueval.recommenders.factor_models.matrices import (
    check_width,
    chosen_rows,
    fitted_factors,
    fitted_scores,
    seed_of,
    single_precision,
    sparse_matrix,
)
from trueval.recommenders.given import Factors
from trueval.recommenders.new_users import checked_profile
from trueval.recommenders.parameters import MOST_FACTORS, MOST_STEPS
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import parameter, system
from trueval.recommenders.training import values_of

_FACTORS = "length of the factor vectors"
_SEED = "seed of the initial factors (default: that of the evaluation)"
_THRESHOLD = "learn only from values of at least this"


@system(
    "wrmf",
    objective="Σ_ui c_ui (x_ui − q_u·p_i)² + λ (Σ_u |q_u|² + Σ_i |p_i|²); x = 1, c = α·value where there is a row, "
    "else x = 0, c = 1",
    reference="Hu, Koren & Volinsky, Collaborative Filtering for Implicit Feedback Datasets, ICDM 2008; implicit's ALS",
)
@dataclass(slots=True, kw_only=True)
class Wrmf:
    """Weighted regularised matrix factorisation of implicit feedback, by alternating least squares.

    Every train row counts as 1, whatever its value; `confidence` weighs rows by their values. Needs `implicit`.

    >>> Wrmf(n_factors=20).alpha
    5.0
    """

    n_factors: int = parameter(50, _FACTORS, low=1, high=MOST_FACTORS)
    alpha: float = parameter(5.0, "confidence in a row; a missing one has confidence 1", low=0, above=True)
    regularization: float = parameter(50.0, "λ, the weight of squared factors", low=0)
    sweeps: int = parameter(15, "number of sweeps over all users and all items", low=1, high=MOST_STEPS)
    threshold: float | None = parameter(None, _THRESHOLD)
    confidence: bool = parameter(False, "multiply the confidence in a row by its value")
    seed: int | None = parameter(None, _SEED, low=0, otherwise="seed")
    _fitted: Factors | None = field(default=None, init=False, repr=False)

    def fit(self, train: TrainSet) -> Wrmf:
        """Learn from which items the train rows name."""
        check_width(train, self.n_factors, system="wrmf")
        rows = chosen_rows(train, threshold=self.threshold, system="wrmf")
        data = None
        if self.confidence:
            values_of(train, system="wrmf with confidence", do="leave confidence out")
            data = _confidences(rows.value)
        module = _implicit("als")
        self._fitted = _train(
            lambda: module.AlternatingLeastSquares(
                factors=self.n_factors, alpha=self.alpha, regularization=self.regularization, iterations=self.sweeps,
                num_threads=threads(), random_state=_state(train, self.seed, "wrmf"), use_gpu=False,
            ),
            sparse_matrix(train, rows, data=data),
            title="wrmf",
            rounds=self.sweeps,
        )  # fmt: skip
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        """Scores of all items."""
        return fitted_scores(self._fitted, users, system="wrmf")

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Users and items whose inner products are the scores."""
        return fitted_factors(self._fitted, system="wrmf")

    def fold_in(self, items: Any, values: Any) -> np.ndarray:
        """The row of a new user with these ratings: the users' half of a sweep, for one user."""
        vectors = self.factors()[1].astype(np.float64)
        codes, ratings = checked_profile(items, values, len(vectors))
        if self.threshold is not None:
            codes, ratings = codes[ratings >= self.threshold], ratings[ratings >= self.threshold]
        confidence = self.alpha * (ratings if self.confidence else np.ones(len(codes)))
        own = vectors[codes]
        normal = vectors.T @ vectors + (own.T * (confidence - 1)) @ own + self.regularization * np.eye(vectors.shape[1])
        return np.linalg.solve(normal, own.T @ confidence).astype(np.float32)


@system(
    "bpr",
    objective="maximise Σ_(u,i,j) ln σ(x_ui − x_uj) − λ |Θ|², i of the user's rows, j not; x_ui = q_u·p_i + b_i",
    reference="Rendle et al., BPR: Bayesian Personalized Ranking from Implicit Feedback, UAI 2009; implicit's BPR",
)
@dataclass(slots=True, kw_only=True)
class Bpr:
    """Bayesian personalised ranking: what a user has should score above what the user has not.

    Stochastic gradient ascent; it runs on one thread, since several would race for the same factors and give
    another result each time. The library draws the items a user has not like rows, popular ones more often: the
    longer it trains, the less popularity counts in the lists. Needs `implicit`.

    >>> Bpr(n_factors=20).n_factors
    20
    """

    n_factors: int = parameter(50, _FACTORS, low=1, high=MOST_FACTORS)
    learning_rate: float = parameter(0.005, "step size", low=0, above=True)
    regularization: float = parameter(0.01, "λ, the weight of squared factors", low=0)
    epochs: int = parameter(
        30, "number of epochs, each of as many drawn pairs as there are rows", low=1, high=MOST_STEPS
    )
    threshold: float | None = parameter(None, _THRESHOLD)
    seed: int | None = parameter(None, _SEED, low=0, otherwise="seed")
    _fitted: Factors | None = field(default=None, init=False, repr=False)

    def fit(self, train: TrainSet) -> Bpr:
        """Learn from which items the train rows name."""
        check_width(train, self.n_factors, system="bpr")
        rows = chosen_rows(train, threshold=self.threshold, system="bpr")
        module = _implicit("bpr")
        self._fitted = _train(
            lambda: module.BayesianPersonalizedRanking(
                factors=self.n_factors, learning_rate=self.learning_rate, regularization=self.regularization,
                iterations=self.epochs, num_threads=1, random_state=_state(train, self.seed, "bpr"), use_gpu=False,
            ),
            sparse_matrix(train, rows),
            title="bpr",
            rounds=self.epochs,
        )  # fmt: skip
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        """Scores of all items."""
        return fitted_scores(self._fitted, users, system="bpr")

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Users and items whose inner products are the scores; the last column is the items' bias."""
        return fitted_factors(self._fitted, system="bpr")


def _implicit(module: str) -> Any:
    """A module of the library, or an error that says how to install it."""
    import importlib

    try:
        return importlib.import_module(f"implicit.{module}")
    except ImportError as error:
        raise DataError(
            "this system needs the library implicit",
            found=str(error),
            do="pip install 'trueval[systems]'",
        ) from None


def _state(train: TrainSet, seed: int | None, name: str) -> int:
    """The library takes seeds of 32 bits."""
    return seed_of(train, seed, system=name) % 2**32


def _confidences(value: np.ndarray | None) -> np.ndarray:
    """Values as confidences, which cannot be negative; of 0 there would be no row."""
    assert value is not None
    if (value <= 0).any():
        raise DataError(
            "confidences must be positive",
            where="train",
            found=f"value {value.min():g}",
            do="leave confidence out, or set a threshold above 0",
        )
    return value.astype(np.float32)


def _train(make: Any, matrix: Any, *, title: str, rounds: int) -> Factors:
    """Fit a model of the library, and take its factors."""
    from threadpoolctl import threadpool_limits

    # the library brings its own threads
    with threadpool_limits(1, user_api="blas"), progress(f"fitting {title}", rounds) as step:
        model = make()
        model.fit(matrix, show_progress=False, callback=lambda *_: step())
    return single_precision(model.user_factors, model.item_factors)
