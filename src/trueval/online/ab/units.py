"""One row per user, whatever the table was: arms, what is compared, what was known before, segments."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from trueval.data.ids import Ids, as_text, plain
from trueval.errors import DataError, DefinitionError
from trueval.online.ab.arms import Arms, make_arms
from trueval.online.ab.choose_statistic import Measured
from trueval.online.ab.covariates import (
    Covariate,
    days,
    grouped,
    named_covariate,
    past_covariates,
    unasked_covariates,
)
from trueval.online.ab.estimates import Sample
from trueval.online.ab.events import DERIVED, Users, one_per_user
from trueval.online.ab.metric_declarations import DeclaredMetric, check_names
from trueval.online.ab.read_table import ab_columns, bad_rows, find_column, numbers
from trueval.online.ab.samples import Events, columns_of, make_samples, usual_metrics


@dataclass(frozen=True, slots=True)
class Units:
    """Users of a test. `arm` holds places in `arms`, of which the first is the control."""

    arms: tuple[str, ...]
    arm: np.ndarray
    metrics: tuple[DeclaredMetric, ...]
    samples: dict[str, Sample]
    past: np.ndarray | None  # one column per thing known before the test
    segments: dict[str, np.ndarray]
    user: str | None
    rows: int
    notes: tuple[str, ...] = ()
    covariates: tuple[Covariate, ...] = ()
    why_control: str = ""
    columns: tuple[str, ...] = ()  # that metrics are made of

    def sample(self, metric: str, arm: int, within: np.ndarray | None = None) -> Sample:
        """One arm's users, perhaps of one segment."""
        chosen = self.chosen(arm, within)
        whole = self.samples[metric]
        return Sample(whole.values[chosen], None if whole.below is None else whole.below[chosen])

    def chosen(self, arm: int, within: np.ndarray | None = None) -> np.ndarray:
        """Which users are in an arm, and in a segment."""
        return self.arm == arm if within is None else (self.arm == arm) & within

    def fingerprint(self) -> str:
        """Equal for equal users, arms and values."""
        digest = hashlib.sha256("/".join(map(str, (self.arms, *self.metrics))).encode())
        arrays = [self.arm, *(side for s in self.samples.values() for side in (s.values, s.below)), self.past]
        for array in arrays:
            digest.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:16]

    @property
    def users(self) -> dict[str, int]:
        """Number of users by arm."""
        return dict(zip(self.arms, np.bincount(self.arm, minlength=len(self.arms)).tolist()))


def make_units(
    frame: pl.DataFrame,
    where: str,
    *,
    arm: str,
    metrics: Sequence[DeclaredMetric] | None = None,
    user: str | None = None,
    pre: Sequence[str] = (),
    segments: Sequence[str] = (),
    balance: Sequence[str] = (),
    time: str | None = None,
    control: str | None = None,
) -> Units:
    """Check a table and bring it to one row per user.

    >>> frame = pl.DataFrame({"user": [1, 1, 2, 3, 4], "arm": list("aabab"), "clicks": [1, 0, 2, 0, 1]})
    >>> from trueval.online.ab.metric_declarations import parse_metrics
    >>> units = make_units(frame, "table", arm="arm", metrics=parse_metrics("x:mean=clicks"))
    >>> units.users, units.sample("x", 0).values.tolist()
    ({'a': 2, 'b': 2}, [1.0, 0.0])
    """
    roles = ab_columns(frame, arm=arm, user=user, time=time, where=where)
    user = roles.get("user")
    table = Events(frame, where, _users(frame, user, where), user, roles.get("time"), time is not None)
    arms = make_arms(frame[arm], table.users, control=control, where=where)
    for name in (*segments, *pre):
        find_column(frame, name, role="segments" if name in segments else "the past", where=where)
    if metrics is None:
        metrics = usual_metrics(frame, {arm, user, time, *pre, *segments, *balance}, where)
    built, why = _measured(table, metrics, arms)
    past, known, past_notes = _past(table, pre)
    columns = tuple(dict.fromkeys(name for metric, _ in built for name in columns_of(table, metric)))
    _check_roles(columns, {"pre": pre, "segments": segments, "balance": balance}, where)
    used = {arm, user, table.time, *pre, *columns}
    groups = {name: _segment(table, name) for name in segments}
    covariates, more = _covariates(table, groups, past_covariates(known, past), balance, used)
    notes = (*_notes(frame, table, [metric for metric, _ in built]), *why, *past_notes, *more)
    units = Units(
        arms.names, arms.codes, tuple(metric for metric, _ in built), {metric.name: sample for metric, sample in built},
        past, groups, user, len(frame), notes, covariates, arms.why, columns,
    )  # fmt: skip
    return units if user is not None else _in_order(units)


def _check_roles(columns: Sequence[str], named: Mapping[str, Sequence[str]], where: str) -> None:
    """What is compared may differ between the arms, so it cannot be something from before the test as well."""
    for role, names in named.items():
        both = [name for name in names if name in columns]
        if both:
            raise DefinitionError(
                f"{both[0]} is compared between the arms, so it cannot also be known before the test",
                where=f"{where}, {role}", found=", ".join(both),
                do=f"leave it out of {role}, or out of the metrics",
            )  # fmt: skip


def _measured(table: Events, metrics: Sequence[DeclaredMetric], arms: Arms) -> tuple[list[Measured], list[str]]:
    """All metrics with their values, and why a statistic was chosen."""
    built: list[Measured] = []
    why = []
    for metric in metrics:
        some, reason = make_samples(table, metric)
        why += [reason] if reason else []
        for one, sample in some:
            if not metric.kind and one.kind == "per_payer" and np.bincount(arms.codes, sample.below).min() < 2:
                why.append(f"{one.name} is left out: an arm has fewer than two payers")
            else:
                built.append((one, sample))
    check_names([metric for metric, _ in built])
    return built, why


def _covariates(
    table: Events, groups: Mapping[str, np.ndarray], past: Sequence[Covariate], balance: Sequence[str],
    used: set[str | None],
) -> tuple[tuple[Covariate, ...], list[str]]:  # fmt: skip
    """What the arms should have alike: segments, days, the past, what was named, and columns nobody asked about."""
    found = [grouped(name, "segment", labels) for name, labels in groups.items()]
    day, note = days(table)
    found += [] if day is None or day.name in groups else [day]
    found += past
    for name in balance:
        if name not in groups:
            found += named_covariate(table, name)
    found += unasked_covariates(table, {*used, *groups, *balance})
    return tuple(found), [note] if note else []


def _users(frame: pl.DataFrame, user: str | None, where: str) -> Users:
    if user is None:
        return Users(np.arange(len(frame)), len(frame))
    column = frame[user]
    if column.null_count():
        missing = column.is_null().to_numpy()
        raise bad_rows(column, missing, "user ids are missing", where=where, do="fill or drop these rows")
    ids = Ids.of(plain(column, where=f"{where}, column {user}"))
    return Users(ids.codes(plain(column, where=where)).astype(np.int64), len(ids), ids.values)


def _past(table: Events, pre: Sequence[str]) -> tuple[np.ndarray | None, list[str], list[str]]:
    """What was known before, with names; users without it get the mean, and a mark of their own, adjusted for too."""
    columns, names, notes = [], [], []
    for name in pre:
        do = "give one value from before the test per user"
        what = "a column known before the test must have one value per user"
        own = one_per_user(table.frame[name], table.users, what=what, where=table.where, do=do)
        missing = (own.is_null() | (own.is_nan() if own.dtype.is_float() else False)).to_numpy()
        known = numbers(own.filter(pl.Series(~missing)), where=table.where) if not missing.all() else np.empty(0)
        if not len(known) or known.min() == known.max():
            raise DataError(
                "a constant column cannot reduce variance", where=f"{table.where}, column {name}",
                found=f"{known[0]:g} for all" if len(known) else "no value", do="name another column, or none",
            )  # fmt: skip
        values = np.full(len(own), known.mean())
        values[~missing] = known
        columns.append(values)
        names.append(name)
        if missing.any():
            columns.append(missing.astype(np.float64))
            names.append(f"{name} missing")
            notes.append(
                f"{int(missing.sum()):,} users have no {name}: they get the mean and an indicator of missing values"
            )
    return (np.stack(columns, axis=1) if columns else None), names, notes


def _segment(table: Events, name: str) -> np.ndarray:
    what = "a user is in two segments"
    do = "give one value per user, such as the first"
    labels = as_text(table.frame[name], what="segments", where=f"{table.where}, column {name}")
    own = one_per_user(labels, table.users, what=what, where=table.where, do=do)
    return own.fill_null("(missing)").to_numpy().astype(str)


def _notes(frame: pl.DataFrame, table: Events, metrics: Sequence[DeclaredMetric]) -> tuple[str, ...]:
    if table.user is None:
        return ("no column of user ids: every row counts as a separate user (name a column with user=…, --user …)",)
    if not table.users.repeated:
        return ()
    notes = [
        f"{len(frame):,} rows became {table.users.n:,} users: rows of a user are summed, and any conversion counts"
    ]
    notes += [
        f"{name} is empty in {gaps:,} of {len(frame):,} rows: such a row adds nothing to the sum of its user"
        for name, gaps in table.empty.items()
    ]
    counted = {c for m in metrics for c in columns_of(table, m) if c in DERIVED and not table.known(c)}
    return (*notes, *(f"{name} = {DERIVED[name]}" for name in sorted(counted)))


def _in_order(units: Units) -> Units:
    """Users without ids in an order that depends on what they are, not on where they stood."""
    keys = [array for s in units.samples.values() for array in (s.values, s.below) if array is not None]
    keys += [] if units.past is None else list(units.past.T)
    order = np.lexsort([*(c.values for c in units.covariates), *units.segments.values(), *keys, units.arm])
    samples = {
        name: Sample(s.values[order], None if s.below is None else s.below[order]) for name, s in units.samples.items()
    }
    segments = {name: values[order] for name, values in units.segments.items()}
    past = None if units.past is None else units.past[order]
    covariates = tuple(one.taken(order) for one in units.covariates)
    return replace(units, arm=units.arm[order], samples=samples, past=past, segments=segments, covariates=covariates)
