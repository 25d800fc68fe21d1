"""Shares of few trials: intervals that hold where a bootstrap has nothing to draw from, exact tails, draws."""

from __future__ import annotations

import math
from typing import overload

import numpy as np

from trueval.statistics.student import normal_quantile

_FEW = 10  # successes of which the exact interval is found without SciPy


def wilson_interval(
    share: np.ndarray | float, n: np.ndarray | float, *, level: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's interval of a share among n independent trials.

    >>> low, high = wilson_interval(np.array([0.0, 0.3]), np.array([10.0, 20.0]))
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.1455], [0.2775, 0.519])
    """
    share, n = np.asarray(share, np.float64), np.asarray(n, np.float64)
    z = normal_quantile(level)
    z2 = z**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = z / (1 + z2 / n) * np.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return np.where(share <= 0, 0.0, np.maximum(middle - reach, 0)), np.where(
        share >= 1, 1.0, np.minimum(middle + reach, 1)
    )


@overload
def clopper_pearson(successes: float, trials: float, *, tail: float) -> tuple[float, float]: ...
@overload
def clopper_pearson(successes: np.ndarray, trials: np.ndarray, *, tail: float) -> tuple[np.ndarray, np.ndarray]: ...
def clopper_pearson(
    successes: float | np.ndarray, trials: float | np.ndarray, *, tail: float
) -> tuple[float, float] | tuple[np.ndarray, np.ndarray]:
    """The exact interval of a share, or of many; `tail` is the chance left out at either end.

    Trials may be an effective number, successes their share of it (Korn and Graubard 1998).

    >>> [round(end, 4) for end in clopper_pearson(6, 20, tail=0.025)]
    [0.1189, 0.5428]
    >>> [end.round(4).tolist() for end in clopper_pearson(np.array([0.0, 10.0]), np.array([10.0, 10.0]), tail=0.025)]
    [[0.0, 0.6915], [0.3085, 1.0]]
    """
    if not isinstance(successes, np.ndarray) and not isinstance(trials, np.ndarray):
        if successes == 0:
            return 0.0, 1 - tail ** (1 / trials)
        if successes <= _FEW and successes == int(successes) and trials == int(trials):
            return _solved(int(successes) - 1, int(trials), 1 - tail), _solved(int(successes), int(trials), tail)
        low, high = clopper_pearson(np.array([successes]), np.array([trials]), tail=tail)
        return float(low[0]), float(high[0])
    from scipy.special import betaincinv

    misses = trials - successes
    lows = betaincinv(np.maximum(successes, 1e-9), misses + 1, tail)
    highs = betaincinv(successes + 1, np.maximum(misses, 1e-9), 1 - tail)
    return np.where(successes <= 0, 0.0, lows), np.where(misses <= 0, 1.0, highs)


def _solved(most: int, trials: int, chance: float) -> float:
    """The share with which at most so many successes have this chance. SciPy would take longer to load."""
    if most >= trials:
        return 1.0
    ways = [math.log(math.comb(trials, number)) for number in range(most + 1)]
    low, high = 0.0, 1.0
    while (share := (low + high) / 2) not in (low, high):
        lost = math.log1p(-share)
        terms = (math.exp(way + k * math.log(share) + (trials - k) * lost) for k, way in enumerate(ways))
        low, high = (share, high) if sum(terms) > chance else (low, share)
    return high


def binomial_tails(
    successes: np.ndarray, trials: np.ndarray, chance: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """Chances of at most and of at least so many successes; neither number need be whole.

    >>> [side.round(4).tolist() for side in binomial_tails(np.array([0.0, 5.0]), np.array([10.0, 10.0]), 0.5)]
    [[0.001, 0.623], [1.0, 0.623]]
    """
    from scipy.special import betainc

    misses = trials - successes
    at_least = np.where(successes > 0, betainc(np.maximum(successes, 1e-9), misses + 1, chance), 1.0)
    at_most = np.where(misses > 0, betainc(np.maximum(misses, 1e-9), successes + 1, 1 - chance), 1.0)
    return at_most, at_least


def binomial_p(successes: np.ndarray, trials: np.ndarray, chance: np.ndarray | float) -> np.ndarray:
    """Two-sided p-values of an expected chance: twice the smaller exact tail, as `clopper_pearson` has it.

    >>> binomial_p(np.array([0.0, 5.0]), np.array([10.0, 10.0]), 0.5).round(4).tolist()
    [0.002, 1.0]
    """
    return np.minimum(1.0, 2 * np.minimum(*binomial_tails(successes, trials, chance)))


def coins_at_least(chances: np.ndarray, successes: int) -> float:
    """Chance of at least so many successes in independent trials, each with a chance of its own.

    >>> round(coins_at_least(np.full(20, 0.4), 17), 9)  # binomial where the chances are equal
    4.7345e-05
    >>> round(coins_at_least(np.array([0.5, 0.2]), 1), 3)  # 1 - 0.5 * 0.8
    0.6
    """
    if successes <= 0:
        return 1.0
    number = np.ones(1)
    for chance in np.sort(chances):
        number = np.append(number * (1 - chance), 0.0) + np.append(0.0, number * chance)
    return float(min(1.0, number[successes:].sum()))


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
