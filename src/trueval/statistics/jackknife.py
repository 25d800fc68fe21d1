"""The delete-a-group jackknife: a standard error from values without each group of users, and without pairs.

Users are put into groups at random and each group is left out in turn; the spread of the results gives the error
(on the groups' number less one degrees of freedom). By itself this is too large where leaving out two groups loses
more than the sum of leaving out each, as for coverage: the effects of pairs are counted twice, those of triples three
times (Efron & Stein 1981). Less the effects of all pairs, measured by leaving pairs out, it is too small in turn. The
middle of both is used. For smooth metrics they are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueval.kernels.hashing import item_key
from trueval.kernels.seeds import derive
from trueval.statistics.bounds import NO_SPREAD, Bounds
from trueval.statistics.student import student_interval

GROUPS = 50
_NEIGHBOURS = 6  # groups in a circle: pairs are those at most this far apart
_LEAST = 1 / 3  # of the first-order variance: noise in the pairs never takes off more


@dataclass(frozen=True, slots=True)
class JackknifeReplicates:
    """A value of all users, without each group, and without each pair of near groups."""

    value: float
    one: np.ndarray
    two: np.ndarray

    def __sub__(self, other: JackknifeReplicates) -> JackknifeReplicates:
        """The difference of two systems over the same users."""
        return JackknifeReplicates(self.value - other.value, self.one - other.one, self.two - other.two)

    def error(self) -> float:
        """The standard error of the value.

        >>> means = (8 - np.array([0, 1, 2, 5])) / 3  # of 0, 1, 2 and 5, each left out in turn
        >>> found = JackknifeReplicates(2.0, means, np.empty(0)).error()
        >>> round(found, 6), round(float(np.std([0, 1, 2, 5], ddof=1) / 2), 6)
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
        return Bounds(*student_interval(self.value, error, freedom=len(self.one) - 1, level=level))


def pairs(groups: int) -> tuple[np.ndarray, np.ndarray]:
    """The pairs that are left out together: groups stand in a circle, each with its next few neighbours.

    >>> [list(map(int, pair)) for pair in zip(*pairs(4))]
    [[0, 1], [1, 2], [2, 3], [3, 0]]
    """
    apart = np.arange(1, min(_NEIGHBOURS, (groups - 1) // 2) + 1)
    first = np.tile(np.arange(groups), len(apart))
    return first, (first + np.repeat(apart, groups)) % groups


def group_users(users: int, groups: int, *, seed: int) -> np.ndarray:
    """The group of every user: as equal in size as can be, who is in which by a seeded draw.

    >>> np.bincount(group_users(10, 4, seed=0)).tolist()
    [3, 3, 2, 2]
    """
    drawn = item_key(np.full(users, derive(seed, "jackknife"), np.uint64), np.arange(users))
    group = np.empty(users, np.uint8)  # few groups: bytes sort quickly
    group[np.argsort(drawn, kind="stable")] = np.arange(users) % groups
    return group
