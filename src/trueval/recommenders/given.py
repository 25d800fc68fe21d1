"""Systems that already exist: a function, a matrix of scores, factor matrices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueval.errors import DataError
from trueval.recommenders.protocol import ScoreFunction, TrainSet


def _check_shape(shape: tuple[int, ...], wanted: tuple[int, int], *, what: str) -> None:
    if tuple(shape) != wanted:
        raise DataError(
            f"{what} does not fit the data",
            found=f"shape {' × '.join(map(str, shape))}, expected {wanted[0]} users × {wanted[1]} items",
            do="rows follow the sorted user ids, columns the sorted item ids, of train and test together",
        )


@dataclass(slots=True)
class Function:
    """A plain function `users -> scores`. With `ids=True` it is given user ids instead of codes.

    Columns follow the sorted item ids.
    """

    function: ScoreFunction
    ids: bool = False
    _train: TrainSet | None = field(default=None, repr=False)

    def fit(self, train: TrainSet) -> Function:
        self._train = train
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        assert self._train is not None
        asked: Any = self._train.users.decode(users).to_list() if self.ids else users
        scores = np.asarray(self.function(asked))
        _check_shape(scores.shape, (len(users), len(self._train.items)), what="what the score function returned")
        return scores


@dataclass(slots=True)
class Scores:
    """A matrix of scores, users × items (NumPy or SciPy sparse; what is absent from a sparse one is 0)."""

    matrix: Any

    def fit(self, train: TrainSet) -> Scores:
        _check_shape(self.matrix.shape, (len(train.users), len(train.items)), what="the score matrix")
        if hasattr(self.matrix, "tocsr"):  # some sparse forms cannot be asked for rows
            self.matrix = self.matrix.tocsr()
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        rows = self.matrix[users]
        return rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)


@dataclass(slots=True)
class Factors:
    """A factor model: the score of user u and item i is the inner product of their rows.

    >>> model = Factors(np.eye(2, dtype=np.float32), np.eye(3, 2, dtype=np.float32))
    >>> model.score(np.array([1])).tolist()
    [[0.0, 1.0, 0.0]]
    """

    users: np.ndarray
    items: np.ndarray

    def fit(self, train: TrainSet) -> Factors:
        if self.users.ndim != 2 or self.items.ndim != 2 or self.users.shape[1] != self.items.shape[1]:
            raise DataError(
                "factor matrices must have the same number of columns",
                found=f"shapes {self.users.shape} and {self.items.shape}",
            )
        _check_shape((len(self.users), len(self.items)), (len(train.users), len(train.items)), what="the factor model")
        for name, matrix in (("user", self.users), ("item", self.items)):
            if not np.isfinite(matrix).all():
                row = int(np.flatnonzero(~np.isfinite(matrix).all(axis=1))[0])
                raise DataError(
                    f"{name} factors are not finite",
                    found=f"first in row {row}",
                    do="check how the model was trained",
                )
        return self

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        return self.users, self.items

    def score(self, users: np.ndarray) -> np.ndarray:
        return self.users[users] @ self.items.T
