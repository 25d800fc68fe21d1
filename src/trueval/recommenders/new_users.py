"""Scores for people whom a system has not been fitted on, from what they have rated.

A system offers `score_new(items, values) -> scores of all items`, or, where scores are inner products,
`fold_in(items, values) -> row of user factors`. Items are codes of the train set; everything that was learned about
items stays as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueval.errors import DataError, DefinitionError


def can_fold_in(system: Any) -> bool:
    """Whether a system can score items for somebody new.

    >>> from trueval.recommenders.registry import make_system
    >>> can_fold_in(make_system("popularity")), can_fold_in(make_system("bpr"))
    (True, False)
    """
    if not getattr(system, "folds_in", True):  # a model of another library, which has its say
        return False
    return hasattr(system, "score_new") or (hasattr(system, "fold_in") and callable(getattr(system, "factors", None)))


def score_new_user(system: Any, items: Any, values: Any, *, name: str = "this system") -> np.ndarray:
    """Scores of all items for somebody with these ratings.

    >>> from trueval.recommenders.factor_models.matrices import train_of_table
    >>> from trueval.recommenders.registry import make_system
    >>> fitted = make_system("popularity").fit(train_of_table([[5, np.nan], [4, 1]]))
    >>> score_new_user(fitted, [0], [5.0]).tolist()
    [2.0, 1.0]
    """
    if not can_fold_in(system):
        raise DefinitionError(
            f"{name} cannot recommend to people it has not been fitted on",
            found=type(system).__name__,
            do="use a system that can, such as allrank, itemknn, ease, puresvd, plsa, userknn or popularity",
        )
    if hasattr(system, "score_new"):
        return np.asarray(system.score_new(items, values))
    return np.asarray(system.factors()[1] @ system.fold_in(items, values))


def checked_profile(items: Any, values: Any, n_items: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes of distinct items that exist, ascending like in a train log, and finite ratings of them.

    >>> checked_profile([4, 2], [5, 1], 10)
    (array([2, 4], dtype=int32), array([1., 5.]))
    """
    codes, ratings = np.asarray(items), np.asarray(values, np.float64)
    if not n_items:
        raise DataError("the system has not been fitted", do="call fit(train) first")
    if codes.ndim != 1 or codes.shape != ratings.shape:
        raise DataError(
            "a new user has one value for each item", found=f"shapes {codes.shape} and {ratings.shape}",
            do="give two lists of the same length",
        )  # fmt: skip
    if len(codes) and not np.issubdtype(codes.dtype, np.integer):
        raise DataError(
            "a new user's items are codes", found=f"type {codes.dtype}", do="code the ids: train.items.codes(ids)"
        )
    unknown = (codes < 0) | (codes >= n_items)
    if unknown.any():
        raise DataError(
            "a new user has rated an item that the system does not know",
            found=f"code {codes[unknown][0]}; it was fitted for items 0 to {n_items - 1}",
            do="leave such items out",
        )
    if len(np.unique(codes)) < len(codes):
        raise DataError("a new user has rated an item twice", found=f"{len(codes)} ratings", do="keep one of them")
    if not np.isfinite(ratings).all():
        raise DataError("a new user's values must be finite numbers", found=f"{ratings[~np.isfinite(ratings)][0]}")
    order = np.argsort(codes)
    return codes[order].astype(np.int32), ratings[order]
