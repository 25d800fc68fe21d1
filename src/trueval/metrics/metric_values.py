"""What metric functions return when one number per unit is not the whole story."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


def same(value: np.ndarray) -> np.ndarray:
    """No transformation."""
    return value


def product_of_ratios(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Ratios multiplied over the second axis; NaN where a denominator is 0, unless another factor is 0.

    >>> product_of_ratios(np.array([[6.0, 2.0], [0.0, 0.0], [1.0, 3.0]]), np.array([[3.0, 1], [0, 1], [0, 1]])).tolist()
    [4.0, 0.0, nan]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(below > 0, above / below, np.nan)
    if ratio.shape[1] == 1:
        return ratio[:, 0]
    return np.where((ratio == 0).any(axis=1), 0.0, ratio.prod(axis=1))


@dataclass(frozen=True, slots=True)
class Ratio:
    """A metric pooled over units: the sum of numerators over the sum of denominators.

    Both may have several columns: the metric is then the product of their ratios.
    """

    numerator: np.ndarray
    denominator: np.ndarray
    finish: Callable[[np.ndarray], np.ndarray] = same

    @property
    def columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Numerators and denominators with a column for each factor."""
        if self.numerator.ndim == 2:
            return self.numerator, self.denominator
        return self.numerator[:, None], self.denominator[:, None]

    def per_unit(self) -> np.ndarray:
        """Each unit's own value; NaN where its denominator is 0."""
        return self.finish(product_of_ratios(*self.columns))

    def take(self, order: np.ndarray) -> Ratio:
        """The parts of some units, in an order."""
        return Ratio(self.numerator[order], self.denominator[order], self.finish)

    def where(self, chosen: np.ndarray) -> Ratio:
        """The same with nothing of the other units."""
        above, below = (np.where(chosen[:, None], side, 0.0) for side in self.columns)
        return Ratio(above, below, self.finish)

    def pooled(self, weights: np.ndarray | None = None) -> float:
        """The pooled value, units weighted."""
        w = np.ones(len(self.numerator)) if weights is None else weights
        above, below = (w @ side for side in self.columns)
        return float(self.finish(product_of_ratios(above[None], below[None]))[0])


class Added(NamedTuple):
    """What users add to the counts of a tally, row by row: who, to which count, and how much (None: 1 each)."""

    key: Hashable  # equal for tallies of the same counts, which are then resampled together
    user: np.ndarray
    place: np.ndarray
    amount: np.ndarray | None


@dataclass(frozen=True, slots=True)
class Tally:
    """A system metric: counts that add up over parts, and what to make of them in the end.

    `added` tells users apart, for intervals; parts of a whole keep theirs side by side.
    """

    counts: np.ndarray
    finish: Callable[[np.ndarray], float]
    added: tuple[Added, ...] = ()
    range: tuple[float, float] = (-np.inf, np.inf)

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.counts + other.counts, self.finish, self.added + other.added, self.range)

    def value(self) -> float:
        """The metric."""
        return float(self.finish(self.counts))
