"""The items of lists that come piece by piece: the first of each list are kept, and one that comes twice is found."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import polars as pl

from trueval.data.first_seen import FirstSeen
from trueval.data.ids import Ids, in_order_of_ids
from trueval.data.key_tables import Codes
from trueval.kernels import SMALL, choose, gather

_SPAN = 1 << 27  # whole numbers that have a bit each
_LEAST, _SPARE = 1 << 10, 8  # slots of the table of one list, and how many there are for each of its items


class KeptItems(Protocol):
    """What is kept of the items so far."""

    def add(self, column: pl.Series, bounds: np.ndarray, number: int, before: int) -> bool:
        """Add the rows of one array. Its lists lie between `bounds`; the first has a `number`, and had rows `before`.

        False where a list has an item twice, or the items cannot be kept in this way.
        """
        ...

    def coded(self) -> tuple[Ids, Codes]:
        """All items there are, and the codes of those that were kept."""
        ...


def kept_items(first: pl.Series, rows: int, depth: int | None) -> KeptItems:
    """For so many rows, of which the first array is here, the way that takes least; lists are kept to some depth.

    >>> from trueval.kernels import use_kernels
    >>> items = pl.Series([70, 50, 70])
    >>> with use_kernels("compiled"):
    ...     kept = kept_items(items, 3, depth=1)
    ...     added = kept.add(items, np.array([0, 2, 3]), number=0, before=0)
    ...     ids, codes = kept.coded()
    >>> added, ids.values.to_list(), codes.tolist()
    (True, [50, 70], [1, 1])
    """
    if depth is not None and first.dtype.is_integer():
        low, high = _bounds(first)
        if high - low < _SPAN:
            return _Marked(depth)
    return _Coded(depth, rows)


class _Coded:
    """Items of any kind, by codes in the order in which they are first seen."""

    def __init__(self, depth: int | None, rows: int) -> None:
        self.depth, self.codes = depth, np.empty(rows if depth is None else 0, np.int32)  # of all rows, or of a piece
        self.at = 0  # rows so far
        self.seen, self.kept = FirstSeen(), list[Codes]()
        self.last_list = np.empty(0, np.int32)  # that had each item

    def add(self, column: pl.Series, bounds: np.ndarray, number: int, before: int) -> bool:
        codes = self._room(len(column))
        self.seen.code(column, codes)
        if len(self.last_list) < len(self.seen):
            more = np.full(2 * len(self.seen) - len(self.last_list), -1, np.int32)
            self.last_list = np.concatenate([self.last_list, more])
        depth = self.depth or 0
        out = np.empty(min(len(column), depth * (len(bounds) - 1)), np.int32)
        kernel = choose("lists", SMALL + 1).keep_first
        kept = kernel(codes, bounds, number, min(before, depth), depth, self.last_list, out)
        self.kept.append(out[: max(kept, 0)])
        self.at += len(column)
        return bool(kept >= 0)

    def _room(self, size: int) -> Codes:
        """For the codes of a piece: where they stay, or where those of the piece before were."""
        if self.depth is None:
            return self.codes[self.at : self.at + size]
        if len(self.codes) < size:
            self.codes = np.empty(size, np.int32)
        return self.codes[:size]

    def coded(self) -> tuple[Ids, Codes]:
        ids, own = in_order_of_ids(self.seen.ids)
        codes = self.codes if self.depth is None else np.concatenate(self.kept)
        return ids, gather(own, codes, out=codes)


class _Marked:
    """Whole numbers that lie close together: each has a bit, and those of one list a table that stays in the cache."""

    def __init__(self, depth: int) -> None:
        self.depth, self.kept = depth, list[np.ndarray]()
        self.low, self.words = 0, np.empty(0, np.uint64)  # number of the first bit, and all bits
        self.table, self.list_of = np.zeros(0, np.int64), np.empty(0, np.int32)  # items, and the list that had each

    def add(self, column: pl.Series, bounds: np.ndarray, number: int, before: int) -> bool:
        if not self._covers(*_bounds(column)):
            return False
        self._make_room(int(np.diff(bounds).max()) + before, number)
        out = np.empty(min(len(column), self.depth * (len(bounds) - 1)), np.int64)
        kept = self._keep(column.to_numpy(), bounds, number, min(before, self.depth), out)
        self.kept.append(out[: max(kept, 0)])
        return kept >= 0

    def _keep(self, values: np.ndarray, bounds: np.ndarray, number: int, before: int, out: np.ndarray) -> int:
        kernel = choose("lists", SMALL + 1).keep_marked
        where = self.low, self.words, self.table, self.list_of
        return int(kernel(values, bounds, number, before, self.depth, *where, out))

    def _covers(self, low: int, high: int) -> bool:
        """See to it that there are bits for numbers between these; False where there would be too many."""
        begin, end = low // 64, high // 64 + 1  # of whole words
        if len(self.words):
            begin, end = min(begin, self.low // 64), max(end, self.low // 64 + len(self.words))
        if end - begin > _SPAN // 64 + 1:
            return False
        if end - begin > len(self.words):
            words = np.zeros(end - begin, np.uint64)
            at = self.low // 64 - begin
            words[at : at + len(self.words)] = self.words
            self.low, self.words = 64 * begin, words
        return True

    def _make_room(self, longest: int, number: int) -> None:
        """A table for lists of this length; what it has of the list with this number, which may go on, stays."""
        size = max(_LEAST, 1 << (_SPARE * longest - 1).bit_length())
        if size <= len(self.table):
            return
        begun = self.table[self.list_of == number]
        self.table, self.list_of = np.zeros(size, np.int64), np.full(size, -1, np.int32)
        if len(begun):
            self._keep(begun, np.array([0, len(begun)]), number, self.depth, np.empty(0, np.int64))

    def coded(self) -> tuple[Ids, Codes]:
        kernels = choose("lists", SMALL + 1)
        values, upto = np.concatenate(self.kept), np.cumsum(np.bitwise_count(self.words), dtype=np.int32)
        codes = np.empty(len(values), np.int32)
        kernels.rank_marked(values, self.low, self.words, upto, codes)
        return Ids(pl.Series(kernels.marked_integers(self.words, self.low))), codes


def _bounds(column: pl.Series) -> tuple[int, int]:
    """Least and greatest number of a column."""
    values = column.to_numpy()
    return int(values.min()), int(values.max())
