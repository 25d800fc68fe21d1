"""Intervals of system metrics (coverage, Gini, entropy): users are left out, group by group.

These metrics are no means. A resample with replacement holds 63 % of the users, recommends fewer items than all of
them do, and its percentiles lie beside the value: for coverage they hardly ever hold the truth. The interval here
is about what another sample of as many users of the same population would give on average: the value itself
has no bias for that, and what is wanted is its standard error.

Users are put into groups at random and each group is left out in turn; the spread of the results gives the error
(delete-a-group jackknife, on the groups' number less one degrees of freedom). By itself this is too large where
leaving out two groups loses more than the sum of leaving out each, as for coverage: the effects of pairs are
counted twice, those of triples three times (Efron & Stein 1981). Less the effects of all pairs, measured by leaving
pairs out, it is too small in turn. The middle of both is used. For smooth metrics they are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trueval.evaluation.drawing import Drawing
from trueval.evaluation.estimate import Estimate, around
from trueval.evaluation.few_users import NO_SPREAD, Bounds
from trueval.kernels import blocks, in_order
from trueval.kernels.hashing import item_key
from trueval.kernels.seeds import derive
from trueval.metrics.results import Added, Tally

GROUPS = 50
_NEIGHBOURS = 6  # groups in a circle: pairs are those at most this far apart
_TOGETHER = 1_000_000  # counts that one thread finishes at a time
_LEAST = 1 / 3  # of the first-order variance: noise in the pairs never takes off more


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A system metric of all users, without each group, and without each pair of near groups."""

    value: float
    one: np.ndarray
    two: np.ndarray

    def __sub__(self, other: LeftOut) -> LeftOut:
        """The difference of two systems over the same users."""
        return LeftOut(self.value - other.value, self.one - other.one, self.two - other.two)

    def error(self) -> float:
        """The standard error of the value.

        >>> means = (8 - np.array([0, 1, 2, 5])) / 3  # of 0, 1, 2 and 5, each left out in turn
        >>> round(LeftOut(2.0, means, np.empty(0)).error(), 6), round(float(np.std([0, 1, 2, 5], ddof=1) / 2), 6)
        (1.080123, 1.080123)
        """
        groups = len(self.one)
        if groups < 2:
            return float("nan")
        first = (groups - 1) / groups * float(((self.one - self.one.mean()) ** 2).sum())
        if not len(self.two):
            return float(np.sqrt(first))
        left, right = pairs(groups)
        together = self.value - self.one[left] - self.one[right] + self.two
        second = float((together**2).mean()) * groups * (groups - 1) / 2
        return float(np.sqrt(max(first - second / 2, first * _LEAST)))

    def interval(self, level: float) -> Bounds:
        """Student's t around the value; none where no group of users makes a difference."""
        if len(self.one) < 2:
            return Bounds(float("nan"), float("nan"))
        error = self.error()
        if not error > 1e-12 * abs(self.value):
            return NO_SPREAD
        return Bounds(*around(self.value, error, len(self.one) - 1, level))


def pairs(groups: int) -> tuple[np.ndarray, np.ndarray]:
    """The pairs that are left out together: groups stand in a circle, each with its next few neighbours.

    >>> [list(map(int, pair)) for pair in zip(*pairs(4))]
    [[0, 1], [1, 2], [2, 3], [3, 0]]
    """
    apart = np.arange(1, min(_NEIGHBOURS, (groups - 1) // 2) + 1)
    first = np.tile(np.arange(groups), len(apart))
    return first, (first + np.repeat(apart, groups)) % groups


def estimate_tallies(
    tallies: Mapping[str, Tally], left_out: Mapping[str, LeftOut], n: int, drawing: Drawing
) -> dict[str, Estimate]:
    """Estimates of system metrics, whatever the method for means; without an interval where nobody was left out."""
    found = {}
    for name, tally in tallies.items():
        ends = left_out[name].interval(drawing.level) if name in left_out else Bounds(np.nan, np.nan)
        low, high = np.clip(ends[:2], *tally.range)
        found[name] = Estimate(tally.value(), float(low), float(high), n, note=ends.note)
    return found


def leave_out(tallies: Mapping[str, Tally], users: np.ndarray, drawing: Drawing) -> dict[str, LeftOut]:
    """Every metric without each group of users (their codes, ascending), and without each pair of groups.

    The same number of users and the same seed make the same groups, so that differences of systems are paired.
    """
    if drawing.interval == "none" or len(users) < 2:
        return {}
    groups, seed = min(GROUPS, len(users)), drawing.seed
    group = group_users(len(users), groups, seed=seed)
    found: dict[str, LeftOut] = {}
    for key in dict.fromkeys(tally.added[0].key for tally in tallies.values()):
        alike = {name: tally for name, tally in tallies.items() if tally.added[0].key == key}
        first = next(iter(alike.values()))
        parts = _by_group(first.added, users, group, groups, len(first.counts))
        found |= _finished(alike, first.counts, parts)
    return {name: found[name] for name in tallies}


def group_users(users: int, groups: int, *, seed: int) -> np.ndarray:
    """The group of every user: as equal in size as can be, who is in which by a seeded draw.

    >>> np.bincount(group_users(10, 4, seed=0)).tolist()
    [3, 3, 2, 2]
    """
    drawn = item_key(np.full(users, derive(seed, "jackknife"), np.uint64), np.arange(users))
    group = np.empty(users, np.uint8)  # few groups: bytes sort quickly
    group[np.argsort(drawn, kind="stable")] = np.arange(users) % groups
    return group


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


def _finished(tallies: Mapping[str, Tally], whole: np.ndarray, parts: np.ndarray) -> dict[str, LeftOut]:
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
        name: LeftOut(tally.value(), values[:groups, j], values[groups:, j])
        for j, (name, tally) in enumerate(tallies.items())
    }
