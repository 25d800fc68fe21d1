"""From rows of events to one value per user: sums, whether ever, sessions, and who came back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from trueval.errors import DataError, rows_found

GAP = 30 * 60  # seconds without an event that end a session
DAY = 24 * 3600
# Columns that need not be in a table of events, for they are counted from it.
DERIVED = {
    "events": "number of rows of the user",
    "sessions": f"number of visits of the user, separated by more than {GAP // 60} minutes without an event",
    "session_length": "mean seconds from the first to the last event of a user's sessions",
    "returned": "whether the user had an event on a later day (UTC) than the first",
}


@dataclass(frozen=True)
class Users:
    """Which user each row belongs to: codes in the order of ids, or every row its own user."""

    of_row: np.ndarray
    n: int
    ids: pl.Series | None = None  # by code

    @property
    def repeated(self) -> bool:
        """Whether some user has several rows."""
        return len(self.of_row) > self.n

    @cached_property
    def first_row(self) -> np.ndarray:
        """The first row of each user."""
        rows = np.empty(self.n, np.int64)
        rows[self.of_row[::-1]] = np.arange(len(self.of_row))[::-1]  # the last one written is the first row
        return rows

    @cached_property
    def most_rows(self) -> int:
        """Rows of the user who has most."""
        return int(np.bincount(self.of_row).max())


def summed(values: np.ndarray, users: Users) -> np.ndarray:
    """A sum per user, the same bits whatever the order of rows.

    >>> summed(np.array([1.0, 2.0, 4.0]), Users(np.array([1, 0, 1]), 2)).tolist()
    [2.0, 5.0]
    """
    if not users.repeated:
        return values[users.first_row]
    top = float(np.abs(values).max()) * users.most_rows
    if top > 0 and not np.array_equal(values, np.rint(values)):
        # Multiples of a grid whose sums stay below 2^53 steps are added without rounding, in any order.
        grid = 2.0 ** (math.frexp(top)[1] - 52)
        values = np.rint(values / grid) * grid
    return np.bincount(users.of_row, values, minlength=users.n)


def ever(values: np.ndarray, users: Users) -> np.ndarray:
    """1 for users with at least one row above 0.

    >>> ever(np.array([0.0, 1.0, 0.0]), Users(np.array([0, 0, 1]), 2)).tolist()
    [1.0, 0.0]
    """
    return (np.bincount(users.of_row, values, minlength=users.n) > 0).astype(np.float64)


def one_per_user(column: pl.Series, users: Users, *, what: str, where: str, do: str) -> pl.Series:
    """A column that must be the same in all rows of a user."""
    first = column.gather(pl.Series(users.first_row))
    if users.repeated:
        wrong = column.ne_missing(first.gather(pl.Series(users.of_row))).to_numpy()
        if wrong.any():
            codes = np.unique(users.of_row[wrong])
            rows = [_values_of(column, users, code) for code in codes[:5].tolist()]
            found = rows_found(rows, len(codes)).replace("rows", "users", 1).replace("row", "user", 1)
            raise DataError(what, where=f"{where}, column {column.name}", found=found, do=do)
    return first


def _values_of(column: pl.Series, users: Users, code: int) -> str:
    values = column.filter(pl.Series(users.of_row == code)).unique().sort().to_list()
    name = code if users.ids is None else users.ids[code]
    return f"user {name}: " + ", ".join(str(value) for value in values[:4]) + ("…" if len(values) > 4 else "")


@dataclass(frozen=True, slots=True)
class Visits:
    """Events in the order of users and times: whose they are, and when, in seconds."""

    user: np.ndarray
    time: np.ndarray


def in_time(users: Users, seconds: np.ndarray) -> Visits:
    """Put events in order, to the microsecond.

    >>> in_time(Users(np.array([1, 0, 1]), 2), np.array([5.0, 7.0, 2.5])).time.tolist()
    [7.0, 2.5, 5.0]
    """
    begin = seconds.min()
    ticks = np.rint((seconds - begin) * 1e6)
    span = int(ticks.max()) + 1
    if users.n * span < 2**63:  # one sort of numbers, instead of one by two keys
        user, ticks = np.divmod(np.sort(users.of_row * span + ticks.astype(np.int64)), span)
        return Visits(user, begin + ticks / 1e6)
    order = np.lexsort((seconds, users.of_row))
    return Visits(users.of_row[order], seconds[order])


def derived(name: str, users: Users, visits: Visits | None) -> np.ndarray:
    """One of the columns that are counted from events; all but the number of events need times.

    >>> users = Users(np.array([0, 0, 0, 1]), 2)
    >>> visits = in_time(users, np.array([0.0, 60.0, 90_000.0, 5.0]))
    >>> derived("sessions", users, visits).tolist(), derived("session_length", users, visits).tolist()
    ([2.0, 1.0], [30.0, 0.0])
    >>> derived("returned", users, visits).tolist()
    [1.0, 0.0]
    """
    if visits is None or name == "events":
        return np.bincount(users.of_row, minlength=users.n).astype(np.float64)
    user, time = visits.user, visits.time
    first = np.concatenate([[True], user[1:] != user[:-1]])
    if name == "returned":
        day = np.floor(time / DAY)
        begun = day[first][np.cumsum(first) - 1]
        return (np.bincount(user, day > begun, minlength=users.n) > 0).astype(np.float64)
    begins = first | np.concatenate([[True], np.diff(time) > GAP])
    sessions = np.bincount(user[begins], minlength=users.n).astype(np.float64)
    if name == "sessions":
        return sessions
    ends = np.concatenate([begins[1:], [True]])
    return np.bincount(user[begins], time[ends] - time[begins], minlength=users.n) / sessions


def seconds_of(column: pl.Series, *, where: str) -> np.ndarray:
    """Times as seconds: numbers are seconds, milliseconds or microseconds since 1970 by their size; dates; ISO text.

    >>> seconds_of(pl.Series("time", ["2026-01-01 00:00:10"]), where="table").tolist()
    [1767225610.0]
    """
    kind, values = column.dtype, column
    if kind == pl.String:
        try:
            values = column.str.to_datetime(strict=False, time_unit="us")
        except pl.exceptions.PolarsError:
            values = pl.Series(column.name, [None] * len(column), dtype=pl.Datetime("us"))
        if values.null_count() and not column.cast(pl.Float64, strict=False).null_count():
            values = column.cast(pl.Float64)
    if values.dtype == pl.Date or isinstance(values.dtype, pl.Datetime):
        found = values.cast(pl.Datetime("us")).cast(pl.Float64) / 1e6
    elif values.dtype.is_numeric():
        most = values.cast(pl.Float64).abs().max()
        unit = 1.0 if most is None or most < 1e11 else 1e3 if most < 1e14 else 1e6  # type: ignore[operator]
        found = values.cast(pl.Float64) / unit
    else:
        found = pl.Series([None] * len(column), dtype=pl.Float64)
    seconds = found.fill_null(np.nan).to_numpy()
    wrong = ~np.isfinite(seconds)
    if wrong.any():
        at = np.flatnonzero(wrong)
        raise DataError(
            "times are missing or could not be read", where=f"{where}, column {column.name}",
            found=rows_found([f"row {i + 1}: {column[i]!r}" for i in at[:5].tolist()], len(at)),
            do="write seconds since 1970 or 2026-01-31 12:00:00",
        )  # fmt: skip
    return seconds
