"""What weighted alternating least squares has learned: scores, factors, and rows for new users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueval.recommenders.factor_models.weighted_als import Side, Solution, solve
from trueval.recommenders.given import Factors
from trueval.recommenders.new_users import checked_profile


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

        codes, ratings = checked_profile(items, values, len(self.missing))
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
