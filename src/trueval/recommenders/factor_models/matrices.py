"""The train log as factor models read it, and the checks they share."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.errors import DataError, DefinitionError
from trueval.kernels.seeds import derive
from trueval.recommenders.given import Factors
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.training import known_users, values_of


def check_width(train: TrainSet, n_factors: int, *, system: str) -> None:
    """Refuse more factors than users or items: the data cannot determine them."""
    most = min(len(train.users), len(train.items))
    if n_factors > most:
        raise DefinitionError(
            f"{system} cannot have more factors than there are users or items",
            found=f"factors={n_factors}, {len(train.users):,} users, {len(train.items):,} items",
            do=f"factors={most} is the most; a fraction of it is usual",
        )


def chosen_rows(train: TrainSet, *, threshold: float | None, system: str) -> ByUser:
    """The train rows, or those whose value reaches a threshold."""
    if threshold is None:
        return train.log
    value = values_of(train, system=f"{system} with a threshold", do="leave the threshold out")
    rows = train.log.where(value >= threshold)
    if not len(rows.item):
        raise DataError(
            f"{system} has nothing to learn from: no value reaches the threshold",
            where="train",
            found=f"threshold {threshold:g}, highest value {value.max():g}",
            do="lower the threshold",
        )
    return rows


def sparse_matrix(train: TrainSet, rows: ByUser, *, data: np.ndarray | None = None) -> Any:
    """Rows as a SciPy matrix, users × items; each entry is 1, or its `data`."""
    from scipy import sparse

    entries = np.ones(len(rows.item), np.float32) if data is None else data
    return sparse.csr_matrix((entries, rows.item, rows.start), shape=(len(train.users), len(train.items)))


def seed_of(train: TrainSet, seed: int | None, *, system: str) -> int:
    """Seed of a model's start: its own if it has one, else the evaluation's."""
    return int(derive(train.seed if seed is None else seed, f"{system} start"))


def fitted_scores(fitted: Factors | None, users: np.ndarray, *, system: str) -> np.ndarray:
    """Scores from the factors that a system has learned."""
    codes = known_users(users, 0 if fitted is None else len(fitted.users), system=system)
    assert fitted is not None
    return fitted.score(codes)


def fitted_factors(fitted: Factors | None, *, system: str) -> tuple[np.ndarray, np.ndarray]:
    """The factors that a system has learned."""
    if fitted is None:
        raise DataError(f"{system} has not been fitted", do="call fit(train) first")
    return fitted.factors()


def single_precision(users: np.ndarray, items: np.ndarray) -> Factors:
    """Factors as they are handed out."""
    return Factors(users.astype(np.float32), items.astype(np.float32))


def train_of_table(table: Any, *, seed: int = 0) -> TrainSet:
    """A train set from a small table of ratings, users × items, NaN where there is none.

    >>> train = train_of_table([[5, np.nan], [4, 1]])
    >>> train.log.user.tolist(), train.log.item.tolist(), train.log.value.tolist()
    ([0, 1, 1], [0, 0, 1], [5.0, 4.0, 1.0])
    """
    ratings = np.asarray(table, np.float64)
    user, item = np.nonzero(~np.isnan(ratings))
    log = ByUser.of(user, item, ratings[user, item], n_users=len(ratings))
    return TrainSet(Ids(pl.Series(range(len(ratings)))), Ids(pl.Series(range(ratings.shape[1]))), log, seed)
