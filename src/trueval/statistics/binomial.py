"""Shares of positives among few rows: intervals that hold where a bootstrap has nothing to draw from."""

from __future__ import annotations

import numpy as np

Z = 1.959963984540054  # 97.5 % point of the normal distribution


def wilson(share: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's 95 % interval of a share among n independent trials.

    >>> low, high = wilson(np.array([0.0]), np.array([10.0]))
    >>> low.tolist(), high.round(4).tolist()
    ([0.0], [0.2775])
    """
    z2 = Z**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = Z / (1 + z2 / n) * np.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return np.where(share <= 0, 0.0, np.maximum(middle - reach, 0)), np.where(
        share >= 1, 1.0, np.minimum(middle + reach, 1)
    )


def exact(share: np.ndarray, n: np.ndarray, *, alpha: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """The exact (Clopper-Pearson) interval of a share; n may be an effective size (Korn and Graubard 1998).

    >>> low, high = exact(np.array([0.0]), np.array([10.0]))
    >>> low.tolist(), high.round(4).tolist()  # 1 - 0.025 ** (1 / 10)
    ([0.0], [0.3085])
    """
    from scipy.special import betaincinv

    hits = share * n
    misses = n - hits
    low = betaincinv(np.maximum(hits, 1e-9), misses + 1, alpha / 2)
    high = betaincinv(hits + 1, np.maximum(misses, 1e-9), 1 - alpha / 2)
    return np.where(share <= 0, 0.0, low), np.where(share >= 1, 1.0, high)


def exact_p(share: np.ndarray, n: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Two-sided p-values of an expected share: twice the smaller exact tail, as `exact` has it.

    >>> exact_p(np.array([0.0, 0.5]), np.array([10.0, 10.0]), np.array([0.5, 0.5])).round(4).tolist()
    [0.002, 1.0]
    """
    from scipy.special import betainc

    hits = share * n
    misses = n - hits
    above = np.where(hits > 0, betainc(np.maximum(hits, 1e-9), misses + 1, expected), 1.0)  # P(as many or more)
    below = np.where(misses > 0, betainc(np.maximum(misses, 1e-9), hits + 1, 1 - expected), 1.0)
    return np.minimum(1.0, 2 * np.minimum(above, below))


def mean_distance(n: np.ndarray, p: np.ndarray) -> np.ndarray:
    """E|K/n - p| of K hits among n trials of chance p: 2 · P(K = k) · k/n · (1 - p), k the first whole number above np.

    De Moivre's formula, with the binomial coefficient continued to an n that is no whole number.

    >>> mean_distance(np.array([1.0, 2.0]), np.array([0.3, 0.5])).round(6).tolist()  # 2 · 0.3 · 0.7, and 1/4
    [0.42, 0.25]
    """
    from scipy.special import betaln, xlog1py, xlogy

    p = np.asarray(p, np.float64)
    k = np.minimum(np.floor(n * p) + 1, n)
    log_chance = -np.log(n + 1) - betaln(k + 1, n - k + 1) + xlogy(k, p) + xlog1py(n - k, -p)
    return np.where((p > 0) & (p < 1), 2 * k / n * (1 - p) * np.exp(log_chance), 0.0)


def drawn_shares(deviates: np.ndarray, n: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Shares of n trials of chance p at given standard normal deviates (one column for each p).

    Binomial quantiles; where the variance is beyond doubt large enough, the normal ones.

    >>> drawn_shares(np.array([[-3.0], [0.0], [3.0]]), np.array([4.0]), np.array([0.5])).ravel().tolist()
    [0.0, 0.5, 1.0]
    """
    from scipy.special import bdtr, ndtr

    n = np.maximum(1.0, np.floor(n + 1e-9))
    spread = np.sqrt(p * (1 - p) / n)
    found = np.clip(p + deviates * spread, 0, 1)
    for column in np.flatnonzero(n * n * spread**2 < _NORMAL):
        size, middle, reach = n[column], n[column] * p[column], 9 * n[column] * spread[column] + 9
        hits = np.arange(max(0.0, np.floor(middle - reach)), min(size, np.ceil(middle + reach)) + 1)
        below = bdtr(hits, int(size), p[column])
        at = np.searchsorted(below, ndtr(deviates[:, column]))
        found[:, column] = hits[np.minimum(at, len(hits) - 1)] / size
    return found


_NORMAL = 25.0  # variance of the number of hits from which on the normal quantile serves
