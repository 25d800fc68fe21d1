"""MF-RMSE, AllRank and AllRank-Pop: one factorisation, three ways to weigh what was rated and what was not.

All predict R̂_ui = r_m + p_i·q_u and minimise

    Σ_u Σ_i W_ui · { (R_ui − R̂_ui)² + λ (|p_i|² + |q_u|²) },    a missing R_ui counting as r_m

by alternating least squares (see weighted_als.py). They differ in the weights W alone. Users without ratings
have zero factors: every item scores r_m for them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueval.errors import DataError
from trueval.recommenders.factor_models.fitted_als import FittedAls
from trueval.recommenders.factor_models.item_weights import WEIGHTINGS, item_weights
from trueval.recommenders.factor_models.matrices import check_width, fitted_factors, fitted_scores, seed_of
from trueval.recommenders.factor_models.weighted_als import Problem, alternate
from trueval.recommenders.parameters import MOST_FACTORS, MOST_STEPS
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import parameter, system

_STECK = "Steck, Item Popularity and Recommendation Accuracy, RecSys 2011"
_FACTORS = "length of the factor vectors"
_LAMBDA = "λ, the weight of squared factors beside squared errors"
_SWEEPS = "number of sweeps over all items and all users"
_SEED = "seed of the initial factors (default: that of the evaluation)"


@system(
    "mf_rmse",
    objective="Σ_obs { (R_ui − r_m − p_i·q_u)² + λ (|p_i|² + |q_u|²) }",
    reference=f"MF-RMSE in {_STECK}",
    needs="values",
    caution="trained to predict the ratings that were made; unrated items are ignored, so its top-n lists are poor",
)
@dataclass(slots=True, kw_only=True)
class MfRmse:
    """Matrix factorisation of the observed ratings alone: AllRank with w_m = 0.

    >>> from trueval.recommenders.factor_models.matrices import train_of_table
    >>> train = train_of_table([[5, 1, np.nan], [5, 1, 1], [1, 5, 5]])
    >>> MfRmse(n_factors=1, r_m=3).fit(train).score([0]).round().tolist()
    [[5.0, 1.0, 1.0]]
    """

    n_factors: int = parameter(50, _FACTORS, low=1, high=MOST_FACTORS)
    r_m: float | None = parameter(None, "offset of all predictions (default: the mean train rating)")
    regularization: float = parameter(0.06, _LAMBDA, low=0, above=True)
    sweeps: int = parameter(15, _SWEEPS, low=1, high=MOST_STEPS)
    seed: int | None = parameter(None, _SEED, low=0, otherwise="seed")
    _fitted: FittedAls | None = field(default=None, init=False, repr=False)

    def fit(self, train: TrainSet) -> MfRmse:
        """Learn from the train ratings."""
        assert train.log.value is not None
        r_m = float(train.log.value.mean()) if self.r_m is None else self.r_m
        ones = np.ones(len(train.items))
        self._fitted = _fit(self, train, "mf_rmse", r_m=r_m, observed=ones, missing=np.zeros_like(ones))
        return self

    @property
    def objective(self) -> list[float]:
        """The objective after each sweep."""
        return _fitted(self, "mf_rmse").solution.objective

    def score(self, users: np.ndarray) -> np.ndarray:
        """Predicted ratings of all items."""
        return fitted_scores(_fitted(self, "mf_rmse").given, users, system="mf_rmse")

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Users and items whose inner products are the scores; the last column is the offset."""
        return fitted_factors(_fitted(self, "mf_rmse").given, system="mf_rmse")

    def fold_in(self, items: Any, values: Any) -> np.ndarray:
        """The row that a new user with these ratings has in the user factors, items being as they are."""
        return _fitted(self, "mf_rmse").fold_in(items, values)


@system(
    "allrank",
    objective="Σ_ui W_ui { (R_ui − r_m − p_i·q_u)² + λ (|p_i|² + |q_u|²) }; rated: W = 1, else W = w_m and R = r_m",
    reference=f"Steck, Training and Testing of Recommender Systems on Data Missing Not at Random, KDD 2010; {_STECK}",
    needs="values",
)
@dataclass(slots=True, kw_only=True)
class AllRank:
    """Matrix factorisation of all ratings, the missing ones imputed as r_m with a small weight w_m.

    The default w_m was chosen for logs with about 1 % of all pairs; denser ones are served better by more.

    >>> from trueval.recommenders.factor_models.matrices import train_of_table
    >>> train = train_of_table([[5, 4, np.nan, np.nan], [5, np.nan, 5, np.nan], [np.nan, 1, 4, 5]])
    >>> model = AllRank(n_factors=2).fit(train)
    >>> int(model.score([0])[0].argmax())
    0
    >>> row = model.fold_in([0, 1], [5, 4])
    >>> bool((row == model.factors()[0][0]).all())
    True
    """

    n_factors: int = parameter(50, _FACTORS, low=1, high=MOST_FACTORS)
    r_m: float = parameter(2.0, "imputed value of a missing rating, and offset of all predictions")
    w_m: float = parameter(0.005, "weight of a missing rating; an observed one weighs 1", low=0)
    regularization: float = parameter(0.04, _LAMBDA, low=0, above=True)
    sweeps: int = parameter(15, _SWEEPS, low=1, high=MOST_STEPS)
    seed: int | None = parameter(None, _SEED, low=0, otherwise="seed")
    _fitted: FittedAls | None = field(default=None, init=False, repr=False)

    def fit(self, train: TrainSet) -> AllRank:
        """Learn from the train ratings and from what is missing."""
        ones = np.ones(len(train.items))
        self._fitted = _fit(self, train, "allrank", r_m=self.r_m, observed=ones, missing=self.w_m * ones)
        return self

    @property
    def objective(self) -> list[float]:
        """The objective after each sweep."""
        return _fitted(self, "allrank").solution.objective

    def score(self, users: np.ndarray) -> np.ndarray:
        """Predicted ratings of all items."""
        return fitted_scores(_fitted(self, "allrank").given, users, system="allrank")

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Users and items whose inner products are the scores; the last column is the offset."""
        return fitted_factors(_fitted(self, "allrank").given, system="allrank")

    def fold_in(self, items: Any, values: Any) -> np.ndarray:
        """The row that a new user with these ratings has in the user factors, items being as they are."""
        return _fitted(self, "allrank").fold_in(items, values)


@system(
    "allrank_pop",
    objective="AllRank's; decreasing: W_ui ∝ (1/(N+_i + 1))^β where rated; increasing: W_ui ∝ (N+_i + 1)^β where not",
    reference=f"AllRank-Pop in {_STECK}",
    needs="values",
)
@dataclass(slots=True, kw_only=True)
class AllRankPop:
    """AllRank with weights by popularity, so that training corrects for people meeting popular items more often.

    N+_i is the number of relevant train ratings of item i. Decreasing weights of ratings sum to the number of
    ratings; increasing weights of missing ratings have the mean w_m over the items. With beta_w = 0 it is AllRank.
    The paper adds the 1 in decreasing weights alone; without it in increasing ones, the missing ratings of items that
    nobody liked would weigh nothing, and these items fill the lists.

    >>> from trueval.recommenders.factor_models.matrices import train_of_table
    >>> train = train_of_table([[5, 4, np.nan, np.nan], [5, np.nan, 5, np.nan], [np.nan, 1, 4, 5]])
    >>> model = AllRankPop(n_factors=2, beta_w=0).fit(train)
    >>> bool((model.score([0]) == AllRank(n_factors=2).fit(train).score([0])).all())
    True
    """

    n_factors: int = parameter(50, _FACTORS, low=1, high=MOST_FACTORS)
    beta_w: float = parameter(
        0.2, "exponent of popularity: 0 ignores it, 1 is proportional to it or its inverse", low=0, high=1
    )
    weights: str = parameter(
        "increasing",
        "weights of missing ratings increase with popularity, or of observed ones decrease",
        choices=WEIGHTINGS,
    )
    r_m: float = parameter(2.0, "imputed value of a missing rating, and offset of all predictions")
    w_m: float = parameter(0.005, "weight of a missing rating; an observed one weighs 1 (the means of both)", low=0)
    threshold: float | None = parameter(
        None, "smallest relevant value (default: the threshold of the evaluation)", otherwise="threshold"
    )
    regularization: float = parameter(0.04, _LAMBDA, low=0, above=True)
    sweeps: int = parameter(15, _SWEEPS, low=1, high=MOST_STEPS)
    seed: int | None = parameter(None, _SEED, low=0, otherwise="seed")
    _fitted: FittedAls | None = field(default=None, init=False, repr=False)

    def fit(self, train: TrainSet) -> AllRankPop:
        """Learn from the train ratings and from what is missing, weighted by popularity."""
        observed, missing = item_weights(
            train, self.weights, beta_w=self.beta_w, w_m=self.w_m, threshold=self.threshold
        )
        self._fitted = _fit(self, train, "allrank_pop", r_m=self.r_m, observed=observed, missing=missing)
        return self

    @property
    def objective(self) -> list[float]:
        """The objective after each sweep."""
        return _fitted(self, "allrank_pop").solution.objective

    def score(self, users: np.ndarray) -> np.ndarray:
        """Predicted ratings of all items."""
        return fitted_scores(_fitted(self, "allrank_pop").given, users, system="allrank_pop")

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Users and items whose inner products are the scores; the last column is the offset."""
        return fitted_factors(_fitted(self, "allrank_pop").given, system="allrank_pop")

    def fold_in(self, items: Any, values: Any) -> np.ndarray:
        """The row that a new user with these ratings has in the user factors, items being as they are."""
        return _fitted(self, "allrank_pop").fold_in(items, values)


def _fit(
    model: MfRmse | AllRank | AllRankPop,
    train: TrainSet,
    name: str,
    *,
    r_m: float,
    observed: np.ndarray,
    missing: np.ndarray,
) -> FittedAls:
    check_width(train, model.n_factors, system=name)
    solution = alternate(
        Problem.of(train.log, r_m, observed=observed, missing=missing),
        n_factors=model.n_factors,
        regularization=model.regularization,
        sweeps=model.sweeps,
        # one start for the family, so that systems with the same weights are the same
        seed=seed_of(train, model.seed, system="weighted als"),
        title=name,
    )
    return FittedAls.of(solution, observed=observed, missing=missing, r_m=r_m, regularization=model.regularization)


def _fitted(model: MfRmse | AllRank | AllRankPop, name: str) -> FittedAls:
    if model._fitted is None:
        raise DataError(f"{name} has not been fitted", do="call fit(train) first")
    return model._fitted
