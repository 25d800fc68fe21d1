"""EASE: a linear model of items from items, in closed form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueval.kernels.threads import blocks
from trueval.memory import need_memory
from trueval.recommenders.factor_models.matrices import chosen_rows, sparse_matrix
from trueval.recommenders.new_users import checked_profile
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import parameter, system
from trueval.recommenders.training import NOTHING, known_users

_INSTEAD = "use allrank, wrmf or puresvd, or keep fewer items"


@system(
    "ease",
    objective="|X − X B|² + λ |B|² with diag(B) = 0; B_ij = −P_ij / P_jj (i ≠ j), P = (XᵀX + λI)⁻¹",
    reference="Steck, Embarrassingly Shallow Autoencoders for Sparse Data, WWW 2019",
    caution="memory grows with the square of the number of items: 12 bytes per pair of items",
)
@dataclass(slots=True, kw_only=True)
class Ease:
    """Each item from the others a user has, by ridge regression; X is 1 where there is a train row.

    Memory O(items²), time O(items³): 20,000 items take about 5 GB.

    >>> from trueval.recommenders.factor_models.matrices import train_of_table
    >>> train = train_of_table([[1, 1, np.nan], [1, 1, np.nan], [1, np.nan, np.nan], [np.nan, np.nan, 1]])
    >>> scores = Ease(regularization=1).fit(train).score([2])
    >>> bool(scores[0, 1] > scores[0, 2])  # who has the first item should have the second
    True
    """

    regularization: float = parameter(1000.0, "λ, the weight of squared coefficients", low=0, above=True)
    threshold: float | None = parameter(None, "learn only from values of at least this")
    _matrix: Any = field(default=None, init=False, repr=False)
    _weights: np.ndarray = field(default_factory=lambda: NOTHING, init=False, repr=False)

    def fit(self, train: TrainSet) -> Ease:
        """Solve for the coefficients of all items."""
        from threadpoolctl import threadpool_limits

        items = len(train.items)
        need_memory(12.0 * items**2, f"the weights of {items:,} × {items:,} items", where="ease", do=_INSTEAD)
        matrix = sparse_matrix(train, chosen_rows(train, threshold=self.threshold, system="ease"))
        with threadpool_limits(1, user_api="blas"):  # one thread rounds in one way
            self._weights = _coefficients(matrix, self.regularization)
        self._matrix = matrix
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        """Sums of the coefficients of what a user has, for all items."""
        number = 0 if self._matrix is None else self._matrix.shape[0]
        return self._matrix[known_users(users, number, system="ease")] @ self._weights

    def score_new(self, items: Any, values: Any) -> np.ndarray:
        """Scores for a new user: sums of the coefficients of what they have."""
        codes, ratings = checked_profile(items, values, len(self._weights))
        chosen = codes if self.threshold is None else codes[ratings >= self.threshold]
        return self._weights[chosen].sum(axis=0)


def _coefficients(matrix: Any, regularization: float) -> np.ndarray:
    from scipy.linalg import lapack

    n_items, by_item = matrix.shape[1], matrix.tocsc()
    gram = np.empty((n_items, n_items), order="F")
    for part in blocks(n_items, 512):  # a sparse product of all items would be larger than the dense one
        gram[:, part] = (by_item.T @ by_item[:, part]).toarray()
    diagonal = np.arange(n_items)
    gram[diagonal, diagonal] += regularization
    gram, _ = lapack.dpotrf(gram, lower=1, overwrite_a=1)
    inverse, _ = lapack.dpotri(gram, lower=1, overwrite_c=1)  # its lower triangle
    scale = -1.0 / inverse[diagonal, diagonal]
    weights = np.zeros(inverse.shape, np.float32)
    for row in range(n_items):
        weights[row, :row] = inverse[row, :row]
        weights[:row, row] = inverse[row, :row]
    weights *= scale.astype(np.float32)
    return weights
