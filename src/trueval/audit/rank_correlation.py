"""Correlations over many items."""

from __future__ import annotations

import warnings

import numpy as np


def pearson(one: np.ndarray, other: np.ndarray) -> float:
    """Pearson's correlation; NaN where one side does not vary.

    >>> pearson(np.array([1.0, 2, 3]), np.array([2.0, 4, 6])), pearson(np.ones(3), np.arange(3.0))
    (1.0, nan)
    """
    x, y = one - one.mean(), other - other.mean()
    size = np.sqrt((x @ x) * (y @ y))
    return float(np.clip(x @ y / size, -1, 1)) if np.ptp(one) and np.ptp(other) and size > 0 else float("nan")


def kendall(one: np.ndarray, other: np.ndarray) -> float:
    """Kendall's τ-b in O(n log n); NaN where one side does not vary.

    >>> round(kendall(np.array([1, 2, 3]), np.array([1, 3, 2])), 4), kendall(np.ones(3), np.arange(3))
    (0.3333, nan)
    """
    from scipy.stats import kendalltau

    with warnings.catch_warnings(action="ignore"):  # that nothing varies
        return float(kendalltau(one, other).statistic)
