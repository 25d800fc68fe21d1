"""Intervals of estimates that are sums of ratios of sums, over independent clusters of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trueval.errors import DefinitionError, suggest
from trueval.kernels import blocks
from trueval.kernels.seeds import derive
from trueval.statistics.percentiles import percentile_bounds
from trueval.statistics.student import student_interval

INTERVALS = ("t", "bootstrap", "none")


@dataclass(frozen=True)
class Ratios:
    """Σ_s coefficient_s · Σ numerator_s / Σ denominator_s, sums being over clusters (users or rounds).

    A mean has the denominator 1, a self-normalised one the weight; a slate adds its positions up; a difference
    has the coefficients 1 and -1. The estimate is undefined (NaN) where a denominator adds up to nothing.

    >>> r = Ratios.of([np.array([1.0, 0.0, 3.0])], [np.array([1.0, 2.0, 1.0])])
    >>> r.value
    1.0
    """

    numerator: np.ndarray  # ratios × clusters
    denominator: np.ndarray
    coefficient: np.ndarray
    rows: int

    @staticmethod
    def of(
        numerators: Sequence[np.ndarray],
        denominators: Sequence[np.ndarray],
        *,
        cluster: np.ndarray | None = None,
        rows: int | None = None,
    ) -> Ratios:
        """Columns of rows, added up by cluster."""
        columns = [np.asarray(c, np.float64) for c in (*numerators, *denominators)]
        if cluster is not None:
            columns = [np.bincount(cluster, c).astype(np.float64, copy=False) for c in columns]
        many = len(numerators)
        sides = np.stack(columns[:many]), np.stack(columns[many:])
        return Ratios(*sides, np.ones(many), len(numerators[0]) if rows is None else rows)

    @cached_property
    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the numerators and the denominators."""
        return self.numerator.sum(axis=1), self.denominator.sum(axis=1)

    @property
    def value(self) -> float:
        """The estimate."""
        above, below = self.sums
        return float(self.values(above[None], below[None])[0])

    def values(self, above: np.ndarray, below: np.ndarray) -> np.ndarray:
        """Estimates from sums of numerators and denominators, one per row."""
        ratio = np.full(above.shape, np.nan)
        np.divide(above, below, out=ratio, where=below != 0)
        return ratio @ self.coefficient

    def t_interval(self, level: float) -> tuple[float, float]:
        """Student's t with the linearised (delta method) standard error of the ratios, clusters independent."""
        value, counted = self.value, int((self.denominator != 0).any(axis=0).sum())
        if counted < 2 or np.isnan(value):
            return np.nan, np.nan
        above, below = self.sums
        influence = np.zeros(self.numerator.shape[1])  # what each cluster adds to the estimate
        for up, down, total, ratio, factor in zip(
            self.numerator, self.denominator, below, above / below, self.coefficient, strict=True
        ):
            influence += (up - ratio * down) * (factor / total)
        error = float(np.sqrt((influence**2).sum() * counted / (counted - 1)))
        return student_interval(value, error, freedom=counted - 1, level=level)


def intervals(
    ratios: Sequence[Ratios], *, interval: str, level: float, seed: int, resamples: int = 1000
) -> list[tuple[float, float]]:
    """An interval of each estimate; all share the resampled clusters of the bootstrap.

    Where nothing varies there is none: how much other clusters would vary is not known.

    >>> r = Ratios.of([np.array([2.0, 6.0])], [np.array([1.0, 3.0])])
    >>> intervals([r], interval="t", level=0.95, seed=0)  # both clusters say 2
    [(nan, nan)]
    """
    if interval not in INTERVALS:
        raise DefinitionError(f"unknown interval {interval!r}", do=suggest(interval, INTERVALS))
    if not 0 < level < 1:
        raise DefinitionError("level must lie between 0 and 1", found=str(level), do="level=0.95")
    if interval == "bootstrap":
        if resamples < 1:
            raise DefinitionError("a bootstrap needs at least 1 resample", found=str(resamples), do="resamples=1000")
        found = _bootstrap(ratios, level=level, seed=seed, resamples=resamples)
    else:
        found = [r.t_interval(level) if interval == "t" else (np.nan, np.nan) for r in ratios]
    return [(np.nan, np.nan) if _without_spread(r, *ends) else ends for r, ends in zip(ratios, found)]


def _without_spread(r: Ratios, low: float, high: float) -> bool:
    """Whether an interval has no width. That the policy which was live differs from itself by nothing is certain."""
    certain = low == high == 0 and bool((r.coefficient < 0).any())
    return high - low <= 1e-12 * max(abs(low), abs(high)) and not certain


def _bootstrap(ratios: Sequence[Ratios], *, level: float, seed: int, resamples: int) -> list[tuple[float, float]]:
    clusters = ratios[0].numerator.shape[1]
    if clusters < 2:
        return [(np.nan, np.nan)] * len(ratios)
    rng = np.random.default_rng(int(derive(seed, "off-policy bootstrap")))
    columns = np.concatenate([side for r in ratios for side in (r.numerator, r.denominator)]).T
    totals = []
    for part in blocks(resamples, max(1, 4_000_000 // clusters)):
        size = part.stop - part.start
        place = rng.integers(0, clusters, size=(size, clusters)) + clusters * np.arange(size)[:, None]
        counts = np.bincount(place.ravel(), minlength=size * clusters).reshape(size, clusters)
        totals.append(counts.astype(np.float64) @ columns)
    drawn, at = np.concatenate(totals), 0
    found = []
    for r in ratios:
        width = len(r.coefficient)
        values = r.values(drawn[:, at : at + width], drawn[:, at + width : at + 2 * width])
        found.append(percentile_bounds(values, level))
        at += 2 * width
    return found
