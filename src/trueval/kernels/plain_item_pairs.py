"""Pairs of items without a compiler: for small inputs, and as the oracle of the compiled ones."""

from __future__ import annotations

import numpy as np


def _cells(popularity: np.ndarray, average: np.ndarray, likes: np.ndarray, dislikes: np.ndarray) -> np.ndarray:
    """Row and column of pairs, as one number, from the signs of what their first items have more of."""
    column = np.where(likes * dislikes == 0, 2, np.where(likes == dislikes, 0, 1))
    aligned, opposed = np.where(dislikes == popularity, 0, 1), np.where(likes == popularity, 2, 3)
    both = popularity * average
    return 3 * np.where(both > 0, aligned, np.where(both < 0, opposed, 4)) + column


def count_pairs(
    popularity: np.ndarray,
    average: np.ndarray,
    likes: np.ndarray,
    dislikes: np.ndarray,
    first: int,
    last: int,
    counts: np.ndarray,
) -> None:
    """See `item_pairs.count_pairs`."""
    for i in range(first, last):
        signs = (np.sign(ranks[i] - ranks[i + 1 :]) for ranks in (popularity, average, likes, dislikes))
        counts += np.bincount(_cells(*signs), minlength=15).reshape(5, 3)


def count_drawn(
    popularity: np.ndarray,
    average: np.ndarray,
    likes: np.ndarray,
    dislikes: np.ndarray,
    one: np.ndarray,
    other: np.ndarray,
    counts: np.ndarray,
) -> None:
    """See `item_pairs.count_drawn`."""
    signs = (np.sign(ranks[one] - ranks[other]) for ranks in (popularity, average, likes, dislikes))
    counts += np.bincount(_cells(*signs), minlength=15).reshape(5, 3)
