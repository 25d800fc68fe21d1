"""What systems check and share when they learn: rows and values that can be used, users that are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueval.errors import DataError
from trueval.memory import need_memory
from trueval.recommenders.protocol import TrainSet

# What is not learned yet.
NOTHING = np.empty((0, 0), np.float32)


def check_train(train: TrainSet, *, needs: str | None, system: str) -> None:
    """Refuse a train set that a system cannot learn from: no rows, no values, values that are not finite."""
    if needs is not None and not len(train.log.item):
        raise DataError(
            f"{system} cannot learn from an empty train set",
            where="train",
            found="0 rows",
            do="check the split and its filters",
        )
    if needs == "values":
        values_of(train, system=system, do="use a system for implicit data, such as popularity or itemknn")
    value = train.log.value
    if needs is not None and value is not None and not np.isfinite(value).all():
        row = int(np.flatnonzero(~np.isfinite(value))[0])
        user = train.users.decode(train.log.user[row : row + 1])[0]
        item = train.items.decode(train.log.item[row : row + 1])[0]
        raise DataError(
            "values must be finite numbers",
            where="train",
            found=f"user {user!r}, item {item!r}: {value[row]}",
            do="drop or correct these rows",
        )


def check_factors(train: TrainSet, system: object, *, name: str) -> None:
    """Refuse factors of all users and items that do not fit into memory, with the copy that fitting makes."""
    factors = getattr(system, "n_factors", None)
    if isinstance(factors, int):
        size = 16.0 * (len(train.users) + len(train.items)) * factors
        need_memory(size, f"{factors:,} factors of all users and items", where=name, do="use fewer factors")


def values_of(train: TrainSet, *, system: str, do: str) -> np.ndarray:
    """The ratings, where they are needed; `do` is the way out for who has none."""
    if train.log.value is None:
        raise DataError(f"{system} needs a value column", where="train", do=do)
    return train.log.value


def known_users(users: Any, number: int, *, system: str) -> np.ndarray:
    """Codes of users as an array; refuses codes of nobody, and a system that has not been fitted.

    >>> known_users([1, 0], 2, system="plsa").tolist()
    [1, 0]
    """
    codes = np.atleast_1d(np.asarray(users))
    if not number:
        raise DataError(f"{system} has not been fitted", do="call fit(train) first")
    if not np.issubdtype(codes.dtype, np.integer):
        raise DataError(f"{system} takes users by their integer codes", found=f"type {codes.dtype}", do="give integers")
    unknown = (codes < 0) | (codes >= number)
    if unknown.any():
        raise DataError(
            f"{system} does not know this user",
            found=f"code {codes[unknown][0]}; it was fitted for users 0 to {number - 1}",
            do="use the codes of the train set it was fitted on",
        )
    return codes
