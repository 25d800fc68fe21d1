"""Intervals where nearly all users have the same value: resampling sees no spread there, or far too little.

Twenty users without a hit have a hit rate of 0, and so has every resample of them: a percentile, BCa or Student t
interval would be 0 to 0. What such users do tell is how rare others are. The share of users who differ from the
common value has an exact (Clopper–Pearson) interval; those who differ lie where they were seen on average or, where
none was seen, at worst at the end of the metric's range. Intervals are never narrower than this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trueval.statistics.binomial import clopper_pearson
from trueval.statistics.bounds import Bounds

if TYPE_CHECKING:
    from trueval.evaluation.estimate import Sums

FEW = 5  # users who differ: with more, percentiles of resamples cover at least nine times in ten, whatever the share


def allow_for_few(s: Sums, low: float, high: float, level: float) -> Bounds:
    """The interval, no narrower than the few users who differ allow.

    >>> from trueval.evaluation.estimate import Sums
    >>> from trueval.metrics.metric_values import same
    >>> misses = Sums(np.zeros((20, 1)), np.ones((20, 1)), same, 20, 0, range=(0, 1))
    >>> found = allow_for_few(misses, 0.0, 0.0, 0.95)
    >>> found.low, round(found.high, 4), round(1 - 0.025 ** (1 / 20), 4)
    (0.0, 0.1684, 0.1684)
    """
    values, weight = s.user_values()
    if len(values) < 2:
        return Bounds(low, high)
    common = np.sort(values[: 2 * FEW + 1])[(min(len(values), 2 * FEW + 1) - 1) // 2]
    away = values - common
    away[np.abs(away) <= 1e-12 * max(1.0, abs(common))] = 0.0  # equal but for rounding
    differ = int(np.count_nonzero(away))
    if differ > FEW or 2 * differ >= len(values):
        return Bounds(low, high)
    if not differ and high - low > 1e-9 * max(1.0, abs(common)):  # what varies is something else: seeds
        return Bounds(low, high)
    if not s.is_mean:  # a root, or a product of ratios: the shares of users do not bound it
        return Bounds(low, high) if differ else Bounds(np.nan, np.nan, "no interval: all users have the same value")
    number = float(weight.sum() ** 2 / (weight**2).sum())  # users who count alike, where some count more than others
    up = _reach(away, weight, number, s.range[1] - common, level)
    down = _reach(-away, weight, number, common - s.range[0], level)
    ends = np.array([common + up[0] - down[1], common + up[1] - down[0]])
    if not differ and not np.isfinite(ends).all():
        return Bounds(np.nan, np.nan, "no interval: all users have the same value, and the metric has no upper bound")
    ends = np.where(np.isfinite(ends), ends, (low, high))
    who = f"only {differ} of {len(values):,} users {'has' if differ == 1 else 'have'} a different value"
    note = f"{who if differ else 'all users have the same value'}; the interval allows for users not observed"
    return Bounds(float(np.fmin(low, ends[0])), float(np.fmax(high, ends[1])), f"{note} (Clopper–Pearson)")


def _reach(away: np.ndarray, weight: np.ndarray, number: float, furthest: float, level: float) -> tuple[float, float]:
    """How far users above the common value lift the mean: at least and at most."""
    above = away > 0
    least, most = clopper_pearson(float(weight[above].sum() / weight.sum()) * number, number, tail=(1 - level) / 2)
    if not above.any():
        return 0.0, most * furthest if furthest > 0 else 0.0
    mean = float(np.average(away[above], weights=weight[above]))
    return least * mean, most * mean
