"""Tests of one metric against a margin: is the new system worse than the old one by more than it, or by less?

With `gain` for what the new system is better by (negative: a loss), what is tested is whether gain + margin is above 0
(not worse by more than the margin) or below 0 (worse by more). A margin relative to the old value is part of that
quantity, user by user: new - (1 - m) · old. So the old value may be as uncertain as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueval.comparison.join_results import Replicate, mixing
from trueval.comparison.margins import Margin
from trueval.comparison.mean_error import Mean, mean_of, nested_mean, nested_tally
from trueval.comparison.pairing import Common, SystemPair, pair, shares_of
from trueval.statistics.binomial import binomial_tails
from trueval.statistics.jackknife import JackknifeReplicates
from trueval.statistics.permutation_test import FEW, exact_p, least_p
from trueval.statistics.significance_tests import skewed_t, t_test
from trueval.statistics.student import t_quantile

NEW, OLD = "new", "old"  # what the two systems are called where they are joined
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class MarginTest:
    """New minus old on one metric, and both tests against the margin, before correction.

    `low` and `high` bound the difference, each with the confidence `level`, and count the uncertainty of a relative
    margin: where the one on the worse side is within the margin, `p_pass` is below 1 - level.
    """

    old: float
    new: float
    difference: float
    margin: float
    low: float
    high: float
    p_pass: float  # of "worse by at least the margin"
    p_worse: float  # of "not worse by more than the margin"
    users: int
    differing: int
    losing: int
    largest: float  # difference of a single user; of users with one
    error: float
    free: float
    repeats: int
    test: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Quantity:
    """Gain plus margin: its mean with error, and each user's share of gain (mean over repeats) and of the whole."""

    mean: Mean
    gains: np.ndarray
    whole: np.ndarray


def users_tested(
    parts: Sequence[Replicate], shared: Sequence[Common], label: str, margin: Margin, side: int, *, level: float
) -> MarginTest | None:
    """A metric that users have values of; None where nobody has a value under both systems."""
    pairs = [pair(p.systems[NEW], p.systems[OLD], label, who) for p, who in zip(parts, shared)]
    some = [place for place, one in enumerate(pairs) if len(one.users)]
    if not some:
        return None
    pairs, parts = [pairs[place] for place in some], [parts[place] for place in some]
    mixed = mixing(parts)
    new = float((mixed @ [one.left.value()[0] for one in pairs]).mean())
    old = float((mixed @ [one.right.value()[0] for one in pairs]).mean())
    found = _quantity(pairs, mixed, margin, side)
    size = margin.of(old)
    test, reason, p_pass, p_worse = _p_values(found, size, len(pairs))
    gains, users = found.gains, found.mean.users
    row = MarginTest(
        old=old, new=new, difference=new - old, margin=size, low=np.nan, high=np.nan, p_pass=p_pass, p_worse=p_worse,
        users=users, differing=int(np.count_nonzero(gains)), losing=int(np.count_nonzero(gains < 0)),
        largest=float(np.abs(gains).max()), error=found.mean.error, free=found.mean.free, repeats=len(pairs),
        test=test, reason=reason,
    )  # fmt: skip
    return _with_interval(row, found.mean, side, level)


def tallies_tested(
    parts: Sequence[Replicate], shared: Sequence[Common], label: str, margin: Margin, side: int, *, level: float
) -> MarginTest | None:
    """Coverage and its like, by a jackknife over groups of users; None where there are no replicates of the same
    users."""
    news, olds, whole = [], [], []
    for part, who in zip(parts, shared):
        sides = part.systems[NEW], part.systems[OLD]
        everyone = all(len(who.users) == len(np.unique(system.unit_user)) for system in sides)
        if not everyone or any(label not in system.jackknife for system in sides):
            return None
        left, right = (system.jackknife[label] for system in sides)
        news.append(left.value)
        olds.append(right.value)
        whole.append(_replicates(left, right, margin, side))
    mixed = mixing(parts)
    mean = nested_tally(whole, max(len(who.users) for who in shared), mixed)
    mean = mean if mean.error > _ROUNDING * abs(mean.value) else replace(mean, error=0.0)
    new, old = (float((mixed @ values).mean()) for values in (news, olds))
    groups = min(len(one.one) for one in whole)
    p_pass, p_worse = (max(p, least_p(groups, "greater")) for p in _t(mean))
    row = MarginTest(
        old=old, new=new, difference=new - old, margin=margin.of(old), low=np.nan, high=np.nan, p_pass=p_pass,
        p_worse=p_worse, users=mean.users, differing=mean.users, losing=0, largest=np.nan, error=mean.error,
        free=mean.free, repeats=len(parts), test="jackknife",
    )  # fmt: skip
    return _with_interval(row, mean, side, level)


def only(shared: Common, users: np.ndarray) -> Common:
    """Those of the common users who are in a group."""
    inside = np.isin(shared.users, users)
    return Common(shared.users[inside], shared.left[inside], shared.right[inside])


def _quantity(pairs: Sequence[SystemPair], mixed: np.ndarray, margin: Margin, side: int) -> _Quantity:
    gains, wholes, means = [], [], []
    for one in pairs:
        right = shares_of(one.right)
        gain = side * (shares_of(one.left) - right)
        gains.append(gain)
        wholes.append(gain + (margin.size * right if margin.relative else margin.size))
        values = float(one.left.value()[0]), float(one.right.value()[0])
        means.append(side * (values[0] - values[1]) + margin.of(values[1]))
    if len(pairs) == 1:
        return _Quantity(replace(mean_of(wholes[0]), value=means[0]), gains[0], wholes[0])
    mean = nested_mean(means, [one.users for one in pairs], wholes, mixed)
    users = np.concatenate([one.users for one in pairs])
    _, place, times = np.unique(users, return_inverse=True, return_counts=True)
    per_user = [np.bincount(place, np.concatenate(own)) / times for own in (gains, wholes)]
    return _Quantity(mean, *per_user)


def _replicates(
    left: JackknifeReplicates, right: JackknifeReplicates, margin: Margin, side: int
) -> JackknifeReplicates:
    """Gain plus margin, with all users and without groups of them."""
    factor, constant = (margin.size, 0.0) if margin.relative else (0.0, margin.size)
    value, one, two = (
        side * (a - b) + factor * b + constant
        for a, b in ((left.value, right.value), (left.one, right.one), (left.two, right.two))
    )
    return JackknifeReplicates(float(value), np.asarray(one), np.asarray(two))


def _p_values(found: _Quantity, margin: float, repeats: int) -> tuple[str, str, float, float]:
    """The test made, why it is another one than t, and p of both sides."""
    users, gains = found.mean.users, found.gains
    differing = int(np.count_nonzero(gains))
    if users < 2:
        return "t", "a single user", np.nan, np.nan
    if not differing:
        return "same", "no user's value differs", least_p(users, "greater"), 1.0
    # Few differences are not normal, and where most users do not differ, they are not symmetric either. That rare
    # losses stay within the margin is then shown by how rare they are, each as large as the largest difference seen.
    losing, share = int(np.count_nonzero(gains < 0)), margin / float(np.abs(gains).max())
    sparse = rare_losses(losing, users, share) if differing <= min(FEW, users / 2) else 0.0
    p_pass, p_worse = _t(found.mean)
    if users <= FEW and repeats > 1:
        least = least_p(users, "greater")
        return "t", f"no p-value below {least:.2g} with {users} users", max(p_pass, least), max(p_worse, least)
    if users <= FEW:
        whole = np.where(np.abs(found.whole) < _ROUNDING, 0.0, found.whole)
        return "exact", "too few users for t", max(exact_p(whole, "greater"), sparse), exact_p(whole, "less")
    if repeats == 1 and found.mean.error > 0:
        p_pass, p_worse = (max(p, skewed_t(found.whole, tail)) for p, tail in ((p_pass, "greater"), (p_worse, "less")))
    if differing > FEW:
        return "t", "", p_pass, p_worse
    # of few differences, the signs must show as well that the new system is worse at all
    return "exact", f"only {differing} differ", max(p_pass, sparse), max(p_worse, exact_p(gains, "less"))


def rare_losses(losing: float, users: float, share: float) -> float:
    """The chance of so few losing users, if the share of those who lose all that one can lose made up the margin.

    >>> round(rare_losses(0, 100, 0.03), 4)  # 0.97 to the power of 100
    0.0476
    """
    if not 0 < share < 1:
        return 0.0 if share >= 1 else 1.0
    return float(binomial_tails(np.array([losing]), np.array([users]), share)[0][0])


def _t(mean: Mean) -> tuple[float, float]:
    if mean.error == 0 and abs(mean.value) < _ROUNDING:  # exactly at the margin, rounding aside
        return 1.0, 1.0
    above, below = (t_test(mean.value, mean.error, mean.free, tail) for tail in ("greater", "less"))
    return above, below


def _with_interval(row: MarginTest, mean: Mean, side: int, level: float) -> MarginTest:
    """Bounds of the difference by t; where p shows less than they do, they reach to the margin. None without spread."""
    if not mean.error > 0 or row.test == "same":
        return row
    reach = t_quantile(level=2 * level - 1, freedom=mean.free) * mean.error
    low, high = mean.value - reach, mean.value + reach
    low = low if row.p_pass < 1 - level else min(low, 0.0)
    high = high if row.p_worse < 1 - level else max(high, 0.0)
    ends = sorted(side * (end - row.margin) for end in (low, high))
    return replace(row, low=ends[0], high=ends[1])
