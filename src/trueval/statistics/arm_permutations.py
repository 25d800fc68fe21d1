"""Two samples of unequal size: differences in standard errors, with users put into either sample by chance.

Where values are skewed, so is the mean of the smaller sample, and Student's t errs too often on one side; in samples of
the same size the skewness cancels. The permutation test of a difference in standard errors is exact where the samples
come from one distribution, whatever it is, and right for many users where only the means are equal (Chung & Romano
2013).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trueval.kernels import blocks
from trueval.kernels.seeds import derive

_MOST_DRAWN = 10_000_000  # users in all permutations together: a second or two
_FEWEST = 999  # permutations


class Permuted(NamedTuple):
    """Differences of permuted samples in standard errors, ascending; where a sample has none, it is infinitely far."""

    drawn: np.ndarray

    def p(self, t: float) -> float:
        """Twice the share of permutations that are as far on the same side, never 0.

        >>> Permuted(np.array([-2.0, -1.0, 0.0, 1.0])).p(1.5)
        0.4
        """
        n = len(self.drawn)
        above = n - int(np.searchsorted(self.drawn, t - 1e-9 * abs(t), "left"))
        below = int(np.searchsorted(self.drawn, t + 1e-9 * abs(t), "right"))
        return min(1.0, 2 * (1 + min(above, below)) / (1 + n))

    def reach(self, level: float) -> tuple[float, float]:
        """Between which differences p is not below 1 - level, in standard errors; infinite where it never is."""
        most = math.ceil((1 - level) * (1 + len(self.drawn)) / 2 - 1) - 1  # so many may be as far, or fewer
        if most < 0:
            return -math.inf, math.inf
        return float(self.drawn[most]), float(self.drawn[-1 - most])


def permuted(above: np.ndarray, below: np.ndarray | None, few: int, *, resamples: int, seed: int) -> Permuted:
    """A sample of `few` users minus all others, for users who are put into it by chance.

    Of means, or of ratios of sums where there are denominators, `below`, in standard errors of the delta method.

    >>> values = np.concatenate([np.zeros(60), np.ones(40)])
    >>> found = permuted(values, None, 10, resamples=999, seed=0)
    >>> len(found.drawn), bool(abs(np.median(found.drawn)) < 0.5)
    (999, True)
    """
    order = np.lexsort((above,) if below is None else (below, above))  # draws depend on what users did, not on rows
    above = above[order]
    if below is None:
        above = above - above.mean()  # this changes no difference of means, and squares stay small
        table = np.stack([above, above**2])
    else:
        below = below[order]
        table = np.stack([above, below, above**2, above * below, below**2])
    users, whole = len(above), table.sum(axis=1)
    rounds = min(resamples, max(_FEWEST, _MOST_DRAWN // few))
    rng = np.random.default_rng(int(derive(seed, "arms")))
    drawn = np.empty(rounds)
    for part in blocks(rounds, max(1, 1_000_000 // few)):
        who = _subsets(rng, users, few, part.stop - part.start)
        sums = np.stack([column[who].sum(axis=1) for column in table])
        sides = _moments(sums, few), _moments(whole[:, None] - sums, users - few)
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn[part] = (sides[0][0] - sides[1][0]) / np.sqrt(sides[0][1] + sides[1][1])
    lost = np.isnan(drawn)
    drawn[lost] = np.where(np.arange(np.count_nonzero(lost)) % 2, np.inf, -np.inf)
    return Permuted(np.sort(drawn))


def _moments(sums: np.ndarray, users: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and their squared standard errors, from sums over users."""
    with np.errstate(invalid="ignore", divide="ignore"):
        if len(sums) == 2:
            mean = sums[0] / users
            return mean, np.maximum(sums[1] / users - mean**2, 0.0) / (users - 1)
        a, b, aa, ab, bb = sums
        value = a / b
        return value, np.maximum(aa - 2 * value * ab + value**2 * bb, 0.0) * users / (b**2 * (users - 1))


def _subsets(rng: np.random.Generator, users: int, few: int, rounds: int) -> np.ndarray:
    """So many different users in each row: whoever is drawn twice in a row is replaced until nobody is."""
    who = np.sort(rng.integers(0, users, size=(rounds, few)), axis=1)
    open_ = np.arange(rounds)
    while len(open_):
        rows = who[open_]
        twice = np.zeros(rows.shape, bool)
        twice[:, 1:] = rows[:, 1:] == rows[:, :-1]
        again = twice.any(axis=1)
        open_, rows, twice = open_[again], rows[again], twice[again]
        rows[twice] = rng.integers(0, users, size=int(np.count_nonzero(twice)))
        who[open_] = np.sort(rows, axis=1)
    return who


def skewness_of_difference(one: np.ndarray, other: np.ndarray, error: float) -> float:
    """Skewness of the difference of two means of independent samples, given what users add to either (centred on 0).

    >>> values = np.array([-1.0, -1, -1, 3])
    >>> skewness_of_difference(values, values, 1.0)
    0.0
    """
    thirds = [float((side**3).sum()) / len(side) ** 3 for side in (one, other)]
    return (thirds[0] - thirds[1]) / error**3 if error > 0 else 0.0
