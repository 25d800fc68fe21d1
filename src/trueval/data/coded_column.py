"""A long column of text ids, coded in one pass over its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trueval.data.ids import Codes, Ids, by_hash, distinct, hashes, pieces
from trueval.kernels import choose, in_order


@dataclass(frozen=True)
class CodedColumn:
    """The ids of a column and, where they were found on the way, the codes of its rows.

    >>> column = CodedColumn.of(pl.Series(["b", "a", "b"]))
    >>> column.ids.values.to_list(), column.codes
    (['a', 'b'], None)
    """

    ids: Ids
    codes: Codes | None  # in `ids`

    @staticmethod
    def of(column: pl.Series) -> CodedColumn:
        """Whole numbers, and columns that are short, are coded when codes are asked for: nothing is gained before."""
        if column.dtype.is_integer() or not by_hash(column):
            return CodedColumn(Ids.of(column), None)
        return _by_hashes(column)

    def within(self, vocabulary: Ids) -> Codes | None:
        """The codes of the rows in another vocabulary, which has all of the ids; None where they are not known."""
        return None if self.codes is None else vocabulary.codes(self.ids.values)[self.codes]


def _by_hashes(column: pl.Series) -> CodedColumn:
    """As a rule the first rows have most ids: they are looked up, and what is left is looked at once more."""
    parts = pieces(column)
    known = distinct(parts[0][0])
    codes = np.empty(len(column), np.int32)
    _look_up(known, parts, codes)
    rest = np.flatnonzero(codes < 0)
    if len(rest):
        values = column.gather(pl.Series(rest, dtype=pl.UInt32))
        more = distinct(values)
        found = np.empty(len(rest), np.int32)
        _look_up(more, pieces(values), found)
        codes[rest] = found + len(known)
        known = pl.concat([known, more])
    order = known.arg_sort().to_numpy()
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return CodedColumn(Ids(known.gather(pl.Series(order, dtype=pl.UInt32))), place[codes])


def _look_up(known: pl.Series, parts: list[tuple[pl.Series, slice]], out: Codes) -> None:
    """Places of ids among those known, -1 for others."""
    kernels = choose("lists", len(out) + len(known))
    size = 1 << max(10, (2 * len(known)).bit_length())
    table = kernels.hash_table(*hashes(known), size)
    for _ in in_order(lambda part: kernels.look_up_hashes(*hashes(part[0]), *table, out[part[1]]), parts):
        pass
