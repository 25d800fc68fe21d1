"""The sign-flip test, exact for few differences, and the least p that so many units can give.

Where nothing differs, each user's two values could change places, so that every sign is a coin, whatever the sizes
of the differences. With few users all patterns of signs are gone through. No normal distribution is assumed, and no
spread needed: three users who all gain the same give p = 2 / 2³, not 0.
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np

from trueval.kernels import blocks
from trueval.kernels.seeds import derive

FEW = 12  # up to so many differences, every pattern of signs is gone through


def least_p(units: int, tail: str = "two-sided") -> float:
    """The smallest p that so many units give if their signs are coins: all of them on one side.

    >>> least_p(3), least_p(3, "greater"), least_p(5), least_p(6)
    (0.25, 0.125, 0.0625, 0.03125)
    """
    coins = units - 1 if tail == "two-sided" else units
    return min(1.0, max(math.ldexp(1.0, -coins), sys.float_info.min))


def exact_p(differences: np.ndarray, tail: str = "two-sided") -> float:
    """p of the sign-flip test of the mean: of at most `FEW` differences that are not 0, or of all the same.

    >>> exact_p(np.array([1.0, 1.0, 1.0])), exact_p(np.ones(3), "less"), exact_p(np.zeros(3))
    (0.25, 1.0, 1.0)
    """
    own = differences[differences != 0]
    if not len(own):
        return 1.0
    if len(own) > FEW:  # all the same: nothing but the pattern seen, and its mirror image, is as extreme
        toward = {"two-sided": True, "greater": own[0] > 0, "less": own[0] < 0}[tail]
        return least_p(len(own), tail) if toward else 1.0
    sums, _ = _subsets(own)
    slack = 1e-12 * np.abs(own).sum()  # equal but for rounding counts as equal
    above, below = np.mean(sums <= slack), np.mean(sums >= -slack)
    p = {"greater": above, "less": below, "two-sided": 2 * min(above, below)}[tail]
    return float(min(p, 1.0))


def sign_flips(differences: np.ndarray, tails: list[str], *, seed: int, resamples: int = 10_000) -> np.ndarray:
    """p of the sign-flip permutation test for each column (one row per user, 0 where a user has no part).

    Under the null hypothesis each user's two values could change places. All sign patterns of few differences are
    gone through; of more, `resamples` are drawn, and (1 + b) / (1 + B) is p, so that it is never 0. Columns share
    their draws.

    >>> float(sign_flips(np.array([[0.1], [0.2], [0.3]]), ["two-sided"], seed=0)[0])  # 2 of 8 patterns
    0.25
    """
    everyone = np.ones(differences.shape, bool)
    tests = sign_flip_tests(differences, everyone, tails, level=None, seed=seed, resamples=resamples)
    return np.array([test.p for test in tests])


class SignFlipTest(NamedTuple):
    """p of a sign-flip test, and the interval of the means that it does not reject."""

    p: float
    low: float = math.nan
    high: float = math.nan


def sign_flip_tests(
    differences: np.ndarray, members: np.ndarray, tails: list[str], *, level: float | None, seed: int,
    resamples: int = 10_000,
) -> list[SignFlipTest]:  # fmt: skip
    """`sign_flips` with intervals; `members` tells which users have a part in a column.

    A test on one side has an interval that is open on the other. An interval holds 0 exactly where p is not below
    1 - level. Few differences have an exact interval (`exact_interval`). Without a level there are no intervals.

    >>> gains = np.repeat([0.3, -0.1], [12, 8])[:, None]
    >>> p, low, high = sign_flip_tests(gains, gains != 0, ["two-sided"], level=0.95, seed=0)[0]
    >>> p < 0.01, round(low, 2), round(high, 2)  # around .14
    (True, 0.05, 0.23)
    """
    tests = []
    for own, there, tail in zip(differences.T, members.T, tails):
        ends = () if level is None else one_sided(exact_interval(own[there], both_sides(level, tail)), tail)
        tests.append(SignFlipTest(exact_p(own, tail), *ends))
    many, flipped = _flip(differences, members, seed=seed, resamples=resamples)
    for own, column in zip(flipped, many):
        ends = () if level is None else own.interval(level, tails[column])
        tests[column] = SignFlipTest(own.p(0.0, tails[column]), *ends)
    return tests


def both_sides(level: float, tail: str) -> float:
    """The level of a two-sided interval of which one end bounds at `level` what is tested on one side."""
    return level if tail == "two-sided" else 2 * level - 1


def one_sided(ends: tuple[float, float], tail: str) -> tuple[float, float]:
    """The end of an interval that belongs to a test on one side; the other end is open.

    >>> one_sided((0.1, 0.3), "greater"), one_sided((0.1, 0.3), "two-sided")
    ((0.1, inf), (0.1, 0.3))
    """
    low, high = ends
    if tail == "two-sided" or math.isnan(low):
        return low, high
    return (low, math.inf) if tail == "greater" else (-math.inf, high)


class _Flipped(NamedTuple):
    """Sums of users' differences with random signs, and the sums of these signs: what a shift is multiplied by."""

    own: np.ndarray
    members: int
    sums: np.ndarray
    signs: np.ndarray

    def p(self, shift: float, tail: str) -> float:
        """p of the differences from a shift; equal but for rounding counts as equal."""
        flipped, seen = self.sums - shift * self.signs, self.own.sum() - shift * self.members
        slack = 1e-12 * (np.abs(self.own).sum() + abs(shift) * self.members)
        if tail == "two-sided":
            extreme = np.abs(flipped) >= abs(seen) - slack
        else:
            extreme = flipped >= seen - slack if tail == "greater" else flipped <= seen + slack
        return float((1 + np.count_nonzero(extreme)) / (1 + len(flipped)))

    def interval(self, level: float, tail: str) -> tuple[float, float]:
        """The shifts that are not rejected, from the mean outwards."""
        if not 1 / (1 + len(self.sums)) < 1 - level:
            return math.nan, math.nan
        mean = float(self.own.sum() / self.members)
        low = -math.inf if tail == "less" else self._end(mean, -1, level, tail)
        high = math.inf if tail == "greater" else self._end(mean, 1, level, tail)
        return low, high

    def _end(self, mean: float, side: int, level: float, tail: str) -> float:
        """The last shift on one side that is not rejected, by bisection: first of the distance to zero, if zero is on
        this side, so that the interval holds it exactly where the test does not reject it."""

        def rejected(shift: float) -> bool:
            return self.p(shift, tail) < 1 - level

        inside, step = mean, float(np.sqrt((self.own**2).sum())) / self.members
        outside = 0.0 if mean * side < 0 and rejected(0.0) else mean + side * step
        while not rejected(outside):
            inside, step = outside, 2 * step
            outside = mean + side * step
        for _ in range(50):
            middle = (inside + outside) / 2
            inside, outside = (inside, middle) if rejected(middle) else (middle, outside)
        return inside


def _flip(
    differences: np.ndarray, members: np.ndarray, *, seed: int, resamples: int
) -> tuple[np.ndarray, list[_Flipped]]:
    """The columns with many differences, and their sums under random signs: a coin per user, eight of them in a byte.

    Of users without a difference in any column, only the sum of their signs matters: it is drawn as one number.
    """
    many = np.flatnonzero(np.count_nonzero(differences, axis=0) > FEW)
    if not len(many):
        return many, []
    columns, there = differences[:, many], members[:, many]
    differ = columns.any(axis=1)
    alike = there[~differ].sum(axis=0)
    columns, there = columns[differ], there[differ].astype(np.float64)
    there = there[:, :1] if there.all() else there
    both, users = np.hstack([columns, there]), len(columns)
    rng = np.random.default_rng(int(derive(seed, "sign flips")))
    drawn = []
    for part in blocks(resamples, max(1, 4_000_000 // users)):
        coins = rng.integers(0, 256, size=(part.stop - part.start, -(-users // 8)), dtype=np.uint8)
        drawn.append(both.sum(axis=0) - 2 * (np.unpackbits(coins, axis=1, count=users).astype(np.float64) @ both))
    sums = np.concatenate(drawn)
    flipped = []
    for place, number in enumerate(alike.tolist()):
        rest = np.random.default_rng(int(derive(seed, "signs of users without a difference")))
        signs = sums[:, len(many) + min(place, there.shape[1] - 1)] + number - 2 * rest.binomial(number, 0.5, resamples)
        count = int(there[:, min(place, there.shape[1] - 1)].sum()) + number
        flipped.append(_Flipped(columns[:, place], count, sums[:, place], signs))
    return many, flipped


def exact_interval(differences: np.ndarray, level: float) -> tuple[float, float]:
    """The means that the same test does not refute at this level; undefined where it can refute none, and where all
    differences are the same: how they vary is not known then.

    With every difference shifted by μ, flipping a set of users makes the sum no smaller exactly where the mean of
    these users' differences is at most μ: the ends are means of subsets (Hartigan 1969). It holds 0 exactly where the
    two-sided p is not below 1 - level.

    >>> [round(end, 6) for end in exact_interval(np.array([1.0, 1, 1, 1, 1, 1, 0, 0]), 0.95)]  # p = 2 / 2⁶
    [0.333333, 1.0]
    >>> exact_interval(np.ones(5), 0.95)  # five users refute nothing at 0.05
    (nan, nan)
    """
    own = differences[differences != 0]
    if len(own) > FEW or not np.ptp(differences) > 0 or not least_p(len(differences)) < 1 - level:
        return math.nan, math.nan
    low, high = _lowest(own, len(differences) - len(own), level), -_lowest(-own, len(differences) - len(own), level)
    return low, high + 0.0  # no -0.0


def _subsets(own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum and size of every subset."""
    sums, sizes = np.zeros(1), np.zeros(1)
    for difference in own:
        sums, sizes = np.concatenate([sums, sums + difference]), np.concatenate([sizes, sizes + 1])
    return sums, sizes


def _lowest(own: np.ndarray, zeros: int, level: float) -> float:
    """The smallest mean that is not refuted as too low, by bisection.

    A random subset holds a binomial number of the users without a difference, who are too many to go through.
    """
    sums, sizes = _subsets(own)
    at_least = _at_least(zeros)
    slack = 1e-12 * np.abs(own).sum()

    def refuted(mean: float) -> bool:
        """Whether too few subsets have a mean of at most this."""
        if mean == 0:
            share = np.mean(sums <= slack)
        else:
            needed = sums / mean - sizes  # of users without a difference: so many or more, below 0 so many or fewer
            if mean > 0:
                share = at_least[np.clip(np.ceil(needed - 1e-12), 0, zeros + 1).astype(np.int64)].mean()
            else:
                share = 1 - at_least[np.clip(np.floor(needed + 1e-12), -1, zeros).astype(np.int64) + 1].mean()
        return bool(2 * share < 1 - level)

    below, above = (0.0, own.max(initial=0.0)) if refuted(0.0) else (own.min(initial=0.0), 0.0)
    if below < 0 and not refuted(below):
        return float(below)
    for _ in range(45):
        middle = (below + above) / 2
        below, above = (middle, above) if refuted(middle) else (below, middle)
    return float(above)


def _at_least(coins: int) -> np.ndarray:
    """Chance of so many heads or more: of 0, 1, …, one more than there are coins."""
    from scipy.special import gammaln

    heads = np.arange(coins + 1)
    chance = np.exp(gammaln(coins + 1) - gammaln(heads + 1) - gammaln(coins - heads + 1) - coins * math.log(2))
    return np.append(np.minimum(np.cumsum(chance[::-1])[::-1], 1.0), 0.0)
