"""A reward model that sees the context: logistic (or ridge) regression on item, position and context columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from trueval.errors import DefinitionError
from trueval.online.ope.log_rows import LogRows, target_pairs
from trueval.online.ope.policy import Policy

_DENSE = 3000  # features up to which the curvature is inverted
_PENALTY = 1.0
_WEAK = 0.05  # hardly shrinks, and keeps the effects of items that always or never earn finite


@dataclass(frozen=True)
class Regression:
    """Effects of items and of cases that add up, in log odds where rewards are 0 or 1."""

    item_effect: np.ndarray
    case_effect: np.ndarray  # intercept included
    binary: bool
    features: Any  # cases × context features, sparse
    penalty: float = _PENALTY

    def predict(self, case: np.ndarray, item: np.ndarray) -> np.ndarray:
        """Expected reward of items in cases."""
        score = self.item_effect[item] + self.case_effect[case]
        return 1 / (1 + np.exp(-score)) if self.binary else score

    @property
    def constant(self) -> bool:
        """Whether all items have the same effect."""
        return bool(np.ptp(self.item_effect) <= 1e-9 * max(1.0, float(np.abs(self.item_effect).max())))

    def without_shrinkage(self, rows: LogRows) -> tuple[Regression, np.ndarray]:
        """The same regression with hardly any penalty, and residuals as if each row had not been fitted."""
        weak = fit_regression(rows, self.features, penalty=_WEAK)
        x, curvature, slope = weak._curvature(rows)
        fitted = np.asarray(x.multiply(x @ np.linalg.inv(curvature)).sum(axis=1)).ravel() * slope
        residual = rows.reward - weak.predict(rows.case, rows.item)
        return weak, residual / np.maximum(1 - fitted, 0.1)

    def _curvature(self, rows: LogRows) -> tuple[Any, np.ndarray, np.ndarray]:
        """The columns of every row, the curvature of the penalised likelihood, and the slope at each row."""
        from scipy import sparse

        x = design(rows, self.features)
        x = sparse.hstack([x, np.ones((len(rows), 1))]).tocsr()
        slope = self._slope(self.predict(rows.case, rows.item))
        penalty = np.full(x.shape[1], self.penalty)
        penalty[-1] = 1e-9  # the intercept is free
        return x, (x.T @ x.multiply(slope[:, None])).toarray() + np.diag(penalty), slope

    def _slope(self, q: np.ndarray) -> np.ndarray:
        return q * (1 - q) if self.binary else np.ones_like(q)

    def pulls(self, rows: LogRows, policy: Policy) -> np.ndarray | None:
        """Through the fitted coefficients: gradient of the expectation, inverse curvature, score of each row."""
        width = len(self.item_effect) + self.features.shape[1] + 1
        if width > _DENSE:
            return None
        gradient = self._gradient(rows, policy)
        x, curvature, _ = self._curvature(rows)
        return np.asarray((x @ np.linalg.solve(curvature, gradient)).T) * len(rows)

    def _gradient(self, rows: LogRows, policy: Policy) -> np.ndarray:
        """Of the expected reward at each position with respect to the coefficients: features × positions."""
        places, items = len(rows.positions), len(self.item_effect)
        by_item, by_case = np.zeros((items, places)), np.zeros(len(rows.cases))
        for case, item, probability in target_pairs(rows, policy):
            amount = probability * rows.case_rows[case] / len(rows) * self._slope(self.predict(case, item))
            cell = item * places + rows.case_place[case]
            by_item += np.bincount(cell, amount, minlength=items * places).reshape(items, places)
            by_case += np.bincount(case, amount, minlength=len(by_case))
        split = np.zeros((len(rows.cases), places))
        split[np.arange(len(by_case)), rows.case_place] = by_case
        return np.vstack([by_item, self.features.T @ split, split.sum(axis=0)[None]])


def case_features(rows: LogRows, context: Sequence[str]) -> Any:
    """Features of the cases: one column per category, numbers centred and scaled; positions are categories."""
    from scipy import sparse

    parts = []
    for name in (["position"] if "position" in rows.cases.columns else []) + list(context):
        column = rows.cases[name]
        if name != "position" and column.dtype.is_numeric() and column.dtype != pl.Boolean:
            values = column.cast(pl.Float64).to_numpy()
            spread = values.std() or 1.0
            parts.append(sparse.csr_matrix(((values - values.mean()) / spread)[:, None]))
        else:
            codes = column.cast(pl.String).rank("dense").to_numpy().astype(np.int64) - 1
            parts.append(_one_hot(codes, int(codes.max()) + 1))
    return sparse.hstack(parts).tocsr()


def design(rows: LogRows, features: Any) -> Any:
    """One row per row of the log: its item, then the features of its case."""
    from scipy import sparse

    return sparse.hstack([_one_hot(rows.item, len(rows.items)), features[rows.case]]).tocsr()


def _one_hot(codes: np.ndarray, many: int) -> Any:
    from scipy import sparse

    return sparse.csr_matrix((np.ones(len(codes)), (np.arange(len(codes)), codes)), shape=(len(codes), many))


def fit_regression(
    rows: LogRows, features: Any, used: np.ndarray | None = None, *, penalty: float = _PENALTY
) -> Regression:
    """Fit the regression on some rows, with a ridge penalty."""
    try:
        from sklearn.linear_model import LogisticRegression, Ridge
    except ImportError:
        raise DefinitionError(
            "a reward model with context needs scikit-learn",
            do="pip install 'trueval[systems]', or leave out context, or estimators dm and dr",
        ) from None
    pick = np.ones(len(rows), bool) if used is None else used
    x, y = design(rows, features)[pick], rows.reward[pick]
    binary = bool(np.isin(rows.reward, (0.0, 1.0)).all())
    items = len(rows.items)
    if y.min() == y.max():  # nothing to tell apart
        level = (y.sum() + 0.5) / (len(y) + 1) if binary else y[0]
        start = np.log(level / (1 - level)) if binary else level
        return Regression(np.zeros(items), np.full(len(rows.cases), start), binary, features, penalty)
    if binary:
        model: Any = LogisticRegression(C=1 / penalty, max_iter=1000, tol=1e-5).fit(x, y)
    else:
        model = Ridge(alpha=penalty, tol=1e-8).fit(x, y)
    coefficients = np.ravel(model.coef_)
    effect = features @ coefficients[items:] + float(np.ravel(model.intercept_)[0])
    return Regression(coefficients[:items], np.asarray(effect), binary, features, penalty)
