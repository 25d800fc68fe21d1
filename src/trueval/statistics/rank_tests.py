"""Ranks given by judges who may tie and leave out: mean ranks, and whether all objects are ranked alike."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from typing import NamedTuple

import numpy as np

from trueval.kernels.seeds import derive
from trueval.statistics.resampling import in_one_order

MOST_PERMUTED = 1000  # judges: beyond, the chi-squared distribution is as good
_LISTED = 6  # objects of which all orders are listed, to draw from


class RankTest(NamedTuple):
    """A statistic that grows with the differences between mean ranks, its p, and what they rest on."""

    statistic: float
    freedom: int
    p: float
    judges: int  # those whose scores differ
    method: str


def middle_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1 for the smallest value of each row; equal values share the mean of their ranks, NaN has none.

    >>> middle_ranks(np.array([[3, 1, 1, np.nan], [2, 9, 5, 7]])).tolist()
    [[3.0, 1.5, 1.5, nan], [1.0, 4.0, 2.0, 3.0]]
    """
    below = (values[:, None, :] < values[:, :, None]).sum(axis=2)
    equal = (values[:, None, :] == values[:, :, None]).sum(axis=2)
    return np.where(np.isnan(values), np.nan, below + (equal + 1) / 2)


def rank_test(ranks: np.ndarray, *, seed: int, draws: int = 10_000) -> RankTest:
    """Friedman's test, for any ties and any objects left out: one row per judge, NaN where an object has no rank.

    It is `score_test` of ranks, weighted such that those who rank more do not count for more: Friedman's statistic,
    corrected for ties, where nothing is left out; that of Skillings and Mack (1981) where nothing is tied.

    >>> agreed = np.array([[1.0, 2, 3]] * 8)
    >>> test = rank_test(agreed, seed=0)
    >>> test.statistic, test.freedom, test.p < 0.001
    (16.0, 2, True)
    """
    own = middle_ranks(ranks)
    return score_test(own * np.sqrt(12 / ((~np.isnan(own)).sum(axis=1) + 1))[:, None], seed=seed, draws=draws)


def score_test(scores: np.ndarray, *, seed: int, draws: int = 10_000, fitted: int = 0) -> RankTest:
    """Whether some columns are scored higher than others: one row per judge, NaN where there is no score.

    Under the null hypothesis every judge's scores could stand in any order. The sums T over judges of scores, less
    each judge's mean, have a known covariance V then, and Q = T' V⁺ T is the statistic. Its p is counted over `draws`
    random orders of every judge's scores; with many judges, it is that of chi-squared.

    `fitted` are the means that were taken out of the scores before. What is left varies less than what was scored, by
    their share in all differences within judges, and with it V, but not T where columns are balanced: Q is made
    smaller by that share.

    >>> test = score_test(np.array([[5.0, 1.0], [4.0, 2.0], [np.nan, 3.0]]), seed=0)
    >>> round(test.statistic, 6), test.judges  # T = (3, -3), V = (8 + 2) (I - J / 2)
    (1.8, 2)
    """
    centred, known, judges = _centred(scores)
    inverse, freedom = _inverse_covariance(centred, known)
    if not freedom:
        return RankTest(float("nan"), 0, float("nan"), judges, "no differences to test")
    total = centred.sum(axis=0)
    within = int((known.sum(axis=1) - 1).sum())
    seen = float(total @ inverse @ total) * max(0.0, 1 - fitted / within)
    if len(centred) > MOST_PERMUTED:
        from scipy.special import chdtrc

        return RankTest(seen, freedom, float(chdtrc(freedom, seen)), len(centred), "chi-squared")
    drawn = permuted_sums(centred, known, seed=seed, draws=draws)
    at_least = int(np.count_nonzero(np.einsum("di,ij,dj->d", drawn, inverse, drawn) >= seen * (1 - 1e-9)))
    return RankTest(seen, freedom, (1 + at_least) / (1 + draws), len(centred), f"{draws:,} permutations")


def score_covariance(scores: np.ndarray) -> np.ndarray:
    """The covariance of the sums of columns if every judge's scores could stand in any order.

    >>> score_covariance(np.array([[5.0, 1.0], [4.0, 2.0], [np.nan, 3.0]])).tolist()
    [[5.0, -5.0], [-5.0, 5.0]]
    """
    centred, known, _ = _centred(scores)
    return _covariance(centred, known)


def _centred(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Scores less each judge's mean (0 where there is none) and where there are any, of judges whose scores differ."""
    scores = in_one_order(scores)
    known = ~np.isnan(scores)
    number = known.sum(axis=1)
    mean = np.nansum(scores, axis=1) / np.maximum(number, 1)
    centred = np.where(known, scores - mean[:, None], 0.0)
    told = (np.abs(centred) > 1e-12 * max(float(np.nanmax(np.abs(scores), initial=0.0)), 1e-300)).any(axis=1)
    return centred[told], known[told], int(told.sum())


def permuted_sums(scores: np.ndarray, known: np.ndarray, *, seed: int, draws: int) -> np.ndarray:
    """Column sums with the known scores of every row in a random order: a row per draw.

    >>> drawn = permuted_sums(np.array([[1.0, 2.0, 0.0]]), np.array([[True, True, False]]), seed=0, draws=50)
    >>> sorted(set(map(tuple, drawn.tolist())))
    [(1.0, 2.0, 0.0), (2.0, 1.0, 0.0)]
    """
    rng = np.random.default_rng(int(derive(seed, "permuted ranks")))
    total = np.zeros((draws, scores.shape[1]))
    for row, there in zip(scores, known):
        own = row[there]
        if len(own) <= _LISTED:
            every = own[_orders(len(own))]
            total[:, there] += every[rng.integers(0, len(every), draws)]
        else:
            total[:, there] += rng.permuted(np.tile(own, (draws, 1)), axis=1)
    return total


@cache
def _orders(number: int) -> np.ndarray:
    """All orders of so many objects, a row each."""
    return np.array(list(permutations(range(number))))


def _covariance(centred: np.ndarray, known: np.ndarray) -> np.ndarray:
    number = known.sum(axis=1)
    spread = (centred**2).sum(axis=1) / np.maximum(number - 1, 1)
    inside = known.astype(np.float64)
    return np.diag(spread @ inside) - (inside * (spread / np.maximum(number, 1))[:, None]).T @ inside


def _inverse_covariance(centred: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, int]:
    """The generalised inverse of the covariance of sums over random orders, and its rank."""
    covariance = _covariance(centred, known)
    freedom = int(np.linalg.matrix_rank(covariance, hermitian=True)) if len(centred) else 0
    return np.linalg.pinv(covariance, hermitian=True), freedom
