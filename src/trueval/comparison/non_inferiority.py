"""Tests of one metric against a margin: is the new system worse than the old one by more than it, or by less?

With `gain` for what the new system is better by (negative: a loss), what is tested is whether gain + margin is above 0
(not worse by more than the margin) or below 0 (worse by more). A margin relative to the old value is part of that
quantity, user by user: new - (1 - m) · old. So the old value may be as uncertain as it is.

The users who lose most may be too rare to be among those measured. Both tests allow for them: a user's values are only
known to lie within the range of the metric (`statistics.bounded_mean`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueval.comparison.join_results import Replicate, mixing
from trueval.comparison.margins import Margin, better_side
from trueval.comparison.mean_error import Mean, mean_of, nested_mean, nested_tally
from trueval.comparison.pairing import Common, SystemPair, pair, shares_of
from trueval.comparison.rare_users import one_in, value_bounds, weight_bound
from trueval.metrics.spec import Spec
from trueval.statistics.bounded_mean import BoundedMean
from trueval.statistics.jackknife import JackknifeReplicates
from trueval.statistics.permutation_test import least_p
from trueval.statistics.significance_tests import t_test
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
    error: float
    repeats: int
    test: str
    reason: str = ""
    bounded: BoundedMean | None = None  # gain plus margin, by user; None for metrics of the whole system


@dataclass(frozen=True, slots=True)
class _Quantity:
    """Gain plus margin: its mean with error, what each user adds (mean over repeats), and who gains or loses at all."""

    mean: Mean
    whole: BoundedMean
    differing: int


def users_tested(
    parts: Sequence[Replicate], shared: Sequence[Common], label: str, spec: Spec, margin: Margin, *, level: float
) -> MarginTest | None:
    """A metric that users have values of; None where nobody has a value under both systems."""
    side = better_side(label, spec)
    pairs = [pair(p.systems[NEW], p.systems[OLD], label, who) for p, who in zip(parts, shared)]
    some = [place for place, one in enumerate(pairs) if len(one.users)]
    if not some:
        return None
    pairs, parts = [pairs[place] for place in some], [parts[place] for place in some]
    mixed = mixing(parts)
    new = float((mixed @ [one.left.value()[0] for one in pairs]).mean())
    old = float((mixed @ [one.right.value()[0] for one in pairs]).mean())
    size = margin.of(old)
    found = _quantity(pairs, mixed, margin, side, value_bounds(pairs, spec.range))
    p_pass, p_worse = _p_values(found, len(pairs))
    row = MarginTest(
        old=old, new=new, difference=new - old, margin=size, low=np.nan, high=np.nan, p_pass=p_pass, p_worse=p_worse,
        users=found.mean.users, error=found.mean.error, repeats=len(pairs), test="bounded mean",
        reason=_reason(found, (p_pass, p_worse), 1 - level), bounded=found.whole,
    )  # fmt: skip
    return _with_ends(row, found, side, level)


def tallies_tested(
    parts: Sequence[Replicate], shared: Sequence[Common], label: str, spec: Spec, margin: Margin, *, level: float
) -> MarginTest | None:
    """Coverage and its like, by a jackknife over groups of users; None where there are no replicates of the same
    users."""
    side = better_side(label, spec)
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
        p_worse=p_worse, users=mean.users, error=mean.error, repeats=len(parts), test="jackknife",
    )  # fmt: skip
    return _with_interval(row, mean, side, level)


def only(shared: Common, users: np.ndarray) -> Common:
    """Those of the common users who are in a group."""
    inside = np.isin(shared.users, users)
    return Common(shared.users[inside], shared.left[inside], shared.right[inside])


def _quantity(
    pairs: Sequence[SystemPair], mixed: np.ndarray, margin: Margin, side: int, bounds: tuple[float, float]
) -> _Quantity:
    gains, wholes, means = [], [], []
    for one in pairs:
        right = shares_of(one.right)
        gain = side * (shares_of(one.left) - right)
        gains.append(gain)
        wholes.append(gain + (margin.size * right if margin.relative else margin.size))
        values = float(one.left.value()[0]), float(one.right.value()[0])
        means.append(side * (values[0] - values[1]) + margin.of(values[1]))
    if len(pairs) == 1:
        mean, whole, gain = replace(mean_of(wholes[0]), value=means[0]), wholes[0], gains[0]
    else:
        mean = nested_mean(means, [one.users for one in pairs], wholes, mixed)
        users = np.concatenate([one.users for one in pairs])
        _, place, times = np.unique(users, return_inverse=True, return_counts=True)
        whole, gain = (np.bincount(place, np.concatenate(own)) / times for own in (wholes, gains))
    whole = np.where(np.abs(whole) < _ROUNDING, 0.0, whole)
    # what one user's two values add at worst and at best; who weighs more in a ratio of sums adds more
    lowest, highest = bounds
    scaled = 1 - side * margin.size if margin.relative else 1.0
    constant = 0.0 if margin.relative else margin.size
    ends = sorted((side * (new - scaled * old) + constant for new, old in ((lowest, highest), (highest, lowest))))
    weight, middle = max(weight_bound(one) for one in pairs), float(whole.mean())
    worst, best = (end if weight == 1 else middle + weight * (end - middle) for end in ends)
    return _Quantity(mean, BoundedMean(whole, worst, best), int(np.count_nonzero(gain)))


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


def _p_values(found: _Quantity, repeats: int) -> tuple[float, float]:
    """p of both sides; over seeds, Student's t must show it as well, for it knows how much they vary."""
    if found.mean.users < 2:
        return np.nan, np.nan
    p_pass, p_worse = found.whole.p_above(), found.whole.p_below()
    if repeats == 1:
        return p_pass, p_worse
    above, below = _t(found.mean)
    return max(p_pass, above), max(p_worse, below)


def _reason(found: _Quantity, p: tuple[float, float], alpha: float) -> str:
    """What the reader should know of the users: that they are one, all the same, or too few to hold rare ones."""
    users = found.mean.users
    if users < 2:
        return "a single user"
    same = "no user's value differs" if not found.differing else ""
    if min(p) < alpha or min(_t(found.mean)) >= alpha:
        return same
    rare = "losses" if found.mean.value > 0 else "gains"
    unseen = (
        f"{rare} of fewer than 1 in {one_in(users, alpha):,} users can be missed among {users:,} users, and could "
        "reverse the answer"
    )
    return f"{same}, but {unseen}" if same else unseen


def _t(mean: Mean) -> tuple[float, float]:
    if mean.error == 0 and abs(mean.value) < _ROUNDING:  # exactly at the margin, rounding aside
        return 1.0, 1.0
    above, below = (t_test(mean.value, mean.error, mean.free, tail) for tail in ("greater", "less"))
    return above, below


def _with_ends(row: MarginTest, found: _Quantity, side: int, level: float) -> MarginTest:
    """Bounds of the difference by the test itself; over seeds, by t as well, whichever is farther."""
    if found.mean.users < 2:
        return row
    low, high = found.whole.low(1 - level), found.whole.high(1 - level)
    if row.repeats > 1:
        reach = t_quantile(level=2 * level - 1, freedom=found.mean.free) * found.mean.error
        low, high = min(low, found.mean.value - reach), max(high, found.mean.value + reach)
    return _bounded_by(row, low, high, side, level)


def _with_interval(row: MarginTest, mean: Mean, side: int, level: float) -> MarginTest:
    """Bounds of the difference by t; where p shows less than they do, they reach to the margin. None without spread."""
    if not mean.error > 0:
        return row
    reach = t_quantile(level=2 * level - 1, freedom=mean.free) * mean.error
    return _bounded_by(row, mean.value - reach, mean.value + reach, side, level)


def _bounded_by(row: MarginTest, low: float, high: float, side: int, level: float) -> MarginTest:
    low = low if row.p_pass < 1 - level else min(low, 0.0)
    high = high if row.p_worse < 1 - level else max(high, 0.0)
    ends = sorted(side * (end - row.margin) for end in (low, high))
    return replace(row, low=ends[0], high=ends[1])
