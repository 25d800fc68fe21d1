"""Intervals and p-values from the values of resamples."""

from __future__ import annotations

import numpy as np

from trueval.statistics.student import t_quantile


def percentile_bounds(
    drawn: np.ndarray, level: float, *, observations: int | None = None, outward: bool = False
) -> tuple[float, float]:
    """The middle share `level` of the resampled values; undefined ones are left out.

    Resamples of few observations vary too little, by (n - 1)/n, and percentiles take their spread for known; given
    their number, the tails are those that widen a normal interval to Student's t (Hesterberg 2015). `outward` takes
    values that were drawn for the ends, the next ones outside, where values have steps.

    >>> percentile_bounds(np.arange(1001.0), 0.95), percentile_bounds(np.arange(1001.0), 0.95, observations=10)
    ((25.0, 975.0), (8.6, 991.4))
    >>> steps = np.array([1.0, 2.0, 4.0])
    >>> percentile_bounds(steps, 0.5), percentile_bounds(steps, 0.5, outward=True)
    ((1.5, 3.0), (1.0, 4.0))
    """
    known = drawn[~np.isnan(drawn)]
    if not len(known):
        return float("nan"), float("nan")
    low, high = tails(level)
    if observations is not None:
        low = _widened(level, observations)
        high = 1 - low
    if outward:
        return float(np.quantile(known, low, method="lower")), float(np.quantile(known, high, method="higher"))
    low, high = np.quantile(known, (low, high))
    return float(low), float(high)


def _widened(level: float, n: int) -> float:
    """The tail of percentiles that rest on n observations."""
    from scipy.special import ndtr

    return round(float(ndtr(-t_quantile(level=level, freedom=n - 1) * np.sqrt(n / (n - 1)))), 4)


def tails(level: float) -> tuple[float, float]:
    """The two quantiles between which a share `level` lies.

    >>> tails(0.95)
    (0.025, 0.975)
    """
    return round((1 - level) / 2, 15), round((1 + level) / 2, 15)


def bca_bounds(value: float, drawn: np.ndarray, replicates: np.ndarray, level: float) -> tuple[float, float]:
    """Percentiles corrected for bias and acceleration (Efron 1987).

    `replicates` are the jackknife replicates: the value without each user in turn. Resampled values that
    equal the value count half on either side. Where every resample is the same, so are both ends; where the value lies
    outside of all resamples the correction does not exist and the interval is undefined.

    >>> low, high = bca_bounds(500.0, np.arange(1001.0), np.array([499.0, 500.0, 501.0]), 0.95)
    >>> round(low, 6), round(high, 6)
    (25.0, 975.0)
    """
    from scipy.special import ndtr, ndtri

    known = drawn[~np.isnan(drawn)]
    if not len(known) or np.isnan(value):
        return float("nan"), float("nan")
    if known.min() == known.max():
        return float(known[0]), float(known[0])
    bias = float(ndtri(((known < value).sum() + (known <= value).sum()) / (2 * len(known))))
    away = replicates.mean() - replicates
    spread = float((away**2).sum()) ** 1.5
    acceleration = float((away**3).sum()) / (6 * spread) if spread > 0 else 0.0
    shifted = bias + ndtri(np.array(tails(level)))
    if not np.isfinite(bias):
        return float("nan"), float("nan")
    low, high = np.quantile(known, ndtr(bias + shifted / (1 - acceleration * shifted)))
    return float(low), float(high)


def quantile_of_sorted(ordered: np.ndarray, q: float) -> float:
    """The q quantile of a sorted sample, linear between neighbours: `np.quantile` without its overhead.

    >>> quantile_of_sorted(np.array([1.0, 2.0, 4.0]), 0.75)
    3.0
    """
    at = q * (len(ordered) - 1)
    left = int(at)
    right = min(left + 1, len(ordered) - 1)
    return float(ordered[left] + (at - left) * (ordered[right] - ordered[left]))


def percentile_p(draws: np.ndarray) -> float:
    """Twice the share of draws on the far side of 0, never exactly 0; it agrees with the percentile interval.

    >>> percentile_p(np.arange(1.0, 100.0))
    0.02
    """
    known = draws[np.isfinite(draws)]
    tail = min(int((known <= 0).sum()), int((known >= 0).sum()))
    return min(1.0, 2 * (tail + 1) / (len(known) + 1))
