"""Users drawn with replacement, arm by arm: quantiles and ratios of sums in the resamples.

Where possible the result of drawing users is drawn, from its exact distribution, and not the users. The j-th smallest
of n draws is the value at place ceil(n·U) for U the j-th smallest of n uniform numbers, which is a beta variable.
A ratio of sums depends on how often each distinct pair (numerator, denominator) is drawn, which is multinomial;
where most pairs differ, users are drawn one by one, many users in random groups.
"""

from __future__ import annotations

import numpy as np

from trueval.kernels import blocks
from trueval.kernels.seeds import derive
from trueval.statistics.resampling import MOST_GROUPS, random_groups

RESAMPLES = 10_000
_DEAR = 16  # a binomial number, of which each pair needs one, costs as much as drawing so many users


def quantile_draws(ordered: np.ndarray, q: float, *, resamples: int = RESAMPLES, seed: int = 0) -> np.ndarray:
    """The q quantile (linear between neighbours) of resamples of a sorted sample.

    >>> draws = quantile_draws(np.arange(100.0), 0.5)
    >>> len(draws), bool(45 < draws.mean() < 54)
    (10000, True)
    """
    rng = np.random.default_rng(int(derive(seed, "quantile")))
    n = len(ordered)
    at = q * (n - 1)
    left, share = int(at), at - int(at)
    low = rng.beta(left + 1, n - left, size=resamples)
    values = _at(ordered, low)
    if share:  # the next one is the smallest of the n - left - 1 uniform numbers that lie above
        high = low + (1 - low) * rng.beta(1, n - left - 1, size=resamples)
        values = values + share * (_at(ordered, high) - values)
    return values


def _at(ordered: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    n = len(ordered)
    return ordered[np.clip(np.ceil(n * uniform).astype(np.int64) - 1, 0, n - 1)]


def ratio_draws(above: np.ndarray, below: np.ndarray, *, resamples: int = RESAMPLES, seed: int = 0) -> np.ndarray:
    """Sum of numerators over sum of denominators in resamples of users; NaN where the latter is 0.

    >>> draws = ratio_draws(np.array([1.0, 0.0, 2.0]), np.array([2.0, 2.0, 4.0]), resamples=500)
    >>> bool(draws.min() == 0 and draws.max() == 0.5)
    True
    """
    rng = np.random.default_rng(int(derive(seed, "ratio")))
    order = np.lexsort((below, above))  # draws then depend on what users did, not on the order of rows
    above, below = above[order], below[order]
    first = np.flatnonzero(np.concatenate([[True], (np.diff(above) != 0) | (np.diff(below) != 0)]))
    count = np.diff(np.append(first, len(above)))
    many = len(above) > _DEAR * len(first) and len(first) <= MOST_GROUPS
    if many:
        above, below = above[first], below[first]
    elif len(above) > MOST_GROUPS:
        group = random_groups(len(above), rng)
        above, below = (np.bincount(group, side, minlength=MOST_GROUPS) for side in (above, below))
    drawn, n = np.empty(resamples), len(above)
    for part in blocks(resamples, max(1, 1_000_000 // n)):
        size = part.stop - part.start
        if many:
            times = rng.multinomial(count.sum(), count / count.sum(), size=size)
            sums = times @ above, times @ below
        else:
            who = rng.integers(0, n, size=(size, n))
            sums = above[who].sum(axis=1), below[who].sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn[part] = np.where(sums[1] > 0, sums[0] / sums[1], np.nan)
    return drawn
