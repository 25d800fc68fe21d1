"""Counting pairs of items by how popularity, average rating and the optimal rankings order them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.audit.item_ratings import ItemRatings
from trueval.kernels import blocks, choose, in_order
from trueval.kernels.hashing import STEP, mixed
from trueval.kernels.seeds import derive

_ROWS = 128  # items of one job: their pairs with all later ones
_BLOCK = 1 << 18  # pairs drawn at a time
# The odds of an item that every user has rated are infinite; `optimal_precision` has the same number in their place.
_NOBODY = 1e-6
_ROUNDING = 1e-12  # ratios that differ by less are equal


class Scores(NamedTuple):
    """Of each item: the share of users who rated it, the share of those who like it, and the two optimal scores."""

    popularity: np.ndarray
    average: np.ndarray
    phi_p: np.ndarray
    phi_antip: np.ndarray


def scores_of(counted: ItemRatings) -> Scores:
    """p(train|i), p(rel|train,i), φ_P and φ_antiP; all items must have a rating.

    Ratios of whole numbers below 2^26 are equal as floating-point numbers only where they are equal, so that up to 67
    million users every comparison of two items is exact.

    >>> from trueval.data.ids import Ids
    >>> import polars as pl
    >>> two = ItemRatings(Ids.of(pl.Series(["a", "b"])), np.array([5, 2]), np.array([3, 1]), 10)
    >>> [column.tolist() for column in scores_of(two)]
    [[0.5, 0.2], [0.6, 0.5], [0.6, 0.125], [-0.4, -0.125]]
    """
    n, unrated = counted.ratings, np.maximum(counted.users - counted.ratings, _NOBODY)
    return Scores(n / counted.users, counted.liked / n, counted.liked / unrated, 0 - counted.disliked / unrated)


def count_all(scores: Scores) -> np.ndarray:
    """All pairs by case and by what the optimal rankings make of them (`kernels.item_pairs`), in O(items) memory.

    >>> two = Scores(np.array([0.5, 0.2]), np.array([0.6, 0.5]), np.array([0.6, 0.125]), np.array([-0.4, -0.125]))
    >>> count_all(two).tolist()  # aligned, odds of popularity steeper than p(¬rel): the optimal rankings disagree
    [[1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]
    """
    ranks = _ranks(scores)
    size = len(ranks[0])
    kernel = choose("item_pairs", size * (size - 1) // 2).count_pairs

    def count(rows: slice) -> np.ndarray:
        found = np.zeros((5, 3), np.int64)
        kernel(*ranks, rows.start, rows.stop, found)
        return found

    return sum(in_order(count, blocks(size, _ROWS)), np.zeros((5, 3), np.int64))


def count_some(scores: Scores, pairs: int, *, seed: int) -> np.ndarray:
    """The same of so many pairs, each drawn from all of them with equal chances.

    >>> two = Scores(np.array([0.5, 0.2]), np.array([0.6, 0.5]), np.array([0.6, 0.125]), np.array([-0.4, -0.125]))
    >>> count_some(two, 7, seed=0)[0].tolist()
    [7, 0, 0]
    """
    ranks = _ranks(scores)
    kernel = choose("item_pairs", pairs).count_drawn
    key = derive(seed, "item pairs")

    def count(part: slice) -> np.ndarray:
        found = np.zeros((5, 3), np.int64)
        kernel(*ranks, *_pairs(key, part, len(ranks[0])), found)
        return found

    return sum(in_order(count, blocks(pairs, _BLOCK)), np.zeros((5, 3), np.int64))


def _ranks(scores: Scores) -> list[np.ndarray]:
    """Ranks for the kernels, equal where scores are; of φ_antiP those of its opposite, as the kernels have it."""
    columns = (scores.popularity, scores.average, scores.phi_p, -scores.phi_antip)
    return [np.unique(column, return_inverse=True)[1].astype(np.int32) for column in columns]


def _pairs(key: np.uint64, part: slice, items: int) -> tuple[np.ndarray, np.ndarray]:
    """Two different items for each of some draws, by a hash of their number."""
    words = mixed(key + STEP * np.arange(2 * part.start + 1, 2 * part.stop + 1, dtype=np.uint64))
    one, step = (words[place::2] % np.uint64(items - place) for place in (0, 1))
    return one.astype(np.int64), ((one + step + np.uint64(1)) % np.uint64(items)).astype(np.int64)


def share_steepest(scores: Scores, *, odds: bool = True) -> float:
    """Share of all pairs over which popularity is steeper than both p(rel|train,i) and p(¬rel|train,i).

    Popularity is taken as its odds, as in the optimal rankings, or as it is. A function that is 0 for both items of a
    pair has no slope there.

    >>> two = Scores(np.array([0.5, 0.2]), np.array([0.6, 0.5]), np.array([0.6, 0.125]), np.array([-0.4, -0.125]))
    >>> share_steepest(two)  # 0.75 against 0.17 and 0.2
    1.0
    """
    size = len(scores.popularity)
    popular = scores.popularity / (np.maximum(1 - scores.popularity, _NOBODY) if odds else 1.0)
    columns = (popular, scores.average, 1 - scores.average)
    found = 0
    for part in blocks(size, _ROWS):
        rows = np.arange(part.start, part.stop)[:, None]
        popularity, liked, disliked = (_flatness(column, rows) for column in columns)
        steepest = popularity < np.minimum(liked, disliked) - _ROUNDING
        found += int((steepest & (rows < np.arange(size))).sum())
    return found / max(1, size * (size - 1) // 2)


def _flatness(column: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The smaller of two values as a part of the larger one, of some items with all: 1 less the steepness."""
    low, high = np.minimum(column[rows], column), np.maximum(column[rows], column)
    return np.divide(low, high, out=np.ones_like(low), where=high > 0)
