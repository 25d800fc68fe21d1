"""Numbers of ratings by the shifted power law of popularity, made to a size."""

from __future__ import annotations

import numpy as np

from trueval.data.power_law import PowerLaw
from trueval.errors import DefinitionError


def expected_counts(law: PowerLaw, items: int, users: int) -> np.ndarray:
    """Ratings of the k-th most popular item, k = 1, 2, …; none has more than there are users.

    >>> expected_counts(PowerLaw(alpha=1.0, beta=12.0, c1=1.0, c2=2.0), 4, 100).round(3).tolist()
    [5.0, 4.0, 3.4, 3.0]
    """
    return np.minimum(law(np.arange(1, items + 1)), users)


def curve_of_size(items: int, ratings: int, *, users: int, alpha: float, c1: float = 0.0, c2: float = 0.0) -> PowerLaw:
    """The curve with `ratings` in all: β is what makes the sum right, where no item has more ratings than users.

    >>> law = curve_of_size(10, 100, users=50, alpha=1.0, c2=1.0)
    >>> round(float(expected_counts(law, 10, 50).sum()), 6)
    100.0
    >>> round(float(expected_counts(curve_of_size(10, 100, users=20, alpha=2.0), 10, 20).max()), 6)
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
    shape = PowerLaw(alpha, 1.0, 0.0, c2)(np.arange(1, items + 1))
    for _ in range(200):
        beta = (low + high) / 2
        less = np.minimum(c1 + beta * shape, users).sum() < ratings
        low, high = (beta, high) if less else (low, beta)
    return PowerLaw(alpha, float(high), c1, c2)


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
