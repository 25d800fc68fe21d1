"""Paired comparison of systems with a baseline, corrected for the number of comparisons shown."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueval.evaluation.outcome import Evaluation, SystemValues


@dataclass(frozen=True, slots=True)
class Comparison:
    """System minus baseline on one metric: mean difference over common users, its interval, and p."""

    metric: str
    system: str
    baseline: str
    difference: float
    low: float
    high: float
    p: float
    p_corrected: float
    verdict: str
    n: int

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def compare_with(evaluation: Evaluation, baseline: str, *, level: float = 0.95) -> list[Comparison]:
    """Every other system against the baseline on every metric with per-user values.

    Paired t-test over the users both have a value for; Holm's correction over all comparisons returned.
    """
    base = evaluation.system(baseline)
    found = []
    for name, system in evaluation.systems.items():
        if name == baseline:
            continue
        for label in evaluation.specs:
            if label in system.values and label in base.values:
                found.append((label, name, *_paired_t(system, base, label, level)))
    corrected = holm(np.array([row[5] for row in found]))
    return [
        Comparison(
            label, name, baseline, d, low, high, p, float(q), _verdict(d, float(q), evaluation, label, 1 - level), n
        )
        for (label, name, d, low, high, p, n), q in zip(found, corrected)
    ]


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's step-down correction.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(steps, 1)
    return corrected


def _paired_t(
    system: SystemValues, base: SystemValues, label: str, level: float
) -> tuple[float, float, float, float, int]:
    """Mean difference of users' mean values, interval and p; identical values give p = 1."""
    from scipy.special import stdtr, stdtrit

    difference = _per_user(system, label, base)
    n = len(difference)
    if n < 2:
        mean = float(difference.mean()) if n else float("nan")
        return mean, float("nan"), float("nan"), 1.0, n
    mean, error = float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(n))
    if error == 0:
        return mean, mean, mean, 1.0 if mean == 0 else 0.0, n
    reach = float(stdtrit(n - 1, (1 + level) / 2)) * error
    return mean, mean - reach, mean + reach, float(2 * stdtr(n - 1, -abs(mean / error))), n


def _per_user(system: SystemValues, label: str, base: SystemValues) -> np.ndarray:
    """Differences of users' own means, for users with a value on both sides."""
    left, right = (_user_means(s, label) for s in (system, base))
    _, at_left, at_right = np.intersect1d(left[0], right[0], assume_unique=True, return_indices=True)
    return left[1][at_left] - right[1][at_right]


def _user_means(system: SystemValues, label: str) -> tuple[np.ndarray, np.ndarray]:
    values = system.values[label]
    known = ~np.isnan(values)
    users, place = np.unique(system.unit_user[known], return_inverse=True)
    return users, np.bincount(place, values[known]) / np.maximum(np.bincount(place), 1)


def _verdict(difference: float, p: float, evaluation: Evaluation, label: str, alpha: float) -> str:
    better = evaluation.specs[label].better
    if better == "neither":
        return "different" if p < alpha else "not shown"
    if not p < alpha:
        return "not shown"
    return "better" if (difference > 0) == (better == "higher") else "worse"
