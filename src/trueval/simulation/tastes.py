"""What users would give items: the mean of every pair, and the rating it comes out as, computed when asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from trueval.simulation.pair_draws import pair_coins

STARS = (1.0, 2.0, 3.0, 4.0, 5.0)


@dataclass(frozen=True)
class Tastes:
    """The mean of a pair is an inner product of factors; its rating is the level that mean + noise falls into.

    The noise of a pair comes from a hash of the seed, the user and the item: the complete ratings of the world are
    there, though never as a table. Users and items are codes, in arrays whose shapes fit together.

    >>> tastes = Tastes(np.ones((2, 1)), np.array([[2.2], [4.4]]), noise=0.0)
    >>> tastes.ratings(np.array([[0], [1]]), np.array([[0, 1]])).tolist()
    [[2.0, 4.0], [2.0, 4.0]]
    """

    user_factors: np.ndarray = field(repr=False)  # users × factors, float32
    item_factors: np.ndarray = field(repr=False)
    levels: tuple[float, ...] = STARS
    cuts: tuple[float, ...] = (1.5, 2.5, 3.5, 4.5)
    noise: float = 0.7
    seed: int = 0
    trend: np.ndarray | None = field(default=None, repr=False)  # how much an item's mean rises over the whole period

    @cached_property
    def _columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Factors by column: what is looked up for millions of pairs stays in the cache."""
        return tuple(np.ascontiguousarray(side.T) for side in (self.user_factors, self.item_factors))  # type: ignore[return-value]

    def means(self, users: np.ndarray, items: np.ndarray, *, at: np.ndarray | float = 1.0) -> np.ndarray:
        """Mean of each pair at a time (0 is the begin of the period, 1 its end)."""
        total = added_products(*self._columns, users, items)
        if self.trend is not None:
            total += (self.trend[items] * (np.asarray(at) - 1.0)).astype(np.float32)
        return total

    def places(self, users: np.ndarray, items: np.ndarray, *, at: np.ndarray | float = 1.0) -> np.ndarray:
        """The rating of each pair as a place among the levels."""
        value = self.means(users, items, at=at).astype(np.float64)
        if self.noise:
            from scipy.special import ndtri

            value += self.noise * ndtri(pair_coins(self.seed, "rating", users, items))
        return np.searchsorted(np.asarray(self.cuts), value).astype(np.int8)

    def ratings(self, users: np.ndarray, items: np.ndarray, *, at: np.ndarray | float = 1.0) -> np.ndarray:
        """What each user gives each item, had the user met it."""
        return np.asarray(self.levels)[self.places(users, items, at=at)]

    def shares(self, users: np.ndarray, items: np.ndarray, *, at: np.ndarray | float = 1.0) -> np.ndarray:
        """The probability of every level, before the noise is known: one more axis, levels in their order."""
        from scipy.special import ndtr

        mean = self.means(users, items, at=at).astype(np.float64)[..., None]
        below = ndtr((np.asarray(self.cuts) - mean) / max(self.noise, 1e-12))
        edges = np.concatenate([np.zeros_like(mean), below, np.ones_like(mean)], axis=-1)
        return np.diff(edges, axis=-1)

    def liked(
        self, users: np.ndarray, items: np.ndarray, *, threshold: float, at: np.ndarray | float = 1.0
    ) -> np.ndarray:
        """The probability that a rating reaches the threshold, before the noise is known: Φ((mean − cut) / noise)."""
        from scipy.special import ndtr

        place = int(np.searchsorted(np.asarray(self.levels), threshold))
        mean = self.means(users, items, at=at).astype(np.float64)
        if place == 0 or place == len(self.levels):
            return np.full(mean.shape, float(place == 0))
        return ndtr((mean - self.cuts[place - 1]) / max(self.noise, 1e-12))


def added_products(
    user_columns: np.ndarray, item_columns: np.ndarray, users: np.ndarray, items: np.ndarray
) -> np.ndarray:
    """Inner products of the factors of pairs, which come by column; single precision.

    Factors are added up in one order: a BLAS may round differently for different shapes and machines.

    >>> added_products(np.array([[1.0, 2.0]]), np.array([[0.5, 3.0]]), np.array([0, 1]), np.array([1, 1])).tolist()
    [3.0, 6.0]
    """
    total = np.zeros(np.broadcast_shapes(np.shape(users), np.shape(items)), np.float32)
    for own, other in zip(user_columns, item_columns):
        total += own[users] * other[items]
    return total
