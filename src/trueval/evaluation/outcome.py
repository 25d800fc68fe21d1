"""Evaluation: what an evaluation found, as data; tables, comparisons and reports are made from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from trueval.data.ids import Ids
from trueval.errors import DefinitionError, suggest
from trueval.evaluation.cutoff_notes import notes_on_condensed, notes_on_cuts
from trueval.evaluation.estimate import UNBOUNDED, Estimate, Range, Sums, estimate_all, sums
from trueval.evaluation.group_values import MIN_GROUP, GroupValues, summarise_groups
from trueval.evaluation.interval_method import IntervalMethod
from trueval.evaluation.item_counts import Recommended
from trueval.evaluation.jackknife import estimate_tallies, leave_out
from trueval.evaluation.kept_facts import NOT_KEPT, KeptFacts
from trueval.evaluation.measurements import Measurements
from trueval.facts.invalid_places import InvalidPlaces
from trueval.metrics.spec import Spec
from trueval.render.numbers import percent
from trueval.statistics.jackknife import JackknifeReplicates


@dataclass(frozen=True, slots=True)
class SystemResult:
    """One system: an estimate of every metric, and the values behind it."""

    estimates: dict[str, Estimate]
    values: dict[str, np.ndarray]  # per unit; absent for system metrics
    sums: dict[str, Sums] = field(repr=False)
    unit_user: np.ndarray
    users: Ids = field(repr=False)
    stratum: np.ndarray | None = None
    groups: dict[str, GroupValues] = field(default_factory=dict, repr=False)  # by column
    jackknife: dict[str, JackknifeReplicates] = field(default_factory=dict, repr=False)  # of system metrics
    unit_item: np.ndarray | None = None  # in 1R: the relevant item that a unit is about
    items: Ids | None = field(default=None, repr=False)
    recommended: Recommended | None = field(default=None, repr=False)  # how often each item; not in saved results
    invalid: InvalidPlaces | None = None  # places of given lists that cannot count, where these are not refused

    def by(self, column: str) -> GroupValues:
        """The values by one of the columns that the evaluation was grouped by."""
        if column not in self.groups:
            raise DefinitionError(
                f"the evaluation was not grouped by {column!r}",
                found=f"groups by {', '.join(self.groups)}" if self.groups else "no groups",
                do=f'evaluate with by="{column}" (--by {column})',
            )
        return self.groups[column]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All systems of one evaluation, under one split, design and population."""

    systems: dict[str, SystemResult]
    specs: dict[str, Spec]  # by label
    random: dict[str, float]  # exact expectation of a random ranking
    manifest: dict[str, Any]
    warnings: list[str] = field(default_factory=list)
    foremost: list[str] = field(default_factory=list)  # those of the warnings that come first
    repeats: Mapping[str, Evaluation] = field(default_factory=dict, repr=False)  # by name, where this is their mean
    facts: KeptFacts = field(default_factory=lambda: KeptFacts(otherwise=NOT_KEPT), repr=False)  # by system

    def system(self, name: str) -> SystemResult:
        """One system by name."""
        if not isinstance(name, str) or name not in self.systems:
            raise DefinitionError(f"there is no system {name!r} in this evaluation", do=suggest(name, self.systems))
        return self.systems[name]

    def per_user(self) -> pl.DataFrame:
        """One row per system and unit: system, user, and a column per metric (null where undefined).

        In 1R designs a unit is one relevant item of a user, named by the column `item`.
        """
        frames = []
        for name, system in self.systems.items():
            columns: dict[str, Any] = {"user": system.users.decode(system.unit_user)}
            if system.unit_item is not None and system.items is not None:
                columns["item"] = system.items.decode(system.unit_item)
            if system.stratum is not None:
                columns["percentile"] = system.stratum + 1
            columns |= {label: pl.Series(values).fill_nan(None) for label, values in system.values.items()}
            frames.append(pl.DataFrame(columns).select(pl.lit(name).alias("system"), pl.all()))
        return pl.concat(frames)


def summarise(
    measured: Measurements, *, users: Ids, intervals: IntervalMethod, min_group: int = MIN_GROUP,
    ranges: Mapping[str, Range] | None = None, items: Ids | None = None,
) -> SystemResult:  # fmt: skip
    """Estimates of one system; `ranges` of the metrics bound what users who were not seen can have."""
    ranges = ranges or {}
    clusters, cluster = _clusters(measured.unit_user)
    by_label: dict[str, Sums] = {}
    for label, m in measured.values.items():
        if m.tally is None:
            own = ranges.get(label, UNBOUNDED)
            by_label[label] = sums(m, cluster, len(clusters), measured.stratum, range=own)
    tallies = {label: m.tally for label, m in measured.values.items() if m.tally is not None}
    estimates = dict(zip(by_label, estimate_all(list(by_label.values()), intervals)))
    replicates = leave_out(tallies, clusters, intervals)
    estimates |= estimate_tallies(tallies, replicates, len(measured), intervals)
    values = {label: m.per_unit for label, m in measured.values.items() if m.per_unit is not None}
    ordered = {label: estimates[label] for label in measured.values}
    groups = summarise_groups(measured, intervals, min_group=min_group, ranges=ranges)
    return SystemResult(
        ordered, values, by_label, measured.unit_user, users, measured.stratum, groups, replicates, measured.unit_item,
        None if measured.unit_item is None else items,
    )  # fmt: skip


def _clusters(user: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The users of some units, each once and ascending, and for each unit which one it is.

    >>> _clusters(np.array([4, 7])), _clusters(np.array([7, 4, 7]))
    ((array([4, 7]), array([0, 1])), (array([4, 7]), array([1, 0, 1])))
    """
    if (user[1:] > user[:-1]).all():  # as a rule: one unit for each, in their order
        return user, np.arange(len(user))
    clusters, cluster = np.unique(user, return_inverse=True)
    return clusters, cluster


def part_warnings(evaluations: Mapping[str, Evaluation]) -> tuple[list[str], dict[str, Evaluation]]:
    """Warnings that all of several evaluations share (about the split, say), which are printed once; and the
    evaluations without these."""
    several = list(evaluations.values())
    if len(several) < 2:
        return [], dict(evaluations)
    common = [text for text in several[0].warnings if all(text in one.warnings for one in several)]
    rest = {
        name: replace(one, warnings=[text for text in one.warnings if text not in common])
        for name, one in evaluations.items()
    }
    return common, rest


def random_values(measured: Measurements) -> dict[str, float]:
    """Exact expected values of a random ranking, averaged like the systems'."""
    clusters, cluster = _clusters(measured.unit_user)
    return {
        label: float(sums(m, cluster, len(clusters), measured.stratum).value()[0])
        for label, m in measured.random.items()
    }


def label_specs(specs: list[Spec], sample: int = 0) -> dict[str, Spec]:
    """Labels of metrics; sampled designs carry the sample size, since their values are another quantity.

    >>> from trueval.metrics.grammar import parse
    >>> list(label_specs([parse("ndcg@10")], 100))
    ['ndcg@10|n=100']
    """
    return {(f"{spec}|n={sample}" if sample else str(spec)): spec for spec in specs}


def notes_on(measured: Mapping[str, Measurements], specs: Mapping[str, Spec]) -> list[str]:
    """What a reader should know about ties, short lists and ideals that were beaten."""
    notes = []
    for name, m in measured.items():
        notes += _beaten(name, m, specs)
        notes += notes_on_condensed(name, m, specs)
        short = [spec for spec in specs.values() if not (spec.metric.condensed and m.condensed)]
        deep = sorted({str(spec) for spec in short if spec.k and 0 < m.longest < spec.k})
        if deep:
            notes.append(
                f"{name}: no list is longer than {m.longest}; {', '.join(deep)} treat the missing places as empty"
            )
        rates = {k: n / max(m.lists, 1) for k, n in m.split_ties.items()}
        tied = ", ".join(f"at rank {k} in {percent(rate, 0)}" for k, rate in rates.items() if rate >= 0.01)
        if tied:
            notes.append(f"{name}: ties {tied} of the lists")
    return notes + notes_on_cuts(next(iter(measured.values())), specs)


def notes_on_intervals(systems: Mapping[str, SystemResult], specs: Mapping[str, Spec]) -> list[str]:
    """Intervals that are not those of the method asked for, and those that could not be made.

    Not of what only describes the lists: that all are of one length is as it should be.
    """
    judging = [label for label, spec in specs.items() if spec.better != "neither"]
    notes = []
    for name, system in systems.items():
        notes += [f"{name}: {', '.join(labels)}: {note}" for note, labels in _by_note(system, judging).items()]
    return notes


def _by_note(system: SystemResult, labels: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for label in labels:
        if system.estimates[label].note:
            found.setdefault(system.estimates[label].note, []).append(label)
    return found


def _beaten(name: str, measured: Measurements, specs: Mapping[str, Spec]) -> list[str]:
    """Where a list scores above 1: the ideal of these metrics is a greedy one, and values are not cut."""
    notes = []
    for label, values in measured.values.items():
        if specs[label].metric.greedy_ideal and values.per_unit is not None:
            above = int(np.count_nonzero(values.per_unit > 1 + 1e-12))
            if above:
                who = "1 user, whose list is" if above == 1 else f"{above:,} users, whose lists are"
                notes.append(f"{name}: {label} exceeds 1 for {who} better than the greedy ideal")
    return notes
