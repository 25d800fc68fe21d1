"""A long column of ids, coded in one pass over its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trueval.data.column_pieces import pieces
from trueval.data.first_seen import FirstSeen
from trueval.data.ids import Ids, in_order_of_ids
from trueval.data.key_tables import Codes, KeyTable, by_hash, distinct
from trueval.data.together import first_rows, stands_together
from trueval.kernels import choose, gather, in_order, mark_present

_FIRST, _SAMPLE = 1 << 19, 10_000  # rows whose ids are known first; rows that tell whether others have most
_FEW = 1 << 17  # ids whose table stays in the cache
_SPAN, _SPARSE = 1 << 27, 64  # whole numbers that have a bit each, and how many for each row


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
    runs: np.ndarray | None = None  # first rows of equal ids that stand together, and the end: places are of these

    @staticmethod
    def of(column: pl.Series, likely: Ids | None = None, *, ahead: bool = False) -> CodedColumn:
        """Columns that are short, and those of very many whole numbers, are coded when codes are asked for.

        `likely` are ids that most rows have, as a rule. `ahead` of time, by a thread that has it, all are coded.
        """
        if not by_hash(column):
            ids = Ids.of(column)
            return CodedColumn(column, ids, ids.codes(column) if ahead else None)
        if stands_together(column):
            return _in_runs(column)
        if column.dtype == pl.Int64 and (marked := _marked(column)):
            return marked
        found = _few(column)
        if found is not None:
            return _sorted(column, *found)
        if column.dtype.is_integer():
            ids = Ids.of(column)
            return CodedColumn(column, ids, ids.codes(column) if ahead else None)
        most = likely is not None and _has_most(likely.values, column)
        found = _by_hashes(column, likely.values if most and likely else distinct(column[:_FIRST]))
        return _sorted(column, *found, every=not most)

    def within(self, vocabulary: Ids, *, keep: bool = True) -> Codes:
        """The codes of the rows in a vocabulary, -1 for ids that it does not have.

        Unless the column must be kept, to be asked again, its codes take the place of what they were found with.
        """
        if self.places is None:
            return vocabulary.codes(self.column)
        codes = self._coded(vocabulary, self.places, keep=keep)
        return codes if self.runs is None else np.repeat(codes, np.diff(self.runs))

    def runs_within(self, vocabulary: Ids) -> tuple[Codes, np.ndarray] | None:
        """Codes of equal ids that stand together, and where these begin (one more: the end).

        None where this is not known, or rows of an id do not stand together.

        >>> places, runs = np.array([0, 1], np.int32), np.array([0, 2, 3])
        >>> column = CodedColumn(pl.Series([5, 5, 3]), Ids(pl.Series([3, 5])), places, np.array([1, 0], np.int32), runs)
        >>> column.runs_within(Ids(pl.Series([3, 4, 5])))
        (array([2, 0], dtype=int32), array([0, 2, 3]))
        """
        if self.runs is None or self.places is None:
            return None
        codes = self._coded(vocabulary, self.places)
        if np.bincount(codes[codes >= 0], minlength=1).max() > 1:
            return None
        return codes, self.runs

    def _coded(self, vocabulary: Ids, places: Codes, *, keep: bool = True) -> Codes:
        own = vocabulary is self.ids or vocabulary.values.equals(self.ids.values)
        codes = self.codes
        if not own:
            within = vocabulary.codes(self.ids.values)
            codes = within if codes is None else within[codes]
        return places if codes is None else gather(codes, places, out=None if keep else places)


def _sorted(
    column: pl.Series, known: pl.Series, places: Codes, runs: np.ndarray | None = None, *, every: bool = True
) -> CodedColumn:
    """The column with its ids in order; unless `every` one of those known has a row, others are left out."""
    present = np.ones(len(known), bool)
    if not every:
        present[:] = False
        mark_present(places, present)
    codes = np.full(len(known), -1, np.int32)
    ids, codes[present] = in_order_of_ids(known if present.all() else known.filter(pl.Series(present)))
    return CodedColumn(column, ids, places, codes, runs)


def _marked(column: pl.Series) -> CodedColumn | None:
    """Whole numbers that lie close together: each has a bit, and those before it are counted. Else None."""
    parts = [(piece.to_numpy(), rows) for piece, rows in pieces(column)]
    low, high = min(int(part.min()) for part, _ in parts), max(int(part.max()) for part, _ in parts)
    low -= low % 64
    if high - low >= min(_SPAN, _SPARSE * len(column)):
        return None
    kernels, places = choose("lists", len(column)), np.empty(len(column), np.int32)
    words = kernels.marked_words([part for part, _ in parts], low, high)
    upto = np.cumsum(np.bitwise_count(words), dtype=np.int32)
    for _ in in_order(lambda part: kernels.rank_marked(part[0], low, words, upto, places[part[1]]), parts):
        pass
    return CodedColumn(column, Ids(pl.Series(kernels.marked_integers(words, low))), places)


def _few(column: pl.Series) -> tuple[pl.Series, Codes] | None:
    """Distinct ids, and for each row which it has, where there are few: one pass of one core. Else None."""
    seen, places = FirstSeen(), np.empty(len(column), np.int32)
    for piece, rows in pieces(column):
        seen.code(piece, places[rows])
        if len(seen) > _FEW:
            return None
    return seen.ids, places


def _has_most(ids: pl.Series, column: pl.Series) -> bool:
    """Whether nine of ten of the first rows have one of these ids."""
    first = column[:_SAMPLE]
    return ids.dtype == column.dtype and 10 * int(first.is_in(ids.implode()).sum()) >= 9 * len(first)


def _in_runs(column: pl.Series) -> CodedColumn:
    """A column whose equal ids stand together: one row of each run will do."""
    rows = first_rows(column)
    heads = column.gather(pl.Series(rows, dtype=pl.UInt32))
    runs = np.append(rows, len(column))
    if (heads[1:] > heads[:-1]).all():
        return CodedColumn(column, Ids(heads), np.arange(len(heads), dtype=np.int32), None, runs)
    if heads.n_unique() == len(heads):  # as a rule each id has one run
        return _sorted(column, heads, np.arange(len(heads), dtype=np.int32), runs)
    known = distinct(heads)
    return _sorted(column, known, KeyTable(known).look_up(heads), runs)


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
