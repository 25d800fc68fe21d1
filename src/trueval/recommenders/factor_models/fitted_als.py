"""What weighted alternating least squares has learned: scores, factors, and rows for new users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueval.errors import DataError
from trueval.recommenders.factor_models.weighted_als import Side, Solution, solve
from trueval.recommenders.given import Factors


@dataclass(frozen=True, slots=True)
class FittedAls:
    """A solution, with what it takes to solve for one more user."""

    solution: Solution
    observed: np.ndarray  # weights by item
    missing: np.ndarray
    r_m: float
    regularization: float
    given: Factors  # in single precision, with a column for the offset r_m

    @staticmethod
    def of(
        solution: Solution, *, observed: np.ndarray, missing: np.ndarray, r_m: float, regularization: float
    ) -> FittedAls:
        """The offset joins the factors as one more column: 1 for users, r_m for items."""
        users = _with_column(solution.users, 1.0)
        items = _with_column(solution.items, r_m)
        return FittedAls(solution, observed, missing, r_m, regularization, Factors(users, items))

    def fold_in(self, items: Any, values: Any) -> np.ndarray:
        """Row of a new user with these ratings: the users' half of a sweep, for one user."""
        from threadpoolctl import threadpool_limits

        codes, ratings = _checked(items, values, len(self.missing))
        extra = self.observed[codes] - self.missing[codes]
        side = Side(
            np.array([0, len(codes)]), codes, extra, self.observed[codes] * (ratings - self.r_m), np.ones(1),
            np.array([extra.sum() + self.missing.sum()]),
        )  # fmt: skip
        with threadpool_limits(1, user_api="blas"):
            row, _ = solve(side, self.solution.items, self.solution.base, regularization=self.regularization)
        return _with_column(row, 1.0)[0]


def _with_column(factors: np.ndarray, constant: float) -> np.ndarray:
    return np.column_stack([factors, np.full(len(factors), constant)]).astype(np.float32)


def _checked(items: Any, values: Any, n_items: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes of distinct items that exist, ascending like in a train log, and finite ratings of them."""
    codes, ratings = np.asarray(items), np.asarray(values, np.float64)
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
