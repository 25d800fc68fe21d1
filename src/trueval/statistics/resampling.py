"""Resamples of users: the scheme behind the bootstrap intervals of evaluations, comparisons and calibration.

    draw_users(users, seed=, resamples=)              how often each user is in each resample, block by block
    resample_sums([(rows, columns), …], users, …)     sums of columns over users in each resample
    in_one_order(rows)                                rows of values, so that draws do not depend on their order
    random_groups(members, rng)                       more members than need be drawn one by one, in groups

A resample draws as many users as there are, with replacement. Equal `users` and `seed` give equal resamples, so
that values of different metrics, groups and systems over the same users, resampled in separate calls, are paired:
their differences are resampled differences. The first thousand of ten thousand resamples are the thousand.

Users are cut into blocks whose sizes are powers of two. How many draws fall on each block is one multinomial draw;
within a block every resample has a random stream of its own, found by hashing, a few bits of which are a draw.
Nothing depends on threads, and memory does not grow with users times resamples.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trueval.kernels import blocks, choose, in_order
from trueval.kernels.seeds import derive

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_WIDEST = 14  # blocks of at most 2^14 users: their counts, a byte each, stay in the cache
_RESAMPLES = 128  # drawn together
_PRODUCT = 2048  # users of one matrix product

# More users (or rows) than this are put into that many random groups, which are then drawn whole: the width of
# an interval is known to 1/√(2·2000), or 1.6 %.
MOST_GROUPS = 2000

Batch = tuple[np.ndarray | None, np.ndarray]


class _Draws(NamedTuple):
    """Some resamples: the number of the first, and how many draws (row by resample) fall on each block of users."""

    first: int
    number: np.ndarray


def draw_users(users: int, *, seed: int, resamples: int) -> Iterator[np.ndarray]:
    """How often each user is drawn, with replacement, in each resample: blocks of rows.

    >>> [weights.sum(axis=1).tolist() for weights in draw_users(5, seed=1, resamples=3)]
    [[5.0, 5.0, 5.0]]
    """
    pieces = _blocks_of_users(users)
    keys = _keys(seed, len(pieces))
    kernel = choose("resampling", _worth(users, resamples)).count_draws
    for draws in _draws(users, pieces, seed=seed, resamples=resamples):
        weights = np.empty((len(draws.number), users))
        for b, piece in enumerate(pieces):
            counts = np.empty((len(weights), piece.stop - piece.start), np.uint8)
            kernel(keys[b], draws.first, draws.number[:, b], counts)
            weights[:, piece] = counts
        yield weights


def resample_sums(batches: Sequence[Batch], users: int, *, seed: int, resamples: int) -> list[np.ndarray]:
    """Sums of columns in each resample of all users: for each batch an array, one row per resample.

    A batch is the places of some users, ascending (None for all of them), and their columns, a row for each.

    >>> hits = np.array([[1.0], [0.0], [1.0], [1.0]])
    >>> drawn, = resample_sums([(None, hits)], 4, seed=0, resamples=1000)
    >>> drawn.shape, bool(abs(drawn.mean() - 3) < 0.1)
    ((1000, 1), True)
    """
    pieces = _blocks_of_users(users)
    keys = _keys(seed, len(pieces))
    kernel = choose("resampling", _worth(users, resamples)).count_draws

    def totals(draws: _Draws) -> list[np.ndarray]:
        found = [np.zeros((len(draws.number), columns.shape[1])) for _, columns in batches]
        for b, piece in enumerate(pieces):
            counts = np.empty((len(draws.number), piece.stop - piece.start), np.uint8)
            kernel(keys[b], draws.first, draws.number[:, b], counts)
            for part in blocks(counts.shape[1], _PRODUCT):
                _add(found, batches, counts[:, part].astype(np.float64), piece.start + part.start)
        return found

    with one_thread():  # threads over the resamples, none inside a product
        done = list(in_order(totals, _draws(users, pieces, seed=seed, resamples=resamples)))
    return [np.concatenate([d[j] for d in done]) for j in range(len(batches))]


def in_one_order(rows: np.ndarray) -> np.ndarray:
    """Rows in an order that their values alone decide: what is drawn for them depends on no name and no file.

    >>> in_one_order(np.array([[2.0, 1.0], [1.0, 3.0], [1.0, 2.0]])).tolist()
    [[1.0, 2.0], [1.0, 3.0], [2.0, 1.0]]
    """
    return rows[np.lexsort(rows.T[::-1])]


def random_groups(members: int, rng: np.random.Generator) -> np.ndarray:
    """The group of each of many members: `MOST_GROUPS` of them, as equal in size as can be.

    >>> np.bincount(random_groups(4001, np.random.default_rng(0)))[:3].tolist()
    [3, 2, 2]
    """
    return rng.permutation(members) % MOST_GROUPS


def one_thread() -> AbstractContextManager[object]:
    """Matrix products on one thread: the same bits however many there are."""
    return _blas(len(sys.modules)).limit(limits=1, user_api="blas")


@lru_cache(maxsize=1)
def _blas(modules: int) -> ThreadpoolController:
    """A hold on the threads of matrix products. Looking for them takes longer than small resamples do; it is done again
    only where more modules were loaded, which may have brought a library of their own."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _add(found: list[np.ndarray], batches: Sequence[Batch], times: np.ndarray, begin: int) -> None:
    """Add what some users, drawn so many times, have in the columns of each batch."""
    end = begin + times.shape[1]
    for total, (rows, columns) in zip(found, batches):
        if rows is None:
            total += times @ columns[begin:end]
            continue
        first, last = np.searchsorted(rows, (begin, end))
        own = times if last - first == end - begin else times[:, rows[first:last] - begin]
        total += own @ columns[first:last]


def _draws(users: int, pieces: list[slice], *, seed: int, resamples: int) -> Iterator[_Draws]:
    """How the draws of each resample are shared out over the blocks of users."""
    rng = np.random.default_rng(int(derive(seed, "bootstrap")))
    share = np.array([piece.stop - piece.start for piece in pieces]) / users
    for part in blocks(resamples, _RESAMPLES):
        yield _Draws(part.start, rng.multinomial(users, share, size=part.stop - part.start))


def _blocks_of_users(users: int) -> list[slice]:
    """Blocks whose sizes are powers of two: the largest first, then the binary digits of the rest.

    >>> [piece.stop - piece.start for piece in _blocks_of_users(40_000)]
    [16384, 16384, 4096, 2048, 1024, 64]
    """
    sizes = [1 << _WIDEST] * (users >> _WIDEST)
    sizes += [1 << bit for bit in reversed(range(_WIDEST)) if users >> bit & 1]
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for end, size in zip(ends, sizes)]


def _keys(seed: int, number: int) -> list[np.uint64]:
    """A key for each block of users."""
    from trueval.kernels.hashing import item_key

    return list(item_key(np.full(number, derive(seed, "bootstrap"), np.uint64), np.arange(number)))


def _worth(users: int, resamples: int) -> int:
    """Work in the units of `choose`: plain NumPy makes thirty million draws in the time that loading takes."""
    return users * resamples // 100
