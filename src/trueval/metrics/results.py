"""What metric functions return when one number per unit is not the whole story."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


def same(value: np.ndarray) -> np.ndarray:
    """No transformation."""
    return value


@dataclass(frozen=True, slots=True)
class Ratio:
    """A metric pooled over units: the sum of numerators over the sum of denominators."""

    numerator: np.ndarray
    denominator: np.ndarray
    finish: Callable[[np.ndarray], np.ndarray] = same

    def per_unit(self) -> np.ndarray:
        """Each unit's own value; NaN where its denominator is 0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.finish(np.where(self.denominator > 0, self.numerator / self.denominator, np.nan))

    def take(self, order: np.ndarray) -> Ratio:
        """The parts of some units, in an order."""
        return Ratio(self.numerator[order], self.denominator[order], self.finish)

    def pooled(self, weights: np.ndarray | None = None) -> float:
        """The pooled value, units weighted."""
        w = np.ones(len(self.numerator)) if weights is None else weights
        below = float(w @ self.denominator)
        return float(self.finish(np.asarray(w @ self.numerator / below))) if below > 0 else float("nan")


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
