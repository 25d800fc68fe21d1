"""Tests of paired differences: Student's t, Wilcoxon's signed ranks, the bootstrap-t (sign flips are elsewhere)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl

from trueval.errors import DefinitionError, suggest
from trueval.statistics.permutation_test import least_p
from trueval.statistics.student import t_p_value

TESTS = ("t", "wilcoxon", "permutation", "bootstrap")
TAILS = ("two-sided", "greater", "less")
EXACT_RANKS = 60  # up to so many differences, the distribution of the signed-rank sum is counted out


def check_test(test: str) -> None:
    """Refuse a test that does not exist."""
    if test not in TESTS:
        raise DefinitionError(f"unknown test {test!r}", do=suggest(test, TESTS))


def t_test(difference: float, error: float, free: float, tail: str = "two-sided") -> float:
    """p of a difference with its standard error and degrees of freedom; no difference at all gives 1.

    Without a spread there is no t: what is left are the signs of one value more than there are degrees of freedom.

    >>> round(t_test(0.002, 0.0058310, 4), 2)
    0.75
    >>> t_test(1.0, 0.0, 2)  # three equal values
    0.25
    """
    if error == 0:
        toward = difference > 0 if tail == "greater" else difference < 0 if tail == "less" else difference != 0
        return least_p(int(free) + 1, tail) if toward else 1.0
    return t_p_value(difference / error, freedom=free, tail=tail)


def signed_ranks(differences: np.ndarray, tail: str = "two-sided") -> float:
    """p of Wilcoxon's signed-rank test, zeros ranked and then dropped (Pratt).

    Given the sizes of the differences, each sign is a coin under the null hypothesis: up to 60 differences, the
    distribution of the rank sum is counted out, ties or not; beyond, it is close to normal with that variance.

    >>> signed_ranks(np.array([0.1, 0.2, 0.3, 0.4, 0.5]))  # 2 of 2^5 sign patterns are as extreme
    0.0625
    >>> signed_ranks(np.zeros(8))
    1.0
    """
    from scipy.special import ndtr

    ranks = pl.Series(np.abs(differences)).rank("average").to_numpy()
    kept = differences != 0
    ranks, positive = ranks[kept], differences[kept] > 0
    if not len(ranks):
        return 1.0
    if len(ranks) <= EXACT_RANKS:
        return _counted_out(ranks, positive, tail)
    z = (ranks[positive].sum() - ranks.sum() / 2) / np.sqrt((ranks**2).sum() / 4)
    return float(2 * ndtr(-abs(z))) if tail == "two-sided" else float(ndtr(-z if tail == "greater" else z))


def typical_shift(differences: np.ndarray, level: float) -> tuple[float, float, float]:
    """The Hodges–Lehmann estimate of the shift of those who differ, and its interval: the shifts that the signed-rank
    test does not reject.

    Differences of 0 stay where they are, with the lowest ranks, as in `signed_ranks`: the interval holds 0 exactly
    where its two-sided p is not below 1 - level. Without them, this is the median of the means of all pairs. Too few
    differences reject no shift: all three are undefined then.

    >>> estimate, low, high = typical_shift(np.array([0.1, 0.2, 0.3, 0.4, 0.5, 1.6]), 0.95)
    >>> round(estimate, 6), round(low, 6), round(high, 6)  # the median, the least and the largest of 21 means of pairs
    (0.35, 0.1, 1.6)
    """
    own = differences[differences != 0]
    undefined = float("nan"), float("nan"), float("nan")
    if not len(own) or not np.ptp(own) > 0 or not least_p(len(own)) < 1 - level:
        return undefined
    least, most = float(own.min()), float(own.max())

    def moved(shift: float) -> np.ndarray:
        return np.where(differences != 0, differences - shift, 0.0)

    def rejected(shift: float) -> bool:
        return signed_ranks(moved(shift)) < 1 - level

    # the middle of the shifts after which the ranks balance; of many, they lie so close that the first is as good
    first = _turn(lambda shift: rank_lean(moved(shift)) <= 0, least, most)
    last = first if len(own) > 1000 else _turn(lambda shift: rank_lean(moved(shift)) < 0, least, most)
    estimate = (first + last) / 2
    low = least if not rejected(least) else _turn(rejected, estimate, least)
    high = most if not rejected(most) else _turn(rejected, estimate, most)
    return (estimate, low, high) if rejected(0.0) != (low <= 0 <= high) else undefined


def _turn(condition: Callable[[float], bool], without: float, within: float) -> float:
    """Where a condition begins to hold on the way from one number to another, by bisection."""
    for _ in range(30):
        middle = (without + within) / 2
        without, within = (without, middle) if condition(middle) else (middle, within)
    return without


def rank_lean(differences: np.ndarray) -> float:
    """Which way the signed ranks lean: above 0 where the positive ones weigh more.

    >>> rank_lean(np.array([5.0, -1.0, -2.0, -3.0, -4.0])), rank_lean(np.array([5.0, -1.0]))
    (-5.0, 1.0)
    """
    ranks = pl.Series(np.abs(differences)).rank("average").to_numpy()
    return float((np.sign(differences) * ranks).sum())


def _counted_out(ranks: np.ndarray, positive: np.ndarray, tail: str) -> float:
    """Exact p: how many sign patterns give each rank sum. Ranks are halves at worst, so twice them are whole."""
    whole = np.rint(2 * ranks).astype(np.int64)
    chance = np.ones(1)
    for rank in whole:
        wider = np.zeros(len(chance) + rank)
        wider[: len(chance)] = chance / 2
        wider[rank:] += chance / 2
        chance = wider
    seen = int(whole[positive].sum())
    above, below = float(chance[seen:].sum()), float(chance[: seen + 1].sum())
    p = {"greater": above, "less": below, "two-sided": 2 * min(above, below)}[tail]
    return min(p, 1.0)


class Studentised(NamedTuple):
    """The bootstrap-t: a difference in standard errors, and the same of resamples around it (undefined: infinite)."""

    seen: float
    drawn: np.ndarray

    @property
    def slack(self) -> float:
        """Equal but for rounding counts as equal."""
        return 1e-9 * (1 + abs(self.seen))

    def p(self, tail: str = "two-sided") -> float:
        """How often resamples stray as far from the difference as it is away from zero, never 0.

        >>> Studentised(2.0, np.array([-2.5, -0.4, 0.3, 1.1, 3.0])).p()
        0.5
        """
        far = np.count_nonzero(np.abs(self.drawn) >= abs(self.seen) - self.slack)
        both = float((1 + far) / (1 + len(self.drawn)))
        if tail == "two-sided":
            return both
        # one side alone of few sparse differences strays less than it should: half of both sides holds its size
        toward = self.seen > 0 if tail == "greater" else self.seen < 0
        return both / 2 if toward else 1 - both / 2

    def reach(self, level: float) -> float:
        """Standard errors to each side that leave out zero exactly where the two-sided p is below 1 - level.

        >>> drawn = np.array([-2.5, -0.4, 0.3, 1.1, 3.0])
        >>> round(Studentised(2.0, drawn).reach(0.6), 6), Studentised(2.51, drawn).p() < 1 - 0.6
        (2.5, True)
        """
        beyond = int(np.ceil((1 - level) * (1 + len(self.drawn)))) - 1  # at p below 1 - level, fewer than so many
        return float(np.sort(np.abs(self.drawn))[-beyond]) + self.slack if beyond > 0 else float("inf")


def studentised(differences: np.ndarray, sums: np.ndarray) -> Studentised:
    """The bootstrap-t of a mean, from what resamples hold: sums of differences from the mean, of their squares, and
    how many there are, a row for each resample.

    A resample without a spread counts as infinitely far away: it cannot tell how far it is.
    """
    mean, spread, n = differences.mean(), differences.std(), len(differences)
    total, squares, many = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = total / many
        variance = squares / many - middle**2
        drawn = middle * np.sqrt(many / variance)
    drawn[~(variance > 1e-12 * spread**2)] = np.inf
    return Studentised(float(mean * np.sqrt(n) / spread), drawn)
