"""A metric's values by user, checked, from the columns of a table."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from trueval.data.columns import looks_like
from trueval.errors import DataError
from trueval.online.ab.declared import DEFAULTS, Declared
from trueval.online.ab.estimates import Sample
from trueval.online.ab.events import DERIVED, Users, Visits, derived, ever, in_time, seconds_of, summed
from trueval.online.ab.reading import bad_rows, find_column, numbers

_CLICKS = re.compile(r"(^|_)clicks?(ed)?(_|$)|^ctr$", re.IGNORECASE)


@dataclass(frozen=True)
class Events:
    """A table whose rows know their users, of whom they are events."""

    frame: pl.DataFrame
    where: str
    users: Users
    user: str | None
    time: str | None

    def values(self, name: str, role: str) -> np.ndarray:
        """A column as numbers, row by row."""
        ids = None if self.user is None else self.frame[self.user]
        column = find_column(self.frame, name, role=role, where=self.where)
        return numbers(column, where=self.where, user=ids)

    def known(self, name: str) -> bool:
        """Whether the table itself has a column."""
        return name in self.frame.columns

    def counted(self, name: str, role: str) -> np.ndarray:
        """A column that is counted from events."""
        if name == "events":
            return derived(name, self.users, None)
        if self.time_column is None:
            alike = [column for column in self.frame.columns if looks_like(column, "time")]
            raise DataError(
                f"{name} of {role} is counted from the times of events", where=self.where,
                found=", ".join(alike) or "no column that looks like a time",
                do="name the column with time=… (--time …), or give a column of this name",
            )  # fmt: skip
        return derived(name, self.users, self.visits)

    @property
    def time_column(self) -> str | None:
        """The column of times: the one named, or the only one that looks like it."""
        alike = [column for column in self.frame.columns if looks_like(column, "time")]
        return self.time if self.time is not None else alike[0] if len(alike) == 1 else None

    @cached_property
    def visits(self) -> Visits:
        """Events in the order of users and times."""
        column = find_column(self.frame, self.time_column or "", role="the time", where=self.where)
        return in_time(self.users, seconds_of(column, where=self.where))


def usual_metrics(frame: pl.DataFrame, taken: set[str | None], where: str) -> list[Declared]:
    """Where no metric is named: clicks by impressions, and every other column of numbers as its values suggest."""
    free = [name for name in frame.columns if name not in taken and not looks_like(name, "time")]
    free = [name for name in free if not looks_like(name, "item") and not looks_like(name, "user")]
    free = [name for name in free if frame.schema[name].is_numeric() or frame.schema[name] == pl.Boolean]
    found = []
    if {"clicks", "impressions"} <= set(free):
        found.append(Declared("ctr", "ratio", "clicks", "impressions"))
        free = [name for name in free if name not in ("clicks", "impressions")]
    found += [Declared(name, "", name) for name in free]
    if not found:
        raise DataError(
            "there is nothing to compare", where=where, found="columns " + ", ".join(frame.columns),
            do='name metrics: metrics="ctr=clicks/impressions" (--metrics …)',
        )  # fmt: skip
    return found


def make_sample(table: Events, metric: Declared) -> tuple[Declared, Sample]:
    """A metric's values by user, and the metric with its kind decided."""
    if metric.below:
        above, below = (_per_user_sum(table, name, metric.name) for name in (metric.column, metric.below))
        _check_ratio(table, metric, above, below)
        return metric, Sample(above, below)
    if not table.known(metric.column) and metric.column in DERIVED:
        values, per_user = table.counted(metric.column, metric.name), True
    else:
        values, per_user = table.values(metric.column, metric.name), False
    binary = bool(((values == 0) | (values == 1)).all())
    if not metric.kind:
        kind = "conversion" if binary else "trimmed"
        metric = replace(metric, kind=kind, parameter=DEFAULTS.get(kind))
    if metric.kind == "conversion" and not binary:
        column = find_column(table.frame, metric.column, role=metric.name, where=table.where)
        raise bad_rows(
            column, ~np.isin(values, (0, 1)), f"{metric.name}: a conversion is 0 or 1", where=table.where,
            do=f"write whether it happened, or compare how much: {metric.name}:trimmed={metric.column}",
        )  # fmt: skip
    if not per_user:
        values = (ever if metric.kind == "conversion" else summed)(values, table.users)
    if values.min() == values.max():
        raise _constant(table, metric, values)
    return metric, Sample(values)


def _per_user_sum(table: Events, name: str, role: str) -> np.ndarray:
    if not table.known(name) and name in DERIVED:
        return table.counted(name, role)
    return summed(table.values(name, role), table.users)


def _check_ratio(table: Events, metric: Declared, above: np.ndarray, below: np.ndarray) -> None:
    clicks = bool(_CLICKS.search(metric.column) or _CLICKS.search(metric.name))
    for name, must in ((metric.below, True), (metric.column, clicks)):
        if must and table.known(name) and ((values := table.values(name, metric.name)) < 0).any():
            raise bad_rows(
                table.frame[name], values < 0, f"{metric.name}: {name} must not be negative", where=table.where,
                do="correct these rows",
            )  # fmt: skip
    if not below.sum() > 0:
        raise DataError(
            f"{metric.name} is undefined: every denominator is 0", where=f"{table.where}, column {metric.below}",
            do="check the column",
        )  # fmt: skip
    if clicks and (wrong := above > below).any():
        at = np.flatnonzero(wrong)
        ids = table.users.ids
        shown = [
            f"{'row' if ids is None else 'user'} {i + 1 if ids is None else ids[i]}: "
            f"{metric.column} {above[i]:g}, {metric.below} {below[i]:g}"
            for i in at[:5].tolist()
        ]
        raise DataError(
            f"{metric.name}: more {metric.column} than {metric.below}", where=table.where,
            found=f"{len(at):,} {'users' if len(at) != 1 else 'user'}:\n" + "\n".join(shown),
            do="count both over the same time and the same places",
        )  # fmt: skip
    if (above * below.sum() == below * above.sum()).all():
        raise _constant(table, metric, above / np.where(below > 0, below, 1))


def _constant(table: Events, metric: Declared, values: np.ndarray) -> DataError:
    return DataError(
        f"{metric.name} is the same for every user", where=f"{table.where}, column {metric.column}",
        found=f"{values.max():g} everywhere", do="leave it out, or check the column",
    )  # fmt: skip
