"""Means over users, or over users within seeds and folds: a number, its standard error and degrees of freedom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueval.evaluation.estimate import Sums
from trueval.evaluation.repeats import nested_error
from trueval.metrics.metric_values import same
from trueval.statistics.jackknife import JackknifeReplicates


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean, its standard error and degrees of freedom; `sd` is that over seeds (NaN where there is one)."""

    value: float
    error: float
    free: float
    users: int
    sd: float = float("nan")
    spread: float = float("nan")  # standard deviation over users (of their means over seeds)


def mean_of(values: np.ndarray) -> Mean:
    """Mean over the users of one seed.

    >>> m = mean_of(np.array([0.40, 0.41, 0.42, 0.43, 0.44]))
    >>> f"{m.value:.3f} {m.spread:.4f} {m.error:.5f}"
    '0.420 0.0158 0.00707'
    """
    n = len(values)
    if n < 2:
        return Mean(float(values[0]) if n else float("nan"), float("nan"), float("nan"), n)
    alike = np.ptp(values) <= 1e-12 * np.abs(values).max()  # equal values have no spread, rounding aside
    spread = 0.0 if alike else float(values.std(ddof=1))
    return Mean(float(values.mean()), spread / np.sqrt(n), n - 1, n, spread=spread)


def nested_mean(
    means: Sequence[float], users: Sequence[np.ndarray], shares: Sequence[np.ndarray], mixing: np.ndarray
) -> Mean:
    """Mean over seeds of means over users, given what each user adds to each seed's mean.

    Users and seeds are both samples: see `nested_error`. Each row of `mixing` makes one repeat of several seeds.

    >>> users, ones = np.arange(3), np.ones(3)
    >>> seeds = [0.40, 0.41, 0.42, 0.43, 0.44]
    >>> m = nested_mean(seeds, [users] * 5, [ones * seed for seed in seeds], np.eye(5))
    >>> f"{m.value:.3f} {m.sd:.4f} {m.error:.5f} {m.free:.0f}"
    '0.420 0.0158 0.00707 4'
    """
    who, place = np.unique(np.concatenate(users), return_inverse=True)
    repeats, at = [], 0
    total, times = np.zeros(len(who)), np.zeros(len(who))
    for own in shares:
        rows = place[at : at + len(own)]
        at += len(own)
        sides = np.zeros((2, len(who), 1))
        sides[0, rows, 0], sides[1, rows, 0] = own, 1.0
        repeats.append(Sums(sides[0], sides[1], same, len(own), 0))
        total[rows] += own
        times[rows] += 1
    values = mixing @ np.asarray(means)
    sd = float(np.std(values, ddof=1)) if np.ptp(values) > 1e-15 * np.abs(values).max() else 0.0
    error, free = nested_error(repeats, mixing)
    spread = float((total / times).std(ddof=1)) if len(who) > 1 else float("nan")
    return Mean(float(np.mean(values)), error, free, len(who), sd, spread)


def nested_tally(found: Sequence[JackknifeReplicates], users: int, mixing: np.ndarray) -> Mean:
    """A system metric (or a difference of two), by what leaving out groups of users changes; over seeds, both vary."""
    errors = np.array([one.error() for one in found])
    by_user, free = float(errors.mean()), len(found[0].one) - 1
    if len(found) == 1:
        return Mean(found[0].value, by_user, free, users)
    values = mixing @ np.array([one.value for one in found])
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    by_seed = sd**2 / len(values)
    variance = by_user**2 + by_seed
    spent = by_user**4 / max(free, 1) + by_seed**2 / max(len(values) - 1, 1)
    return Mean(float(values.mean()), float(np.sqrt(variance)), variance**2 / spent if spent else free, users, sd)
