"""The sign-flip test, exact for few differences, and the least p that so many units can give.

Where nothing differs, each user's two values could change places, so that every sign is a coin, whatever the sizes
of the differences. With few users all patterns of signs are gone through. No normal distribution is assumed, and no
spread needed: three users who all gain the same give p = 2 / 2³, not 0.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

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
    busy = np.count_nonzero(differences, axis=0)
    p = np.array([exact_p(own, tail) if m <= FEW else 1.0 for own, tail, m in zip(differences.T, tails, busy)])
    drawn = np.flatnonzero(busy > FEW)
    if len(drawn):
        columns = differences[:, drawn]
        columns = columns[columns.any(axis=1)]
        counts = np.zeros(len(drawn))
        for flipped in _flipped_sums(columns, seed=seed, resamples=resamples):
            counts += [_extreme(flipped[:, j], columns[:, j], tails[c]) for j, c in enumerate(drawn)]
        p[drawn] = (1 + counts) / (1 + resamples)
    return p


def _flipped_sums(columns: np.ndarray, *, seed: int, resamples: int) -> Iterator[np.ndarray]:
    """Sums of each column with random signs, in blocks of draws: a coin per user, eight of them in a byte."""
    users = len(columns)
    rng = np.random.default_rng(int(derive(seed, "sign flips")))
    total = columns.sum(axis=0)
    for part in blocks(resamples, max(1, 4_000_000 // users)):
        coins = rng.integers(0, 256, size=(part.stop - part.start, -(-users // 8)), dtype=np.uint8)
        yield total - 2 * (np.unpackbits(coins, axis=1, count=users).astype(np.float64) @ columns)


def _extreme(flipped: np.ndarray, own: np.ndarray, tail: str) -> int:
    """How many flipped sums are as extreme as the one seen; equal but for rounding counts as equal."""
    seen, slack = own.sum(), 1e-12 * np.abs(own).sum()
    if tail == "two-sided":
        return int(np.count_nonzero(np.abs(flipped) >= abs(seen) - slack))
    return int(np.count_nonzero(flipped >= seen - slack if tail == "greater" else flipped <= seen + slack))


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
