"""What a user who was not seen could change: the bounds of users' values, and how rare such users must be."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trueval.comparison.pairing import SystemPair, counted
from trueval.evaluation.estimate import Range, Sums
from trueval.statistics.bounded_mean import BoundedMean


def value_bounds(pairs: Sequence[SystemPair], declared: Range) -> Range:
    """Between which values one user's lie: the range of the metric; where it has none, the values seen."""
    low, high = declared
    if math.isfinite(low) and math.isfinite(high):
        return low, high
    values = np.concatenate([side.own_values()[counted(side)] for one in pairs for side in (one.left, one.right)])
    return (
        low if math.isfinite(low) else float(np.nanmin(values)),
        high if math.isfinite(high) else float(np.nanmax(values)),
    )


def weight_bound(one: SystemPair) -> float:
    """The largest weight of a user in the estimate, in weights of the average user: 1 for a mean over users."""
    if one.plain:
        return 1.0
    return max(1.0, *(_largest_weight(side) for side in (one.left, one.right)))


def difference_bounded(pairs: Sequence[SystemPair], declared: Range) -> BoundedMean:
    """The difference of two systems by user (mean over seeds), with the bounds of what one user can add to it."""
    users = np.concatenate([one.users for one in pairs])
    shares = np.concatenate([one.shares for one in pairs])
    if len(pairs) > 1:
        _, place, times = np.unique(users, return_inverse=True, return_counts=True)
        shares = np.bincount(place, shares) / times
    low, high = value_bounds(pairs, declared)
    weight = max(weight_bound(one) for one in pairs)
    middle = 0.0 if weight == 1 else float(shares.mean())
    return BoundedMean(shares, middle + weight * (low - high - middle), middle + weight * (high - low - middle))


def one_in(users: int, alpha: float) -> int:
    """The number N for which one in N users may be of a kind that none of these users is: the share of this kind with
    which such a sample has a chance of alpha.

    >>> one_in(30, 0.05), one_in(100, 0.05), one_in(1000, 0.05)  # about a third of the users: the rule of three
    (10, 33, 334)
    """
    return int(1 / -math.expm1(math.log(alpha) / users))


def _largest_weight(side: Sums) -> float:
    total = side.denominator.sum(axis=0)
    shares = side.denominator[:, total > 0] / total[total > 0]
    return float(len(shares) * shares.mean(axis=1).max()) if shares.size else 1.0
