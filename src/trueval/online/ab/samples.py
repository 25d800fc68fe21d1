"""A metric's values by user, checked, from the columns of a table."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from trueval.data.role_names import looks_like
from trueval.errors import DataError, DefinitionError
from trueval.online.ab.choose_statistic import Measured, as_sample, measure_amount
from trueval.online.ab.column_sums import is_bracketed, read_sum
from trueval.online.ab.estimates import Sample
from trueval.online.ab.events import DERIVED, Users, Visits, derived, ever, in_time, seconds_of, summed
from trueval.online.ab.metric_declarations import DeclaredMetric
from trueval.online.ab.read_table import bad_rows, find_column, numbers

_CLICKS = re.compile(r"(^|_)clicks?(ed)?(_|$)|^ctr$", re.IGNORECASE)


@dataclass(frozen=True)
class Events:
    """A table whose rows know their users, of whom they are events."""

    frame: pl.DataFrame
    where: str
    users: Users
    user: str | None
    time: str | None  # the column of times
    time_was_named: bool  # or it only looks like times
    empty: dict[str, int] = field(default_factory=dict)  # rows without a value, by column

    def values(self, name: str, role: str) -> np.ndarray:
        """A column as numbers, row by row. An event without an amount adds nothing to the sum of its user."""
        ids = None if self.user is None else self.frame[self.user]
        column = find_column(self.frame, name, role=role, where=self.where)
        if self.users.repeated and 0 < (gaps := column.null_count()) < len(column):
            self.empty[name] = gaps
            column = column.fill_null("0" if column.dtype == pl.String else 0)
        return numbers(column, where=self.where, user=ids)

    @property
    def names(self) -> list[str]:
        """Columns of the table, and those that can be counted from it."""
        return list(dict.fromkeys([*self.frame.columns, *DERIVED]))

    def known(self, name: str) -> bool:
        """Whether the table itself has a column."""
        return name in self.frame.columns

    def counted(self, name: str, role: str) -> np.ndarray:
        """A column that is counted from events."""
        if name == "events":
            return derived(name, self.users, None)
        if self.time is None:
            alike = [column for column in self.frame.columns if looks_like(column, "time")]
            raise DataError(
                f"{role}: {name} is counted from the times of events, and there is no time column", where=self.where,
                found=", ".join(alike) or "no column that looks like a time",
                do="name the column with time=… (--time …), or give a column of this name",
            )  # fmt: skip
        return derived(name, self.users, self.visits)

    @cached_property
    def visits(self) -> Visits:
        """Events in the order of users and times."""
        column = find_column(self.frame, self.time or "", role="the time", where=self.where)
        return in_time(self.users, seconds_of(column, where=self.where))


def usual_metrics(frame: pl.DataFrame, taken: set[str | None], where: str) -> list[DeclaredMetric]:
    """Where no metric is named: clicks by impressions, and every other column of numbers as its values suggest."""
    free = [name for name in frame.columns if name not in taken and not looks_like(name, "time")]
    free = [name for name in free if not looks_like(name, "item") and not looks_like(name, "user")]
    free = [name for name in free if frame.schema[name].is_numeric() or frame.schema[name] == pl.Boolean]
    found = []
    if {"clicks", "impressions"} <= set(free):
        found.append(DeclaredMetric("ctr", "ratio", "clicks", "impressions"))
        free = [name for name in free if name not in ("clicks", "impressions")]
    found += [DeclaredMetric(name, "", name) for name in free]
    if not found:
        raise DataError(
            "there is nothing to compare", where=where, found="columns " + ", ".join(frame.columns),
            do='name metrics: metrics="ctr=clicks/impressions" (--metrics …)',
        )  # fmt: skip
    return found


def make_samples(table: Events, metric: DeclaredMetric) -> tuple[list[Measured], str]:
    """A metric's values by user with its kind decided, and why where that was decided by the values.

    An amount that is 0 for most users becomes three metrics.
    """
    if metric.below:
        _check_brackets(metric, table)
        above, below = (_per_user_sum(table, side, metric.name) for side in (metric.column, metric.below))
        _check_ratio(table, metric, above, below)
        return [(metric, Sample(above, below))], ""
    values, per_user = _measured(table, metric.column, metric.name)
    binary = bool(((values == 0) | (values == 1)).all())
    if not metric.kind and binary:
        metric = replace(metric, kind="conversion")
    if metric.kind == "conversion" and not binary:
        raise bad_rows(
            pl.Series(metric.column, values), ~np.isin(values, (0, 1)), f"{metric.name}: a conversion is 0 or 1",
            where=table.where, do=f"write whether it happened, or compare how much: {metric.name}={metric.column}",
        )  # fmt: skip
    if not per_user:
        values = (ever if metric.kind == "conversion" else summed)(values, table.users)
    if not metric.kind:
        _check_varies(table, metric, values)
        return measure_amount(metric, values)
    sample = as_sample(metric, values)
    _check_varies(table, metric, values if metric.kind == "per_payer" else sample.values)
    return [(metric, sample)], ""


def columns_of(table: Events, metric: DeclaredMetric) -> list[str]:
    """The columns that a metric is made of, those counted from events included."""
    sides = filter(None, (metric.column, metric.below))
    return [name for side in sides for _, name in read_sum(side, table.names)]


def _measured(table: Events, side: str, role: str) -> tuple[np.ndarray, bool]:
    """A column or a sum of columns, row by row; by user if a part of it is counted from events."""
    terms = read_sum(side, table.names)
    per_user = any(not table.known(name) and name in DERIVED for _, name in terms)
    total: np.ndarray | float = 0.0
    for sign, name in terms:
        if not per_user:
            part = table.values(name, role)
        elif table.known(name):
            part = summed(table.values(name, role), table.users)
        else:
            part = table.counted(name, role)
        total = total + sign * part
    return np.asarray(total, np.float64), per_user


def _per_user_sum(table: Events, side: str, role: str) -> np.ndarray:
    values, per_user = _measured(table, side, role)
    return values if per_user else summed(values, table.users)


def _check_brackets(metric: DeclaredMetric, table: Events) -> None:
    """`yes+no/all` would be read as yes + no/all by most people."""
    for side in (metric.column, metric.below):
        if len(read_sum(side, table.names)) > 1 and not is_bracketed(side):
            raise DefinitionError(
                f"{metric.name}: a sum in a ratio needs brackets", where=f"{metric.column}/{metric.below}",
                found=side, do=f"write ({side})",
            )  # fmt: skip


def _check_varies(table: Events, metric: DeclaredMetric, values: np.ndarray) -> None:
    if values.min() == values.max():
        raise _constant(table, metric, values)


def _check_ratio(table: Events, metric: DeclaredMetric, above: np.ndarray, below: np.ndarray) -> None:
    clicks = bool(_CLICKS.search(metric.column) or _CLICKS.search(metric.name))
    for side, must in ((metric.below, True), (metric.column, clicks)):
        values, per_user = _measured(table, side, metric.name)
        if must and not per_user and (values < 0).any():
            column = table.frame[side] if table.known(side) else pl.Series(side, values)
            raise bad_rows(
                column, values < 0, f"{metric.name}: {side} must not be negative", where=table.where,
                do="correct these rows",
            )  # fmt: skip
    if (below < 0).any():
        raise DataError(
            f"{metric.name}: {metric.below} must not be negative", where=table.where,
            found=f"{int((below < 0).sum()):,} users below 0", do="check the columns, and what is subtracted",
        )  # fmt: skip
    if not below.sum() > 0:
        raise DataError(
            f"{metric.name} is undefined: every denominator is 0", where=f"{table.where}, column {metric.below}",
            do="check the column",
        )  # fmt: skip
    if clicks and (wrong := above > below).any():
        at = np.flatnonzero(wrong)
        ids = table.users.ids
        examples = [
            f"{'row' if ids is None else 'user'} {i + 1 if ids is None else ids[i]}: "
            f"{metric.column} {above[i]:g}, {metric.below} {below[i]:g}"
            for i in at[:5].tolist()
        ]
        raise DataError(
            f"{metric.name}: more {metric.column} than {metric.below}", where=table.where,
            found=f"{len(at):,} {'users' if len(at) != 1 else 'user'}:\n" + "\n".join(examples),
            do="count both over the same time and the same places",
        )  # fmt: skip
    if (above * below.sum() == below * above.sum()).all():
        raise _constant(table, metric, above / np.where(below > 0, below, 1))


def _constant(table: Events, metric: DeclaredMetric, values: np.ndarray) -> DataError:
    return DataError(
        f"{metric.name} is the same for every user", where=f"{table.where}, column {metric.column}",
        found=f"{values.max():g} everywhere", do="leave it out, or check the column",
    )  # fmt: skip
