"""Two systems on one metric, user by user.

A mean over users is compared by the differences of its users. Other estimates (pooled ratios, means over several
target sets per user or over percentiles) have no such differences; what a user adds to them is found by leaving
that user out (jackknife), which for a plain mean gives the user's value again.

In 1R designs a user has a value for each relevant item: systems are compared over the pairs of user and item that
both have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from trueval.data.ids import Ids
from trueval.evaluation.estimate import Sums, sums
from trueval.evaluation.outcome import SystemResult
from trueval.metrics.compute import Measured
from trueval.metrics.metric_values import same


@dataclass(frozen=True, slots=True)
class SystemPair:
    """System and baseline over their common users, both with a value."""

    users: np.ndarray  # codes, ascending
    left: Sums
    right: Sums
    difference: float
    shares: np.ndarray  # what each user adds to the difference; their mean is the difference
    own: np.ndarray  # each user's own difference

    @property
    def plain(self) -> bool:
        """Whether the estimate is the mean of users' own values."""
        return self.shares is self.own


class Common(NamedTuple):
    """Users of two systems, and their rows in the sums of either."""

    users: np.ndarray
    left: np.ndarray
    right: np.ndarray


def common_users(left: SystemResult, right: SystemResult, users: Ids) -> Common:
    """Who is in both; `users` is a vocabulary that holds the users of both."""
    ours, theirs = user_codes(left, users), user_codes(right, users)
    return Common(*np.intersect1d(ours, theirs, assume_unique=True, return_indices=True))


def pair(left: SystemResult, right: SystemResult, label: str, shared: Common) -> SystemPair:
    """Two systems over their common users."""
    common = shared.users
    ours, theirs = common_pairs(left, right, label)
    a, b = rows_of(ours, shared.left), rows_of(theirs, shared.right)
    both = counted(a) & counted(b)
    if not both.all():
        a, b, common = rows_of(a, both), rows_of(b, both), common[both]
    own = a.own_values() - b.own_values()
    if is_plain(a) and is_plain(b):
        return SystemPair(common, a, b, _mean(own), own, own)
    difference = float(a.value()[0] - b.value()[0])
    return SystemPair(common, a, b, difference, _centred(shares_of(a) - shares_of(b), difference), own)


def common_pairs(left: SystemResult, right: SystemResult, label: str) -> tuple[Sums, Sums]:
    """The sums of two systems; in 1R over the pairs of user and item for which both have a value.

    Under one test set, all systems have the same pairs. Values of pooled metrics (ratios of sums) stay as they are:
    they are not known pair by pair.
    """
    sides = (left, right)
    found = left.sums[label], right.sums[label]
    if any(side.unit_item is None or side.items is None or label not in side.values for side in sides):
        return found
    pairs = _pair_codes(left, right)
    known = [~np.isnan(side.values[label]) for side in sides]
    defined = [codes[mask] for codes, mask in zip(pairs, known)]
    if np.array_equal(np.sort(defined[0]), np.sort(defined[1])):
        return found
    kept = []
    for side, s, codes, others in zip(sides, found, pairs, reversed(defined)):
        clusters, cluster = np.unique(side.unit_user, return_inverse=True)
        if not is_mean_of_units(s, side.values[label], cluster):
            return found
        values = np.where(np.isin(codes, others), side.values[label], np.nan)
        kept.append(sums(Measured(values), cluster, len(clusters), side.stratum))
    return kept[0], kept[1]


def is_mean_of_units(s: Sums, values: np.ndarray, cluster: np.ndarray) -> bool:
    """Whether the estimate is a mean of the values of units, and not a ratio of other sums."""
    return (
        s.finish is same
        and s.factors == 1
        and np.array_equal(s.denominator.sum(axis=1), np.bincount(cluster, ~np.isnan(values)))
    )


def _pair_codes(left: SystemResult, right: SystemResult) -> tuple[np.ndarray, np.ndarray]:
    """A number for each unit of either system that says which user and which item it is about."""
    users = _joint(left.users, right.users)
    assert left.items is not None
    assert right.items is not None
    items = _joint(left.items, right.items)
    codes = []
    for side, item_ids in ((left, left.items), (right, right.items)):
        assert side.unit_item is not None
        user = side.unit_user if side.users is users else users.codes(side.users.decode(side.unit_user))
        item = side.unit_item if item_ids is items else items.codes(item_ids.decode(side.unit_item))
        codes.append(user.astype(np.int64) * len(items) + item)
    return codes[0], codes[1]


def _joint(left: Ids, right: Ids) -> Ids:
    return left if left is right else Ids.of(left.values, right.values)


def user_codes(system: SystemResult, users: Ids) -> np.ndarray:
    """Codes of the system's users, one per row of its sums, ascending: both vocabularies are sorted."""
    own = system.unit_user
    if not (own[1:] > own[:-1]).all():  # users with several units, or in another order
        own = np.unique(own)
    return own.astype(np.int64) if system.users is users else users.codes(system.users.decode(own)).astype(np.int64)


def rows_of(s: Sums, rows: np.ndarray) -> Sums:
    """The sums of some users."""
    return replace(s, numerator=s.numerator[rows], denominator=s.denominator[rows])


def counted(s: Sums) -> np.ndarray:
    """Which users have a value."""
    return np.asarray((s.denominator > 0).any(axis=1))


def is_plain(s: Sums) -> bool:
    """Whether the estimate is a mean over users with one value each."""
    return s.finish is same and s.numerator.shape[1] == 1 and bool(np.isin(s.denominator, (0.0, 1.0)).all())


def shares_of(s: Sums) -> np.ndarray:
    """What each user adds to the estimate: values of users for a mean, jackknife pseudo-values otherwise.

    >>> a, b = np.array([[1.0], [3.0]]), np.array([[1.0], [1.0]])
    >>> shares_of(Sums(a, b, same, 2, 0)).tolist()
    [1.0, 3.0]
    """
    if is_plain(s):
        return s.own_values()
    value, n = float(s.value()[0]), len(s.numerator)
    return _centred(n * value - (n - 1) * s.jackknife_replicates(), value)


def _centred(shares: np.ndarray, value: float) -> np.ndarray:
    return shares - _mean(shares) + value


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
