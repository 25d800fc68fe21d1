"""What users of each day add to a metric: enough to see an effect grow, day by day, without their rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trueval.online.ab.units import Units

KINDS = ("conversion", "payers", "mean", "per_user", "per_payer", "ratio")  # ratios of sums over users


@dataclass(frozen=True, slots=True)
class DailySums:
    """Sums over the users who entered on each day, by metric: an array of arms × days × (n, Σa, Σb, Σa², Σb², Σab).

    A metric is Σa / Σb; of a mean, b is 1. To keep digits, a is what a user has beyond the value over all arms: sums
    of a are differences from that, which the difference of two arms does not notice.
    """

    days: tuple[str, ...]  # of the users' first events
    sums: dict[str, np.ndarray] = field(repr=False)

    def effect(self, metric: str, arm: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """An arm minus the control over all users who entered until each day: difference, standard error, users.

        NaN where one of the two has fewer than two users, or no spread.

        >>> rows = np.array([[[4, 0, 4, 4, 4, 0]], [[4, 2, 4, 5, 4, 2]]], float)
        >>> difference, error, n = DailySums(("1",), {"x": rows}).effect("x", 1)
        >>> difference.tolist(), error.round(4).tolist(), n.tolist()
        ([0.5], [0.8165], [8.0])
        """
        passed = self.sums[metric].cumsum(axis=1)
        (value, error, n), (other, more, users) = (_estimated(passed[place]) for place in (arm, 0))
        return value - other, np.hypot(error, more), n + users


def _estimated(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ratios, their standard errors (linearised) and users, from cumulated sums, one row per day."""
    n, a, b, aa, bb, ab = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(b > 0, a / b, np.nan)
        left = aa - 2 * value * ab + value**2 * bb
        error = np.sqrt(np.maximum(left, 0) / (n * (n - 1))) * n / b
    known = (n > 1) & (left > 1e-12 * aa)
    return value, np.where(known, error, np.nan), n


def daily_sums(units: Units) -> DailySums | None:
    """The sums of all metrics that are ratios of sums; None where the table has no days, or only one."""
    day = next((c for c in units.covariates if c.role == "day"), None)
    if day is None:
        return None
    shape = (len(units.arms), len(day.labels))
    cell = units.arm.astype(np.int64) * shape[1] + day.values
    found = {}
    for metric in units.metrics:
        if metric.kind in KINDS:
            sample = units.samples[metric.name]
            b = np.ones(len(sample.values)) if sample.below is None else sample.below
            a = sample.values - sample.values.sum() / b.sum() * b
            columns = (np.ones(len(a)), a, b, a * a, b * b, a * b)
            added = [np.bincount(cell, column, minlength=shape[0] * shape[1]).reshape(shape) for column in columns]
            found[metric.name] = np.stack(added, axis=2)
    return DailySums(day.labels, found) if found else None
