"""PureSVD: the truncated singular value decomposition of the ratings, zeros where there are none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueval.memory import need_memory
from trueval.recommenders.factor_models.matrices import (
    check_width,
    fitted_factors,
    fitted_scores,
    seed_of,
    single_precision,
    sparse_matrix,
)
from trueval.recommenders.given import Factors
from trueval.recommenders.new_users import checked_profile
from trueval.recommenders.parameters import MOST_FACTORS
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import parameter, system

# Up to this many entries the whole decomposition is computed: it takes no time, and any number of factors.
_SMALL = 1 << 20


@system(
    "puresvd",
    objective="Σ_ui (R_ui − q_u·p_i)² over all pairs, R_ui = 0 where there is no rating",
    reference="Cremonesi, Koren & Turrin, Performance of Recommender Algorithms on Top-N Tasks, RecSys 2010",
)
@dataclass(slots=True, kw_only=True)
class PureSVD:
    """Truncated singular value decomposition of the zero-filled ratings (of ones, for a log without values).

    The best approximation of that rank: R ≈ U Σ Vᵀ; a user's factors are U Σ, an item's V.

    >>> from trueval.recommenders.factor_models.matrices import train_of_table
    >>> train = train_of_table([[2, 1], [4, 2]])
    >>> PureSVD(n_factors=1).fit(train).score([0, 1]).round(3).tolist()
    [[2.0, 1.0], [4.0, 2.0]]
    """

    n_factors: int = parameter(20, "number of singular values kept", low=1, high=MOST_FACTORS)
    seed: int | None = parameter(
        None, "seed of the initial vector (default: that of the evaluation)", low=0, otherwise="seed"
    )
    _fitted: Factors | None = field(default=None, init=False, repr=False)
    _valued: bool = field(default=False, init=False, repr=False)

    def fit(self, train: TrainSet) -> PureSVD:
        """Decompose the train ratings."""
        from threadpoolctl import threadpool_limits

        check_width(train, self.n_factors, system="puresvd")
        value = train.log.value
        matrix = sparse_matrix(train, train.log, data=None if value is None else value.astype(np.float64))
        with threadpool_limits(1, user_api="blas"):  # one thread rounds in one way
            users, items = _decompose(matrix, self.n_factors, seed_of(train, self.seed, system="puresvd"))
        self._fitted, self._valued = single_precision(users, items), value is not None
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        """Scores of all items."""
        return fitted_scores(self._fitted, users, system="puresvd")

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Users (U Σ) and items (V) whose inner products are the scores."""
        return fitted_factors(self._fitted, system="puresvd")

    def fold_in(self, items: Any, values: Any) -> np.ndarray:
        """The row that a new user with these ratings has in the user factors: their ratings times V."""
        vectors = self.factors()[1]
        codes, ratings = checked_profile(items, values, len(vectors))
        return (ratings if self._valued else np.ones(len(codes))).astype(np.float32) @ vectors[codes]


def _decompose(matrix: Any, number: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """U Σ and V, largest singular value first; each column of V has its largest entry positive."""
    narrow = min(matrix.shape)
    if matrix.shape[0] * matrix.shape[1] <= _SMALL or number > narrow // 2:
        needed = 8.0 * matrix.shape[0] * matrix.shape[1]
        do = f"use at most {narrow // 2:,} factors"
        need_memory(2 * needed, "the decomposition of a dense matrix", where="puresvd", do=do)
        left, size, right = np.linalg.svd(matrix.toarray().astype(np.float64), full_matrices=False)
    else:
        from scipy.sparse.linalg import svds

        start = np.random.default_rng(seed).standard_normal(narrow)
        left, size, right = svds(matrix.astype(np.float64), k=number, v0=start)
    order = np.argsort(-size, kind="stable")[:number]
    right = right[order]
    sign = np.where(right[np.arange(number), np.abs(right).argmax(axis=1)] < 0, -1.0, 1.0)
    return left[:, order] * (size[order] * sign), right.T * sign
