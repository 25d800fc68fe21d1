"""Intervals of system metrics (coverage, Gini, entropy): users are left out, group by group (statistics.jackknife).

These metrics are no means. A resample with replacement holds 63 % of the users, recommends fewer items than all of
them do, and its percentiles lie beside the value: for coverage they hardly ever hold the truth. The interval here
is about what another sample of as many users of the same population would give on average: the value itself
has no bias for that, and what is wanted is its standard error.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trueval.evaluation.estimate import Estimate
from trueval.evaluation.interval_method import IntervalMethod
from trueval.kernels import blocks, in_order
from trueval.metrics.metric_values import Added, Tally
from trueval.statistics.bounds import Bounds
from trueval.statistics.jackknife import GROUPS, JackknifeReplicates, group_users, pairs

_TOGETHER = 1_000_000  # counts that one thread finishes at a time


def estimate_tallies(
    tallies: Mapping[str, Tally], replicates: Mapping[str, JackknifeReplicates], n: int, intervals: IntervalMethod
) -> dict[str, Estimate]:
    """Estimates of system metrics, whatever the method for means; without an interval where nobody was left out."""
    found = {}
    for name, tally in tallies.items():
        ends = replicates[name].interval(intervals.level) if name in replicates else Bounds(np.nan, np.nan)
        low, high = np.clip(ends[:2], *tally.range)
        found[name] = Estimate(tally.value(), float(low), float(high), n, note=ends.note)
    return found


def leave_out(
    tallies: Mapping[str, Tally], users: np.ndarray, intervals: IntervalMethod
) -> dict[str, JackknifeReplicates]:
    """Every metric without each group of users (their codes, ascending), and without each pair of groups.

    The same number of users and the same seed make the same groups, so that differences of systems are paired.
    """
    if intervals.interval == "none" or len(users) < 2:
        return {}
    groups, seed = min(GROUPS, len(users)), intervals.seed
    group = group_users(len(users), groups, seed=seed)
    found: dict[str, JackknifeReplicates] = {}
    for key in dict.fromkeys(tally.added[0].key for tally in tallies.values()):
        alike = {name: tally for name, tally in tallies.items() if tally.added[0].key == key}
        first = next(iter(alike.values()))
        parts = _by_group(first.added, users, group, groups, len(first.counts))
        found |= _finished(alike, first.counts, parts)
    return {name: found[name] for name in tallies}


def _by_group(added: tuple[Added, ...], users: np.ndarray, group: np.ndarray, groups: int, places: int) -> np.ndarray:
    """The counts of every group alone, a row each."""
    counts: np.ndarray = np.zeros((groups, places), np.int32 if added[0].amount is None else np.float64)
    for part in added:
        of_row = group[np.searchsorted(users, part.user)]
        order = np.argsort(of_row, kind="stable")
        ends = np.searchsorted(of_row[order], np.arange(groups + 1))
        for g in range(groups):
            own = order[ends[g] : ends[g + 1]]
            amount = None if part.amount is None else part.amount[own]
            counts[g] += np.bincount(part.place[own], amount, minlength=places).astype(counts.dtype)
    return counts


def _finished(tallies: Mapping[str, Tally], whole: np.ndarray, parts: np.ndarray) -> dict[str, JackknifeReplicates]:
    """The metrics of the same counts, without each row and each pair of rows."""
    groups = len(parts)
    left, right = pairs(groups)

    def without(job: int) -> list[float]:
        rest = whole - parts[job if job < groups else left[job - groups]]
        if job >= groups:
            rest -= parts[right[job - groups]]
        rest[rest < 1e-9] = 0.0  # what subtraction leaves of nothing
        return [float(tally.finish(rest)) for tally in tallies.values()]

    def some(jobs: slice) -> list[list[float]]:
        return [without(job) for job in range(jobs.start, jobs.stop)]

    jobs = blocks(groups + len(left), max(1, _TOGETHER // len(whole)))
    values = np.array([row for rows in in_order(some, jobs) for row in rows])
    return {
        name: JackknifeReplicates(tally.value(), values[:groups, j], values[groups:, j])
        for j, (name, tally) in enumerate(tallies.items())
    }
