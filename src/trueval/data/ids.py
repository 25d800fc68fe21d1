"""Identifiers of users and items, and the dense codes that stand for them inside."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from trueval.data.calendar import check_calendar
from trueval.data.column_pieces import pieces
from trueval.data.key_tables import Codes, KeyTable, by_hash, distinct
from trueval.errors import DataError
from trueval.kernels import choose, gather, in_order

# Integers of 128 bits, which NumPy does not have; nor has every version of polars both.
WIDE = tuple(getattr(pl, name) for name in ("Int128", "UInt128") if hasattr(pl, name))
# A lookup table is worth its memory while it is at most this many times the number of ids
# (or small in absolute terms), and its time where no fewer ids than a share of it are looked up.
_TABLE_FACTOR, _TABLE_SMALL, _TABLE_SHARE = 16, 1 << 24, 1 / 32
_NARROW = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)


def plain(series: pl.Series, *, where: str) -> pl.Series:
    """Ids as Int64, UInt64 or String, so that equal ids are equal whatever type carried them.

    >>> plain(pl.Series([1, 2], dtype=pl.Int16), where="recs").dtype
    Int64
    """
    kind = series.dtype
    if kind.is_integer():
        if kind == pl.UInt64:
            return series if (series > 2**63 - 1).any() else series.cast(pl.Int64)
        return series.cast(pl.Int64) if kind in _NARROW else _of_wide(series)
    if kind in (pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    if kind == pl.String:
        return series
    if kind == pl.Boolean or kind.is_float():
        whole = kind.is_float() and bool((series.is_null() | (series == series.floor())).all())
        do = "write the ids as integers" if whole else "use integer or string ids"
        raise DataError("ids must be integers or strings", where=where, found=f"type {kind}", do=do)
    if kind == pl.Null:
        raise DataError("ids are all missing", where=where, found="only nulls", do="fill the id column")
    return as_text(series, what="ids", where=where)


def _of_wide(series: pl.Series) -> pl.Series:
    """Integers of 128 bits in fewer where they fit, else as text: the types that a text file's ids would get.

    >>> _of_wide(pl.Series([2**70, 1], dtype=pl.Int128)).to_list()
    ['1180591620717411303424', '1']
    """
    for kind in (pl.Int64, pl.UInt64):
        narrow = series.cast(kind, strict=False)
        if narrow.null_count() == series.null_count():
            return narrow
    return series.cast(pl.String)


def as_text(series: pl.Series, *, what: str, where: str) -> pl.Series:
    """Entries as text, whose type must have one.

    >>> as_text(pl.Series([[1, 2]]), what="arms", where="table, column arm")
    Traceback (most recent call last):
    trueval.errors.DataError: arms must be text or numbers, one per row
      where: table, column arm
      found: type List(Int64)
      do:    name another column, or write it as text
    """
    if series.dtype.is_nested() or series.dtype in (pl.Object, pl.Binary, pl.Duration):
        raise DataError(
            f"{what} must be text or numbers, one per row",
            where=where,
            found=f"type {series.dtype}",
            do="name another column, or write it as text",
        )
    check_calendar(series, what=what, where=where)
    return series.cast(pl.String)


@dataclass(frozen=True)
class Ids:
    """A sorted vocabulary of ids; an id's code is its place in it.

    Codes depend on the set of ids alone, never on the order of rows.

    >>> ids = Ids.of(pl.Series(["b", "a", "b"]))
    >>> ids.codes(pl.Series(["a", "b", "z"])).tolist()
    [0, 1, -1]
    >>> ids.decode(np.array([1, 0])).to_list()
    ['b', 'a']
    """

    values: pl.Series

    @staticmethod
    def of(*columns: pl.Series) -> Ids:
        """The vocabulary of all ids in some columns (of one type: see `plain`)."""
        columns = _one_type(columns)
        if all(column.dtype.is_integer() for column in columns) and (dense := _distinct_integers(columns)) is not None:
            return Ids(dense)
        found = [distinct(column) for column in columns]
        joined = found[0] if len(found) == 1 else pl.concat(found).unique()
        return Ids(joined.drop_nulls().sort())

    def joined(self, *columns: pl.Series) -> Ids:
        """The vocabulary of these ids and those of some columns, of which most are here as a rule.

        >>> Ids(pl.Series(["a", "c"])).joined(pl.Series(["b", "c"])).values.to_list()
        ['a', 'b', 'c']
        """
        if any(column.dtype != self.values.dtype for column in columns):
            return Ids.of(self.values, *columns)
        new = [column.filter(pl.Series(self.codes(column) < 0)) for column in columns]
        if not any(map(len, new)):
            return self
        return Ids(pl.concat([self.values, Ids.of(*new).values]).sort())

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def _offset(self) -> int | None:
        """First id, where a lookup table over the span of the ids is affordable."""
        if not self.values.dtype.is_integer() or not len(self):
            return None
        low, high = int(self.values[0]), int(self.values[-1])
        span = high - low + 1
        return low if span <= max(_TABLE_SMALL, _TABLE_FACTOR * len(self)) else None

    @cached_property
    def table(self) -> np.ndarray:
        """Code of id `low + j` at place j, -1 where there is none (only for integer ids close together)."""
        values = self.values.to_numpy()
        table = np.full(int(values[-1]) - int(values[0]) + 1, -1, np.int32)
        table[values - values[0]] = np.arange(len(values), dtype=np.int32)
        return table

    @cached_property
    def _codebook(self) -> pl.DataFrame:
        codes = pl.int_range(0, len(self), dtype=pl.Int32, eager=True).alias("code")
        return pl.DataFrame([self.values.alias("id"), codes])

    @cached_property
    def _keys(self) -> KeyTable:
        return KeyTable(self.values)

    def codes(self, column: pl.Series) -> Codes:
        """Codes of a column of ids, -1 for ids outside the vocabulary."""
        if not len(self):
            return np.full(len(column), -1, np.int32)
        if column.dtype != self.values.dtype and column.dtype.is_integer() and self.values.dtype.is_integer():
            column = column.cast(self.values.dtype, strict=False)  # what does not fit becomes null: unknown
        if self._offset is not None and column.dtype.is_integer() and not column.null_count():
            return self._by_table(column, self._offset)
        if by_hash(column):
            return self._keys.look_up(column)
        joined = column.alias("id").to_frame().join(self._codebook, on="id", how="left", maintain_order="left")
        return joined["code"].fill_null(-1).to_numpy(writable=True)

    def _by_table(self, column: pl.Series, low: int) -> Codes:
        if "table" not in self.__dict__ and len(column) < _TABLE_SHARE * (int(self.values[-1]) - low + 1):
            return _by_search(column.to_numpy(), self.values.to_numpy())
        out = np.empty(len(column), np.int32)
        kernel, first = choose("lists", len(column)).look_up, self.values.to_numpy().dtype.type(low)
        parts = pieces(column)
        for _ in in_order(lambda piece: kernel(piece[0].to_numpy(), first, self.table, out[piece[1]]), parts):
            pass
        return out

    def decode(self, codes: Codes) -> pl.Series:
        """Ids of some codes."""
        return self.values.gather(pl.Series(codes, dtype=pl.UInt32))


def in_order_of_ids(found: pl.Series) -> tuple[Ids, Codes]:
    """Distinct ids as a vocabulary, and the codes that they have in it.

    >>> ids, codes = in_order_of_ids(pl.Series(["b", "c", "a"]))
    >>> ids.values.to_list(), codes.tolist()
    (['a', 'b', 'c'], [1, 2, 0])
    """
    order = found.arg_sort().to_numpy()
    codes = np.empty(len(order), np.int32)
    codes[order] = np.arange(len(order), dtype=np.int32)
    return Ids(found[order]), codes


def recode(codes: Codes, rows: Codes) -> Codes:
    """The codes of rows in another vocabulary, given those of the ids that they have; as they are, where all stay.

    >>> rows = np.array([1, 0, 1], np.int32)
    >>> recode(np.array([2, 5], np.int32), rows).tolist(), recode(np.array([0, 1]), rows) is rows
    ([5, 2, 5], True)
    """
    stay = (codes == np.arange(len(codes))).all()
    return rows if stay else gather(codes.astype(np.int32, copy=False), rows)


def _by_search(ids: np.ndarray, known: np.ndarray) -> Codes:
    """Places of ids among sorted ones, -1 for others.

    >>> _by_search(np.array([9, 5, 6]), np.array([5, 7])).tolist()
    [-1, 0, -1]
    """
    places = np.searchsorted(known, ids)
    found = np.take(known, places, mode="clip") == ids
    return np.where(found, places, -1).astype(np.int32)


def _one_type(columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
    """Ids beyond the reach of Int64 in one column make all columns UInt64; text and numbers are never the same ids."""
    kinds = {column.dtype for column in columns}
    if pl.String in kinds and len(kinds) > 1:
        text, number = (next(c for c in columns if (c.dtype == pl.String) == is_text) for is_text in (True, False))
        raise DataError(
            "ids are text in one table and numbers in another", found=f"e.g. {text.first()!r} and {number.first()!r}",
            do="write the ids with one type in all tables",
        )  # fmt: skip
    if kinds != {pl.Int64, pl.UInt64}:
        return columns
    if any((column < 0).any() for column in columns):
        raise DataError(
            "ids below 0 and above 2^63 cannot be compared", found="both kinds in one set of ids", do="use string ids"
        )
    return tuple(column.cast(pl.UInt64) for column in columns)


def _distinct_integers(columns: tuple[pl.Series, ...]) -> pl.Series | None:
    """Distinct integers, where they lie close together; many of them are marked in a table, not hashed or sorted."""
    bounds = [(column.min(), column.max()) for column in columns if column.null_count() < len(column)]
    if not bounds:
        return None
    low, high = min(int(b[0]) for b in bounds), max(int(b[1]) for b in bounds)  # type: ignore[arg-type]
    rows = sum(map(len, columns))
    if high - low + 1 > min(max(_TABLE_SMALL, rows), 1 << 28) or high > 2**63 - 1:
        return None
    if rows < _TABLE_SHARE * (high - low + 1):
        return pl.concat([column.drop_nulls() for column in columns]).unique().sort().cast(pl.Int64)
    parts = [piece.to_numpy() for column in columns for piece, _ in pieces(column.drop_nulls())]
    return pl.Series(choose("lists", rows).distinct_integers(parts, low, high), dtype=pl.Int64)


def check_id_type(frame: pl.DataFrame, role: str, *, where: str) -> None:
    """Refuse a column whose entries cannot each be one id.

    >>> check_id_type(pl.DataFrame({"item": [[1, 2]]}), "item", where="recs")
    Traceback (most recent call last):
    trueval.errors.DataError: ids must be integers or strings
      where: recs, column item
      found: type List(Int64)
      do:    write one id per row
    """
    kind = frame.schema[role]
    if kind.is_nested() or kind in (pl.Object, pl.Binary):
        raise DataError(
            "ids must be integers or strings",
            where=f"{where}, column {role}",
            found=f"type {kind}",
            do="write one id per row",
        )


def check_same_kind(left: pl.Series, right: pl.Series, *, role: str, where: tuple[str, str]) -> None:
    """Refuse to compare integer ids with string ids: every one of them would look unknown."""

    def kind(series: pl.Series) -> str:
        return "integer" if series.dtype.is_integer() else "string"

    if kind(left) == kind(right) or not len(left) or not len(right):
        return
    sample = f"{where[0]}: {kind(left)}, e.g. {left[0]!r}\n{where[1]}: {kind(right)}, e.g. {right[0]!r}"
    raise DataError(
        f"{role} ids are of different types in the two tables",
        where=f"{where[0]} and {where[1]}",
        found=sample,
        do=f"write the {role} ids with one type in both tables",
    )
