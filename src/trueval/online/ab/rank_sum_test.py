"""Ranks of two samples: Mann and Whitney's test, and where each value stands in the other sample."""

from __future__ import annotations

import math

import numpy as np


def placements(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """For each value the share of others below it, equal ones counted half.

    >>> placements(np.array([1.0, 2.0]), np.array([0.0, 1.0, 1.0, 5.0])).tolist()
    [0.5, 0.75]
    """
    ordered = np.sort(others)
    return (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / (2 * len(others))


def rank_sum_p(control: np.ndarray, arm: np.ndarray) -> float:
    """Two-sided p of Mann and Whitney's test: normal approximation, corrected for ties and for continuity.

    >>> round(rank_sum_p(np.arange(10.0), np.arange(10.0) + 4), 4)
    0.017
    """
    from scipy.special import ndtr

    n0, n1 = len(control), len(arm)
    n = n0 + n1
    u = float(placements(arm, control).sum()) * n0
    ties = np.unique(np.concatenate([control, arm]), return_counts=True)[1].astype(float)
    variance = n0 * n1 / 12 * ((n + 1) - float((ties**3 - ties).sum()) / (n * (n - 1)))
    if not variance > 0:
        return 1.0
    return min(1.0, float(2 * ndtr(-max(0.0, abs(u - n0 * n1 / 2) - 0.5) / math.sqrt(variance))))
