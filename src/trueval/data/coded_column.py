"""A long column of text ids, coded in one pass over its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trueval.data.ids import Ids
from trueval.data.key_tables import Codes, KeyTable, by_hash, distinct
from trueval.data.together import first_rows, stands_together
from trueval.kernels import gather, mark_present

_FIRST, _SAMPLE = 1 << 19, 10_000  # rows whose ids are known first; rows that tell whether others have most


@dataclass(frozen=True)
class CodedColumn:
    """A column of ids without nulls, and its distinct ids, with which the codes of its rows were found on the way.

    >>> column = CodedColumn.of(pl.Series(["b", "a", "b"]))
    >>> column.ids.values.to_list(), column.within(Ids(pl.Series(["a", "b", "c"]))).tolist()
    (['a', 'b'], [1, 0, 1])
    """

    column: pl.Series
    ids: Ids
    places: Codes | None = None  # of the rows, in an order of the distinct ids in which they were found
    codes: Codes | None = None  # of the ids in this order, -1 for those that no row has; None: it is that of the ids

    @staticmethod
    def of(column: pl.Series, likely: Ids | None = None, *, ahead: bool = False) -> CodedColumn:
        """Whole numbers, and columns that are short, are coded when codes are asked for: nothing is gained before.

        `likely` are ids that most rows have, as a rule. `ahead` of time, by a thread that has it, all are coded.
        """
        if column.dtype.is_integer() or not by_hash(column):
            ids = Ids.of(column)
            return CodedColumn(column, ids, ids.codes(column) if ahead else None)
        if stands_together(column):
            known, places = _in_runs(column)
        else:
            most = likely is not None and _has_most(likely.values, column)
            known, places = _by_hashes(column, likely.values if most and likely else distinct(column[:_FIRST]))
        present = np.zeros(len(known), bool)
        mark_present(places, present)
        order = known.arg_sort().to_numpy()
        order = order[present[order]]
        codes = np.full(len(known), -1, np.int32)
        codes[order] = np.arange(len(order), dtype=np.int32)
        return CodedColumn(column, Ids(known.gather(pl.Series(order, dtype=pl.UInt32))), places, codes)

    def within(self, vocabulary: Ids) -> Codes:
        """The codes of the rows in a vocabulary, -1 for ids that it does not have."""
        if self.places is None:
            return vocabulary.codes(self.column)
        own = vocabulary is self.ids or vocabulary.values.equals(self.ids.values)
        if self.codes is None:
            return self.places if own else gather(vocabulary.codes(self.ids.values), self.places)
        return gather(self.codes if own else vocabulary.codes(self.ids.values)[self.codes], self.places)


def _has_most(ids: pl.Series, column: pl.Series) -> bool:
    """Whether nine of ten of the first rows have one of these ids."""
    first = column[:_SAMPLE]
    return ids.dtype == column.dtype and 10 * int(first.is_in(ids.implode()).sum()) >= 9 * len(first)


def _in_runs(column: pl.Series) -> tuple[pl.Series, Codes]:
    """The distinct ids, and for each row which it has, where equal ids stand together: one row of each run will do."""
    rows = first_rows(column)
    heads = column.gather(pl.Series(rows, dtype=pl.UInt32))
    known = distinct(heads)
    once = len(known) == len(heads)  # as a rule each id has one run
    places = np.arange(len(heads), dtype=np.int32) if once else KeyTable(known).look_up(heads)
    return heads if once else known, np.repeat(places, np.diff(rows, append=len(column)))


def _by_hashes(column: pl.Series, known: pl.Series) -> tuple[pl.Series, Codes]:
    """Distinct ids, those known and others, and for each row which it has.

    As a rule most rows have known ones: they are looked up, and what is left is looked at once more.
    """
    places = KeyTable(known).look_up(column)
    rest = np.flatnonzero(places < 0)
    if len(rest):
        values = column.gather(pl.Series(rest, dtype=pl.UInt32))
        more = distinct(values)
        places[rest] = KeyTable(more).look_up(values) + len(known)
        known = pl.concat([known, more])
    return known, places
