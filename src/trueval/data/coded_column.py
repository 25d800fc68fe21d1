"""A long column of text ids, coded in one pass over its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trueval.data.ids import Codes, Ids, by_hash, distinct, hashes, pieces
from trueval.data.together import first_rows, stands_together
from trueval.kernels import choose, gather, in_order

_FIRST = 1 << 18


@dataclass(frozen=True)
class CodedColumn:
    """A column of ids without nulls, and its distinct ids, with which the codes of its rows were found on the way.

    >>> column = CodedColumn.of(pl.Series(["b", "a", "b"]))
    >>> column.ids.values.to_list(), column.within(Ids(pl.Series(["a", "b", "c"]))).tolist()
    (['a', 'b'], [1, 0, 1])
    """

    column: pl.Series
    ids: Ids
    known: pl.Series | None  # the distinct ids in the order of `places`; None where the rows are not coded
    places: Codes | None

    @staticmethod
    def of(column: pl.Series) -> CodedColumn:
        """Whole numbers, and columns that are short, are coded when codes are asked for: nothing is gained before."""
        if column.dtype.is_integer() or not by_hash(column):
            return CodedColumn(column, Ids.of(column), None, None)
        known, places = _in_runs(column) if stands_together(column) else _by_hashes(column)
        return CodedColumn(column, Ids(known.sort()), known, places)

    def within(self, vocabulary: Ids) -> Codes:
        """The codes of the rows in a vocabulary, -1 for ids that it does not have."""
        if self.known is None or self.places is None:
            return vocabulary.codes(self.column)
        return gather(vocabulary.codes(self.known), self.places)


def _in_runs(column: pl.Series) -> tuple[pl.Series, Codes]:
    """The distinct ids, and for each row which it has, where equal ids stand together: one row of each run will do."""
    rows = first_rows(column)
    heads = column.gather(pl.Series(rows, dtype=pl.UInt32))
    known = distinct(heads)
    return known, np.repeat(Ids(known).codes(heads), np.diff(rows, append=len(column)))


def _by_hashes(column: pl.Series) -> tuple[pl.Series, Codes]:
    """The distinct ids, and for each row which it has.

    As a rule the first rows have most ids: they are looked up, and what is left is looked at once more.
    """
    parts = pieces(column)
    known = distinct(column[:_FIRST])
    places = np.empty(len(column), np.int32)
    _look_up(known, parts, places)
    rest = np.flatnonzero(places < 0)
    if len(rest):
        values = column.gather(pl.Series(rest, dtype=pl.UInt32))
        more = distinct(values)
        found = np.empty(len(rest), np.int32)
        _look_up(more, pieces(values), found)
        places[rest] = found + len(known)
        known = pl.concat([known, more])
    return known, places


def _look_up(known: pl.Series, parts: list[tuple[pl.Series, slice]], out: Codes) -> None:
    """Places of ids among those known, -1 for others."""
    kernels = choose("lists", len(out) + len(known))
    size = 1 << max(10, (2 * len(known)).bit_length())
    table = kernels.hash_table(*hashes(known), size)
    for _ in in_order(lambda part: kernels.look_up_hashes(*hashes(part[0]), *table, out[part[1]]), parts):
        pass
