"""How unevenly counts are spread: Gini index and Lorenz curve."""

from __future__ import annotations

import numpy as np


def gini_index(counts: np.ndarray) -> float:
    """Gini index of counts, zeros included: 0 where all are equal, near 1 where one has everything, NaN of nothing.

    >>> round(gini_index(np.array([8, 2, 0, 0, 0])), 6), round(gini_index(np.array([6, 3, 1, 0, 0])), 6)
    (0.72, 0.6)
    """
    x = np.sort(np.asarray(counts, np.float64))
    n, total = len(x), x.sum()
    return float((2 * np.arange(1, n + 1) - n - 1) @ x / (n * total)) if total > 0 else float("nan")


def lorenz_curve(counts: np.ndarray) -> np.ndarray:
    """Cumulative share of the total held by the least popular items, from 0 to 1.

    >>> lorenz_curve(np.array([1, 3])).tolist()
    [0.0, 0.25, 1.0]
    """
    x = np.sort(np.asarray(counts, np.float64))
    return np.concatenate([[0.0], np.cumsum(x) / x.sum()])
