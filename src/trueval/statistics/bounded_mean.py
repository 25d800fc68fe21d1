"""Tests of the mean of values that have bounds, for users of whom a rare few may be very different.

A sample that holds none of the rare users tells nothing about them: its values lie close together, and Student's t is
sure of a mean that is not theirs. What is known is only that no value lies below the worst one possible. So the sample
is taken with one user more, who has that worst value, and everybody gets a random weight, as long as chance would have
it (weights ~ Dirichlet(1, …, 1)). p is the chance that the weighted mean is not above 0 (Gaffke 2005; as a confidence
bound Learned-Miller & Thomas 2019). Of values that are all 0 or 1 it is the exact test of Clopper and Pearson; for ones
and minus ones it is the sign test; for many users it becomes Student's t, for the one user more is lost among them.
No distribution with these bounds is known for which it errs more often than it says; a proof is missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trueval.statistics.student import normal_quantile

_BINS = 4096  # more values than these are put together with their neighbours; their means and numbers stay
_STEP = 0.05  # of the integral, in arsinh of standard deviations: p above 1e-9 is then exact to one part in 10⁵
_MOST_USERS = 1e12  # a number of users beyond this one helps nobody


@dataclass(frozen=True)
class BoundedMean:
    """Values of users, none of which could be below `worst` or above `best`; they are tested against 0."""

    values: np.ndarray
    worst: float
    best: float

    def p_above(self) -> float:
        """p of "the mean is at most 0": small where it is shown to be above.

        >>> zeros = BoundedMean(np.full(59, 0.05), worst=-0.95, best=1.05)  # nobody of 59 lost 1, the margin is .05
        >>> round(zeros.p_above(), 4), round(0.95**59, 4)
        (0.0485, 0.0485)
        """
        return self._p(0.0)

    def p_below(self) -> float:
        """p of "the mean is at least 0": small where it is shown to be below."""
        return self.mirrored.p_above()

    def low(self, alpha: float) -> float:
        """The lowest mean that is not refuted: where it is above 0, `p_above` is below alpha.

        >>> hits = BoundedMean(np.array([1.0] * 6), worst=0.0, best=1.0)
        >>> round(hits.low(0.05), 6), round(0.05 ** (1 / 6), 6)  # the bound of Clopper and Pearson
        (0.606962, 0.606962)
        """
        return self._bound(alpha)

    def high(self, alpha: float) -> float:
        """The highest mean that is not refuted."""
        return -self.mirrored.low(alpha)

    @property
    def mirrored(self) -> BoundedMean:
        """The same with signs turned."""
        return BoundedMean(-self.values, -self.best, -self.worst)

    def users_needed(self, mean: float, alpha: float, power: float) -> float:
        """Users like these with whom a true mean above 0 is shown with this power; infinite beyond 10¹².

        >>> BoundedMean(np.full(20, 0.3), worst=-1.0, best=1.0).users_needed(0.1, 0.05, 0.8)  # nobody loses: 0.05 = x^n
        32.0
        """
        lost = normal_quantile(2 * power - 1) * float(self.values.std())
        away = float(self.values.mean()) - mean

        def shown(users: float) -> bool:
            """Whether so many users show it, though their mean is lower than the true one by bad luck."""
            values, counts = self._binned
            moved = values - away - lost / math.sqrt(users)
            counted = np.append(counts * (users / len(self.values)), 1.0)
            return below_zero(np.append(moved, min(self.worst, float(moved[0]))), counted) < alpha

        high = 2.0
        while not shown(high):
            high *= 2
            if high > _MOST_USERS:
                return math.inf
        low = high / 2
        while high - low > max(1.0, 1e-3 * high):
            middle = math.floor((low + high) / 2)
            low, high = (low, middle) if shown(middle) else (middle, high)
        return math.ceil(high) + 0.0

    @cached_property
    def _binned(self) -> tuple[np.ndarray, np.ndarray]:
        """Different values and how many users have them."""
        values = np.sort(self.values)
        if len(values) <= _BINS or not values[0] < values[-1]:
            return np.unique(values, return_counts=True)
        place = np.floor((values - values[0]) * (_BINS / (values[-1] - values[0]))).astype(np.int64)
        counts = np.bincount(place)
        some = counts > 0
        return np.bincount(place, values)[some] / counts[some], counts[some]

    def _p(self, mean: float) -> float:
        """p of "the mean is at most this"."""
        values, counts = self._binned
        worst = min(self.worst, float(values[0]))
        return below_zero(np.append(values, worst) - mean, np.append(counts, 1.0))

    def _bound(self, alpha: float) -> float:
        """Where p is alpha: on the scale of normal quantiles p is nearly linear, and Newton's steps are few."""
        from scipy.special import ndtri

        values, counts = self._binned
        worst = min(self.worst, float(values[0]))
        n = float(counts.sum()) + 1
        middle = (float(values @ counts) + worst) / n
        spread = math.sqrt((float((values - middle) ** 2 @ counts) + (worst - middle) ** 2) / (n * (n + 1)))
        aim, below, above = float(ndtri(alpha)), worst, float(values[-1])
        if not spread > 0:
            return worst
        at = max(middle + aim * spread, (below + middle) / 2)
        for _ in range(100):
            off = float(ndtri(self._p(at))) - aim
            below, above = (at, above) if off < 0 else (below, at)
            if abs(off) < 1e-10 or above - below <= 1e-14 * (abs(above) + abs(below)):
                break
            step = at - off * spread
            at = step if below < step < above else (below + above) / 2
        return at


def below_zero(weights: np.ndarray, counts: np.ndarray) -> float:
    """P(Σ wᵢ Eᵢ <= 0) for independent exponential Eᵢ, each weight so many times: the share of Dirichlet weights for
    which the weighted mean is not above 0.

    The moment generating function of the sum, divided by its argument, is integrated along a line through its saddle
    point, where it falls off on both sides like a normal density.

    >>> round(below_zero(np.array([1.0, -1.0]), np.array([3.0, 1.0])), 12)  # E > a sum of three: 1 / 2³
    0.125
    """
    if weights.max() <= 0:
        return 1.0
    if weights.min() >= 0:
        return 0.0
    weights = weights / np.abs(weights).max()
    saddle = _saddle_point(weights, counts)
    spread = math.sqrt(float(counts @ (weights / (1 - saddle * weights)) ** 2))
    at = saddle
    if abs(at) * spread < 1:  # the pole at 0 must not lie close to the line
        at = max(-1 / spread, 0.5 / float(weights.min()))
    moved = weights / (1 - at * weights)
    spread = math.sqrt(float(counts @ moved**2))
    total, begin, block = 0.0, 0, 32
    while True:
        x = _STEP * np.arange(begin, begin + block)
        y = np.sinh(x) / spread
        turned = y[:, None] * moved
        size = np.exp(-0.5 * (np.log1p(turned**2) @ counts))
        angle = np.arctan(turned) @ counts
        # of exp(i · angle) / (at + i · y), the real part; and how y grows with x
        real = size * (at * np.cos(angle) + y * np.sin(angle)) / (at**2 + y**2) * np.cosh(x) / spread
        total += float(real.sum()) - (0.5 * float(real[0]) if begin == 0 else 0.0)
        begin += block
        if size[-1] < 1e-17 or begin > 100 * block:
            break
    share = math.exp(-float(counts @ np.log1p(-at * weights))) * total * _STEP / math.pi
    return min(1.0, max(0.0, -share if at < 0 else 1.0 - share))


def _saddle_point(weights: np.ndarray, counts: np.ndarray) -> float:
    """Where the logarithm of the moment generating function is smallest: Newton's steps within a bracket."""
    low, high, at = 1 / float(weights.min()), 1 / float(weights.max()), 0.0
    for _ in range(200):
        moved = weights / (1 - at * weights)
        slope, curve = float(counts @ moved), float(counts @ moved**2)
        low, high = (low, at) if slope > 0 else (at, high)
        if abs(slope) <= 1e-9 * math.sqrt(curve):
            break
        step = at - slope / curve
        at = step if low < step < high else (low + high) / 2
    return at
