"""What was known of users before the test, one value each: what chance should have spread evenly over the arms."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from trueval.data.ids import as_text
from trueval.errors import DataError
from trueval.online.ab.events import DAY, one_per_user, seconds_of
from trueval.online.ab.read_table import find_column, numbers
from trueval.online.ab.samples import Events

MOST_LEVELS = 50  # a text column with more values that nobody asked about is a name or an id
_FEW_NUMBERS = 20  # a column of so few different numbers is one of groups
_MOST_DAYS, _NOT_SECONDS = 400, 100_000  # whole numbers of so few values, all of them small, count days


@dataclass(frozen=True, slots=True)
class Covariate:
    """A value per user: a place in `labels`, or a number. `role` is segment, day, covariate or before.

    `asked` says that somebody named the column, and so vouched that the arm cannot have changed it.
    """

    name: str
    role: str
    values: np.ndarray
    labels: tuple[str, ...] = ()
    asked: bool = True

    def taken(self, order: np.ndarray) -> Covariate:
        """The same of users in another order."""
        return replace(self, values=self.values[order])


def grouped(name: str, role: str, groups: np.ndarray | pl.Series) -> Covariate:
    """A covariate of groups.

    >>> grouped("country", "segment", np.array(["it", "at", "it"])).values.tolist()
    [1, 0, 1]
    """
    column = pl.Series(groups, dtype=pl.String)
    labels = column.unique().sort().to_list()
    codes = column.replace_strict(labels, list(range(len(labels))), return_dtype=pl.Int64).to_numpy()
    return Covariate(name, role, codes, tuple(labels))


def named_covariate(table: Events, name: str) -> list[Covariate]:
    """A column that somebody asked about: groups, or numbers if there are many; missing values are a group."""
    find_column(table.frame, name, role="the balance of arms", where=table.where)
    own = _one(table, name)
    kind = own.dtype
    if kind.is_numeric() and own.n_unique() > _FEW_NUMBERS:
        missing = (own.is_null() | (own.is_nan() if kind.is_float() else False)).to_numpy()
        values = np.full(len(own), np.nan)
        values[~missing] = numbers(own.filter(pl.Series(~missing)), where=table.where)
        gaps = [grouped(f"{name} known", "covariate", np.where(missing, "missing", "known"))] if missing.any() else []
        return [Covariate(name, "covariate", values), *gaps]
    return [grouped(name, "covariate", _group_labels(own, table.where))]


def unasked_covariates(table: Events, taken: Collection[str | None]) -> list[Covariate]:
    """Columns of text with few values, one per user, that nothing else uses: likely known before the test."""
    found = []
    for name in table.frame.columns:
        kind = table.frame.schema[name]
        if name in taken or not (kind in (pl.String, pl.Categorical) or isinstance(kind, pl.Enum)):
            continue
        if not 2 <= table.frame[name].n_unique() <= MOST_LEVELS:
            continue
        try:
            own = _one(table, name)
        except DataError:  # it changes from row to row: something that happened, not something of the user
            continue
        found.append(replace(grouped(name, "covariate", _group_labels(own, table.where)), asked=False))
    return found


def days(table: Events) -> tuple[Covariate | None, str]:
    """The day (UTC) of each user's first event; nothing where there is no time, or only one day. And a note."""
    name = table.time
    if name is None:
        return None, ""
    column = find_column(table.frame, name, role="the time", where=table.where)
    counted = column.dtype.is_integer() and not column.null_count() and column.n_unique() <= _MOST_DAYS
    try:
        if counted and bool((column.abs() < _NOT_SECONDS).all()):
            day = column.to_numpy().astype(np.float64)
        else:
            counted, day = False, np.floor(seconds_of(column, where=table.where) / DAY)
    except DataError:
        if table.time_was_named:
            raise
        return None, f"{name} could not be read as times: sample ratios were not checked by day"
    first = np.full(table.users.n, np.inf)
    np.minimum.at(first, table.users.of_row, day)
    found, codes = np.unique(first.astype(np.int64), return_inverse=True)
    if len(found) < 2:
        return None, ""
    labels = tuple(_day_label(one, counted) for one in found.tolist())
    return Covariate(name, "day", codes, labels, asked=table.time_was_named), ""


def _day_label(day: int, counted: bool) -> str:
    if counted:
        return str(day)
    try:
        return (dt.date(1970, 1, 1) + dt.timedelta(days=day)).isoformat()
    except OverflowError:
        return f"day {day}"


def past_covariates(names: Sequence[str], past: np.ndarray | None) -> list[Covariate]:
    """The columns that CUPED uses."""
    return [] if past is None else [Covariate(name, "before", column) for name, column in zip(names, past.T)]


def _one(table: Events, name: str) -> pl.Series:
    what = "a column checked for balance must have one value per user"
    do = "give one value from before the test per user"
    return one_per_user(table.frame[name], table.users, what=what, where=table.where, do=do)


def _group_labels(own: pl.Series, where: str) -> pl.Series:
    labels = as_text(own, what="groups", where=f"{where}, column {own.name}")
    return labels.fill_null("(missing)")
