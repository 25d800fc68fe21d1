"""Dates of a table that no calendar has: the engine of the tables cannot write them, and ends the program instead."""

from __future__ import annotations

import polars as pl

from trueval.errors import DataError

_DAY = 86_400
_FIRST, _LAST = -719_162 * _DAY, 2_932_897 * _DAY - 1  # seconds of the years 1 to 9999, from 1970
_TICKS = {"ms": 10**3, "us": 10**6, "ns": 10**9}


def in_calendar(column: pl.Series) -> bool:
    """Whether every date lies in the years 1 to 9999; columns of other types always do.

    >>> in_calendar(pl.Series([0, 10**9], dtype=pl.Int32).cast(pl.Date))
    False
    """
    kind = column.dtype
    if kind == pl.Date:
        first, last = _FIRST // _DAY, _LAST // _DAY
    elif isinstance(kind, pl.Datetime):
        ticks = _TICKS[kind.time_unit]
        first, last = max(_FIRST * ticks, -(2**63)), min((_LAST + 1) * ticks - 1, 2**63 - 1)
    else:
        return True
    return bool(column.to_physical().is_between(first, last).all())


def check_calendar(column: pl.Series, *, what: str, where: str) -> None:
    """Refuse dates that cannot be written."""
    if not in_calendar(column):
        raise DataError(
            f"{what} lie outside the years 1 to 9999",
            where=where,
            found=f"type {column.dtype}, the largest {column.to_physical().max()!r} since 1970",
            do="correct the unit or the type of the column",
        )


def showable(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows for a message: dates that cannot be written become the numbers that they are stored as.

    >>> showable(pl.DataFrame({"day": pl.Series([10**9], dtype=pl.Int32).cast(pl.Date)})).rows()
    [(1000000000,)]
    """
    return rows.with_columns(column.to_physical() for column in rows if not in_calendar(column))
