"""The shifted power law of popularity, |R(i_k)| = c1 + β (c2 + k)^(-α): made to a size, and fitted to counts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from trueval.errors import DefinitionError


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """Ratings of the k-th most popular item, k = 1, 2, …

    >>> PowerLaw(alpha=1.0, beta=12.0, c1=1.0, c2=2.0).expected(4).round(3).tolist()
    [5.0, 4.0, 3.4, 3.0]
    """

    alpha: float
    beta: float
    c1: float = 0.0
    c2: float = 0.0
    at_most: float = math.inf  # ratings of one item
    error: float = 0.0  # of a fit: root of the mean squared difference of logarithms

    def expected(self, items: int) -> np.ndarray:
        """The curve at the places 1 to `items`."""
        return np.minimum(self.c1 + self.beta * (self.c2 + np.arange(1.0, items + 1)) ** -self.alpha, self.at_most)

    def __str__(self) -> str:
        return f"{self.c1:.4g} + {self.beta:.4g} (k + {self.c2:.4g})^-{self.alpha:.3g}"


def curve_of_size(items: int, ratings: int, *, users: int, alpha: float, c1: float = 0.0, c2: float = 0.0) -> PowerLaw:
    """The curve with `ratings` in all: β is what makes the sum right, where no item has more ratings than users.

    >>> law = curve_of_size(10, 100, users=50, alpha=1.0, c2=1.0)
    >>> round(float(law.expected(10).sum()), 6), law.at_most
    (100.0, 50)
    >>> round(float(curve_of_size(10, 100, users=20, alpha=2.0).expected(10).max()), 6)
    20.0
    """
    if not 0 < ratings <= users * items:
        raise DefinitionError(
            "there cannot be so many ratings", found=f"{ratings:,} of {users:,} users and {items:,} items",
            do=f"ask for 1 to {users * items:,} ratings",
        )  # fmt: skip
    if c1 < 0 or c1 * items > ratings:
        found = f"c1 = {c1:g}, {ratings:,} ratings, {items:,} items"
        raise DefinitionError("c1 must lie between 0 and the ratings per item", found=found, do="give a smaller c1")
    low, high = 0.0, users * (c2 + items) ** alpha
    shape = PowerLaw(alpha, 1.0, 0.0, c2).expected(items)
    for _ in range(200):
        beta = (low + high) / 2
        less = np.minimum(c1 + beta * shape, users).sum() < ratings
        low, high = (beta, high) if less else (low, beta)
    return PowerLaw(alpha, float(high), c1, c2, at_most=users)


def whole_counts(expected: np.ndarray) -> np.ndarray:
    """Whole numbers near the expected ones, with the same (rounded) sum: the largest remainders are rounded up.

    >>> whole_counts(np.array([2.6, 1.7, 0.7])).tolist()
    [2, 2, 1]
    """
    down = np.floor(expected + 1e-9)
    more = round(float(expected.sum() - down.sum()))
    order = np.lexsort((np.arange(len(expected)), -(expected - down)))
    down[order[:more]] += 1
    return down.astype(np.int64)


def fit_power_law(counts: np.ndarray) -> PowerLaw:
    """The shifted power law nearest to counts of ratings per item, by least squares of logarithms.

    Places are weighted so that each factor of ten of them counts the same: the tail does not outvote the head.

    >>> law = fit_power_law(PowerLaw(alpha=1.4, beta=90_000, c1=2, c2=30).expected(3000))
    >>> round(law.alpha, 2), round(law.c1, 1), round(law.c2)
    (1.4, 2.0, 30)
    """
    from scipy.optimize import least_squares

    ordered = np.sort(np.asarray(counts, float)[np.asarray(counts) > 0])[::-1]
    if len(ordered) < 5:
        raise DefinitionError(
            "a power law needs at least 5 items with ratings", found=f"{len(ordered)}", do="give a larger log"
        )
    items = len(ordered)
    at = np.unique(np.rint(np.geomspace(1, items, min(items, 400))).astype(int)) - 1
    seen, places = np.log(ordered[at]), at + 1.0
    weight = np.sqrt(np.gradient(np.log(places + 0.5)))

    # the free numbers are the skewness, the shift, and the ends of the curve, which hardly depend on each other
    def residuals(free: np.ndarray) -> np.ndarray:
        law = _law_of(free, items)
        return weight * (np.log(np.maximum(law.c1 + law.beta * (law.c2 + places) ** -law.alpha, 1e-9)) - seen)

    ends = np.log([ordered[0], ordered[-1]])
    low, high = [1e-3, -14, ends[0] - 3, ends[1] - 3], [4.0, 2.0, ends[0] + 3, ends[1] + 3]
    starts = [np.array([alpha, shift, *ends]) for alpha in (0.3, 1.0, 1.8) for shift in (-8.0, -3.0)]
    found = [least_squares(residuals, start, bounds=(low, high), max_nfev=300) for start in starts]
    best = min(found, key=lambda one: one.cost)
    error = np.sqrt((residuals(best.x) ** 2).sum() / (weight**2).sum())
    return replace(_law_of(best.x, items), error=float(error))


def _law_of(free: np.ndarray, items: int) -> PowerLaw:
    """The curve with this skewness, this shift (log of its share of the items), and these logs of both ends."""
    alpha, c2, head, tail = float(free[0]), items * math.exp(free[1]), math.exp(free[2]), math.exp(free[3])
    first, last = (c2 + 1.0) ** -alpha, (c2 + items) ** -alpha
    beta = (head - tail) / max(first - last, 1e-300)
    return PowerLaw(alpha, beta, tail - beta * last, c2)
