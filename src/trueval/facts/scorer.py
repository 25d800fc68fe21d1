"""Scores of users for items, piece by piece: from a system that scores, or as products of its factors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from trueval.design.task import Task
from trueval.errors import DataError
from trueval.kernels import blocks, in_order
from trueval.kernels.threads import threads
from trueval.recommenders.protocol import Recommender

# Rows of one matrix product. A BLAS may round differently for different shapes, and for different rows of one
# product. So the shape is fixed, and a user's row is the user's place among all who are ranked for, modulo this:
# scores must not depend on how users are cut into blocks.
PRODUCT_ROWS = 64
LARGE_PRODUCT = 100_000  # numbers in the factors of all items
# More rows at once are faster, for a BLAS copies the factors of all items into its own order once for each product.
# They are taken where they give the same bits. That has to be tried, which costs two such products.
MOST_ROWS = 512
MOST_SCORES = 256_000_000  # bytes of the products that all workers hold together
TRIED_FOR = 64  # products that are made after a trial


class Scorer:
    """Scores of a block of users for the candidates (full ranking) or for all items (sampled)."""

    def __init__(self, system: Recommender, task: Task) -> None:
        self.system = system
        whole = task.sample is not None or len(task.candidates) == len(task.items)
        self.columns = None if whole else task.candidates
        self.n_items = len(task.items)
        units = task.unit_user
        self.ranked = units if (units[1:] > units[:-1]).all() else np.unique(units)
        self.rows = PRODUCT_ROWS
        self.kept = threading.local()
        self.factors: tuple[np.ndarray, np.ndarray] | None = None
        offered: Any = getattr(system, "factors", None)
        if callable(offered):  # somebody's model may have a number of factors by that name
            user_factors, item_factors = offered()
            chosen = item_factors if self.columns is None else item_factors[self.columns]
            kind = np.result_type(user_factors, item_factors)
            kind = kind if kind in (np.float32, np.float64) else np.dtype(np.float64)
            # Row by row a BLAS copies the factors of items into its own order faster. For small products it may have
            # another way for each order, and round differently: those stay as they were.
            by_item = chosen.size >= LARGE_PRODUCT
            laid = np.ascontiguousarray(chosen if by_item else chosen.T, dtype=kind)
            self.factors = user_factors, laid.T if by_item else laid

    def __call__(self, users: np.ndarray, name: str) -> Iterator[tuple[slice, np.ndarray]]:
        """Scores of some users, piece by piece: a piece of products is used while it is in the cache."""
        if self.factors is not None:
            yield from self._products(users)
            return
        scores = np.asarray(self.system.score(users))
        if scores.shape != (len(users), self.n_items):
            raise DataError(
                f"{name} returned scores of the wrong shape",
                found=f"{scores.shape}, expected {(len(users), self.n_items)}",
                do="return one row per user asked for and one column per item",
            )
        if scores.dtype not in (np.float32, np.float64):
            scores = scores.astype(np.float64)
        yield slice(0, len(users)), np.ascontiguousarray(scores if self.columns is None else scores[:, self.columns])

    def widen(self, most: int) -> None:
        """Take more rows for one product, at most so many, if that is faster and changes nothing."""
        if self.factors is None:
            return
        item_factors = self.factors[1]
        row_bytes = max(1, item_factors.shape[1]) * item_factors.itemsize
        most = min(most, MOST_ROWS, MOST_SCORES // threads() // row_bytes, len(self.ranked) // TRIED_FOR)
        rows = PRODUCT_ROWS
        while 2 * rows <= most:  # doubled, so that products and blocks begin together
            rows *= 2
        if rows > PRODUCT_ROWS and same_bits(rows, item_factors):
            self.rows = rows

    def _products(self, users: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        assert self.factors is not None
        user_factors, item_factors = self.factors
        scores, rows = self._buffers(item_factors)
        row = int(np.searchsorted(self.ranked, users[0])) % self.rows
        begin = 0
        while begin < len(users):
            end = min(begin + self.rows - row, len(users))
            rows[row : row + end - begin] = user_factors[users[begin:end]]
            np.matmul(rows, item_factors, out=scores)
            yield slice(begin, end), scores[row : row + end - begin]
            begin, row = end, 0

    def _buffers(self, item_factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A worker's own scores and users, used again and again: fresh memory costs more than the product."""
        if not hasattr(self.kept, "buffers"):
            factors, items = item_factors.shape
            shapes = ((self.rows, items), (self.rows, factors))
            self.kept.buffers = tuple(np.zeros(shape, item_factors.dtype) for shape in shapes)
        return self.kept.buffers


def same_bits(rows: int, item_factors: np.ndarray) -> bool:
    """Whether a product of so many rows gives what products of `PRODUCT_ROWS` give, to the last bit.

    The order in which a BLAS adds is a matter of shapes, not of numbers. So what comes out the same for numbers drawn
    at random, in all places of a product, comes out the same for all users.
    """
    factors, items = item_factors.shape
    drawn = np.random.default_rng(0).normal(size=(rows, factors)).astype(item_factors.dtype)
    together = drawn @ item_factors

    def same(part: slice) -> bool:
        alone = np.empty((PRODUCT_ROWS, items), item_factors.dtype)
        return np.array_equal(np.matmul(drawn[part], item_factors, out=alone), together[part])

    return all(in_order(same, blocks(rows, PRODUCT_ROWS)))
