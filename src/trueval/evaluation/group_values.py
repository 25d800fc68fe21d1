"""Estimates by group, and how far groups are apart: gap and ratio, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trueval.errors import DefinitionError
from trueval.evaluation.estimate import UNBOUNDED, Estimate, Range, Sums, estimate, resampled, sums
from trueval.evaluation.group_measures import GroupMeasures, RecommendedItems, UnitValues
from trueval.evaluation.groups import Groups
from trueval.evaluation.interval_method import IntervalMethod
from trueval.evaluation.jackknife import estimate_tallies, leave_out
from trueval.evaluation.measurements import Measurements

MIN_GROUP = 30  # users


def check_min_group(number: int) -> None:
    """Refuse a smallest group that is no number of users."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise DefinitionError("the smallest group must be a whole number of users, 1 or more", found=repr(number))


@dataclass(frozen=True, slots=True)
class Spread:
    """How far the groups are apart: highest minus lowest value, and lowest over highest.

    `n` of the two estimates is the number of groups that were compared.
    """

    gap: Estimate
    ratio: Estimate
    highest: str = ""
    lowest: str = ""


@dataclass(frozen=True, slots=True)
class GroupValues:
    """One system by the groups of one column."""

    groups: Groups = field(repr=False)
    estimates: dict[str, dict[str, Estimate]]  # by group and metric
    spreads: dict[str, Spread]  # by metric
    hit_rates: dict[int, tuple[dict[str, Estimate], Spread]]  # by cutoff: true-positive rates by group
    users: dict[str, int]  # by group: users that count, at most
    min_group: int
    units: int
    intervals: IntervalMethod
    recommended: RecommendedItems | None = field(default=None, repr=False)


def summarise_groups(
    measured: Measurements,
    intervals: IntervalMethod,
    *,
    min_group: int = MIN_GROUP,
    ranges: Mapping[str, Range] | None = None,
) -> dict[str, GroupValues]:
    """Estimates of every group and metric. All come from the same resamples of users, so differences are paired."""
    if not measured.groups:
        return {}
    clusters, cluster = np.unique(measured.unit_user, return_inverse=True)
    cells: dict[tuple[str, int, str | int], tuple[np.ndarray, Sums]] = {}
    for name, column in measured.groups.items():
        for g in range(len(column.groups)):
            both: dict[Any, UnitValues] = {**column.parts[g], **column.hits[g]}
            for what, part in both.items():
                if part.measured.tally is None:
                    own = (0.0, 1.0) if isinstance(what, int) else (ranges or {}).get(what, UNBOUNDED)  # hits, metrics
                    cells[name, g, what] = _group_sums(part, cluster, measured.stratum, own)
    drawn: dict[tuple[str, int, str | int], np.ndarray] = {}
    if intervals.interval != "none" and len(clusters) > 1:
        found = resampled(list(cells.values()), len(clusters), seed=intervals.seed, resamples=intervals.resamples)
        drawn = dict(zip(cells, found))
    return {
        name: _column(column, {key[1:]: s for key, (_, s) in cells.items() if key[0] == name},
                      {key[1:]: d for key, d in drawn.items() if key[0] == name},
                      unit_user=measured.unit_user, intervals=intervals, min_group=min_group)
        for name, column in measured.groups.items()
    }  # fmt: skip


def _group_sums(
    part: UnitValues, cluster: np.ndarray, stratum: np.ndarray | None, range: Range
) -> tuple[np.ndarray, Sums]:
    """The users of a group, and the sums over them."""
    rows, own = np.unique(cluster[part.units], return_inverse=True)
    return rows, sums(part.measured, own, len(rows), None if stratum is None else stratum[part.units], range=range)


def _column(
    column: GroupMeasures, found: Mapping[tuple[int, str | int], Sums],
    drawn: Mapping[tuple[int, str | int], np.ndarray], *, unit_user: np.ndarray, intervals: IntervalMethod,
    min_group: int,
) -> GroupValues:  # fmt: skip
    labels, units = column.groups.labels, len(unit_user)
    whole = units if column.groups.kind == "item" else None
    estimates: dict[tuple[int, str | int], Estimate] = {}
    users = dict.fromkeys(labels, 0)
    for (g, what), s in found.items():
        own = estimate(s, drawn.get((g, what)), intervals)
        # for a group of items, all units in which it does not occur are undefined
        estimates[g, what] = own if whole is None else replace(own, undefined=whole - s.n)
        users[labels[g]] = max(users[labels[g]], s.users)

    def compared(what: str | int) -> Spread:
        enough = [g for g in range(len(labels)) if (g, what) in found and found[g, what].users >= min_group]
        draws = [drawn[g, what] for g in enough] if drawn else []
        own = [estimates[g, what] for g in enough]
        stacked = np.stack(draws, axis=1) if draws else None
        low, high = found[enough[0], what].range if enough else UNBOUNDED
        return spread(own, stacked, [labels[g] for g in enough], level=intervals.level, widest=high - low)

    metrics = list(column.parts[0])
    tallied = [_tallied(parts, unit_user, intervals) for parts in column.parts]
    by_group = {
        label: {m: estimates[g, m] if (g, m) in estimates else tallied[g][m] for m in metrics}
        for g, label in enumerate(labels)
    }
    rates = {k: ({label: estimates[g, k] for g, label in enumerate(labels)}, compared(k)) for k in column.hits[0]}
    spreads = {m: compared(m) for m in metrics if (0, m) in found}
    return GroupValues(column.groups, by_group, spreads, rates, users, min_group, units, intervals, column.recommended)


def _tallied(parts: Mapping[str, UnitValues], unit_user: np.ndarray, intervals: IntervalMethod) -> dict[str, Estimate]:
    """System metrics of one group."""
    tallies = {name: part.measured.tally for name, part in parts.items() if part.measured.tally is not None}
    if not tallies:
        return {}
    units = parts[next(iter(tallies))].units
    replicates = leave_out(tallies, np.unique(unit_user[units]), intervals)
    return estimate_tallies(tallies, replicates, len(units), intervals)


def spread(
    groups: Sequence[Estimate], drawn: np.ndarray | None, labels: Sequence[str], *, level: float = 0.95,
    widest: float = np.inf,
) -> Spread:  # fmt: skip
    """Gap and ratio of some groups' values; `drawn` has their values in every resample, one column per group.

    Which groups are highest and lowest is itself found from the data, and even equal groups have a gap above 0.
    The interval allows for that: it reaches as far as the largest error of any difference of two groups, in
    95 % of the resamples. For two groups this is the interval of their difference. A gap that may be
    nothing has an interval that begins at 0, a ratio one that ends at 1. Where resamples say too little about a group,
    since few of its users differ, the error of a difference is no smaller than that of the two groups' own intervals
    (their squares added up: Zou and Donner 2008). No gap is wider than `widest`.

    >>> found = spread([Estimate(0.6, 0.5, 0.7, 50), Estimate(0.4, 0.3, 0.5, 50)], None, ["a", "b"])
    >>> round(found.gap.value, 6), round(found.ratio.value, 6), found.lowest
    (0.2, 0.666667, 'b')
    """
    n, values = len(groups), np.array([e.value for e in groups])
    if n < 2 or np.isnan(values).any():
        nothing = Estimate(np.nan, np.nan, np.nan, n)
        return Spread(nothing, nothing)
    top, bottom = int(np.argmax(values)), int(np.argmin(values))
    gap = float(values[top] - values[bottom])
    ratio = float(values[bottom] / values[top]) if values[bottom] >= 0 and values[top] > 0 else np.nan
    ends = [np.nan] * 4
    if drawn is not None:
        drawn = drawn[~np.isnan(drawn).any(axis=1)]
        reach = _reach(drawn - values, level)
        if any(e.note for e in groups):
            reach = float(np.fmax(reach, _own_reach(groups)))
        ends[:2] = max(0.0, gap - reach), max(gap, min(gap + reach, widest))
        if ratio > 0:
            with np.errstate(divide="ignore", invalid="ignore"):
                reach = _reach(np.log(drawn) - np.log(values), level)
            ends[2:] = ratio * np.exp(-reach), min(1.0, ratio * np.exp(reach))
    low, high, ratio_low, ratio_high = map(float, ends)
    return Spread(
        Estimate(gap, low, high, n), Estimate(ratio, ratio_low, ratio_high, n), labels[top], labels[bottom]
    )  # fmt: skip


def _own_reach(groups: Sequence[Estimate]) -> float:
    """The largest error of any difference of two groups, by their own intervals; NaN where one has none."""
    above = np.array([e.high - e.value for e in groups])
    below = np.array([e.value - e.low for e in groups])
    squared = above[:, None] ** 2 + below[None, :] ** 2
    np.fill_diagonal(squared, 0.0)
    return float(np.sqrt(squared.max()))


def _reach(error: np.ndarray, level: float) -> float:
    """The largest difference of two errors that a share `level` of the resamples stays within."""
    if not len(error):
        return np.nan
    with np.errstate(invalid="ignore"):
        widest = error.max(axis=1) - error.min(axis=1)
    widest = np.where(np.isnan(widest), np.inf, widest)  # a value of 0 may be any factor away
    return float(np.quantile(widest, level, method="higher"))


def notes_on_groups(systems: Mapping[str, Mapping[str, GroupValues]], metrics: Sequence[str]) -> list[str]:
    """What a reader should know of the groups: who is in none, which are too small, what has no value there."""
    notes = []
    for name, first in next(iter(systems.values()), {}).items():
        groups = first.groups
        if groups.without:
            note = f"by {name}: {groups.without:,} of {len(groups.offered):,} {groups.kind}s are in no group"
            notes.append(note + "; values of all users count them, too" * (groups.kind == "user"))
        counts: dict[str, int] = {}
        for system in systems.values():  # with all users in the population, a run may bring groups of its own
            for label, n in system[name].users.items():
                counts[label] = min(n, counts.get(label, n))
        small = [f"{label} ({n:,})" for label, n in counts.items() if n < first.min_group]
        if small:
            notes.append(
                f"by {name}: groups with fewer than {first.min_group} users, excluded from gap and ratio: "
                f"{', '.join(small)}"
            )
        absent = [m for m in metrics if m not in first.estimates[groups.labels[0]]]
        if absent:
            notes.append(f"by {name}: {', '.join(absent)} cannot be computed for groups of items")
    return notes
