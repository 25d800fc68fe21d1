"""Estimates: every mean is a ratio of sums over users, and carries an interval.

A mean over users, a pooled ratio, a mean over 1R units (clustered by user) and a mean over percentiles are
all of one form: for each user and stratum a numerator and a denominator; sums of these; their ratio; the
mean over strata. One bootstrap and one linearised (delta) standard error serve them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from trueval.errors import DefinitionError, suggest
from trueval.kernels import blocks, in_order
from trueval.kernels.seeds import derive
from trueval.metrics.compute import Measured
from trueval.metrics.results import same

INTERVALS = ("bootstrap", "t", "none")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value, its 95 % interval (NaN where there is none), and how many units it rests on."""

    value: float
    low: float
    high: float
    n: int
    undefined: int = 0


@dataclass(frozen=True, slots=True)
class Sums:
    """Numerators and denominators by cluster (user) and stratum."""

    numerator: np.ndarray
    denominator: np.ndarray
    finish: Callable[[np.ndarray], np.ndarray]
    n: int
    undefined: int

    def value(self, weights: np.ndarray | None = None) -> np.ndarray:
        """The estimate, or one for each row of weights."""
        if weights is None:
            above, below = self.numerator.sum(axis=0)[None], self.denominator.sum(axis=0)[None]
        else:
            above, below = weights @ self.numerator, weights @ self.denominator
        return self.finished(above, below)

    def finished(self, above: np.ndarray, below: np.ndarray) -> np.ndarray:
        """Estimates from sums of numerators and denominators, one row each, one column per stratum."""
        with np.errstate(invalid="ignore", divide="ignore"):
            per_stratum = np.where(below > 0, above / below, np.nan)
        present = self.denominator.sum(axis=0) > 0
        if not present.any():
            return np.full(len(above), np.nan)
        known = per_stratum[:, present]
        if known.shape[1] == 1:
            return self.finish(known[:, 0])
        some = ~np.isnan(known).all(axis=1)  # a resample of a small group may hold none of its users
        mean = np.full(len(known), np.nan)
        mean[some] = np.nanmean(known[some], axis=1)
        return self.finish(mean)


def sums(measured: Measured, cluster: np.ndarray, n_clusters: int, stratum: np.ndarray | None) -> Sums:
    """Bring a metric's values to the one form."""
    assert measured.per_unit is not None
    known = ~np.isnan(measured.per_unit)
    if measured.ratio is not None:
        numerator, denominator, finish = measured.ratio.numerator, measured.ratio.denominator, measured.ratio.finish
    else:
        numerator, denominator, finish = np.where(known, measured.per_unit, 0.0), known.astype(np.float64), same
    n, undefined = int(known.sum()), int((~known).sum())
    if stratum is None and n_clusters == len(cluster):  # one unit per user: nothing to add up
        return Sums(numerator[:, None], denominator[:, None], finish, n, undefined)
    strata = 1 if stratum is None else int(stratum.max(initial=0)) + 1
    cell = cluster.astype(np.int64) * strata + (0 if stratum is None else stratum)
    shape = (n_clusters, strata)
    added = [np.bincount(cell, x, minlength=n_clusters * strata).reshape(shape) for x in (numerator, denominator)]
    return Sums(added[0], added[1], finish, n, undefined)


def estimate_all(
    all_sums: list[Sums], *, interval: str, seed: int, resamples: int = 1000, level: float = 0.95
) -> list[Estimate]:
    """Estimates of several metrics over the same users; resamples are shared, so differences stay paired."""
    if interval not in INTERVALS:
        raise DefinitionError(f"unknown interval {interval!r}", found=suggest(interval, INTERVALS))
    if interval == "bootstrap":
        bounds = _bootstrap(all_sums, seed=seed, resamples=resamples, level=level)
    else:
        bounds = [t_interval(s, level) if interval == "t" else (np.nan, np.nan) for s in all_sums]
    values = [float(s.value()[0]) for s in all_sums]
    return [Estimate(v, float(b[0]), float(b[1]), s.n, s.undefined) for v, b, s in zip(values, bounds, all_sums)]


def _bootstrap(all_sums: list[Sums], *, seed: int, resamples: int, level: float) -> list[tuple[float, float]]:
    """Percentile intervals: users drawn with replacement, as weights in a blocked matrix product."""
    users = len(all_sums[0].numerator) if all_sums else 0
    if users < 2:
        return [(np.nan, np.nan)] * len(all_sums)
    drawn: list[list[np.ndarray]] = [[] for _ in all_sums]
    for weights in draw_users(users, seed=seed, resamples=resamples):
        for values, s in zip(drawn, all_sums):
            values.append(s.value(weights))
    tail = (1 - level) / 2
    joined = [np.concatenate(values) for values in drawn]
    joined = [values[~np.isnan(values)] for values in joined]
    return [tuple(np.quantile(v, [tail, 1 - tail])) if len(v) else (np.nan, np.nan) for v in joined]


def draw_users(users: int, *, seed: int, resamples: int) -> Iterator[np.ndarray]:
    """How often each user is drawn, with replacement, in each resample: blocks of rows, the same for all metrics."""
    rng = np.random.default_rng(int(derive(seed, "bootstrap")))
    for part in blocks(resamples, max(1, 4_000_000 // users)):
        size = part.stop - part.start
        place = rng.integers(0, users, size=(size, users)) + users * np.arange(size)[:, None]
        yield np.bincount(place.ravel(), minlength=size * users).reshape(size, users).astype(np.float64)


def resampled(parts: list[tuple[np.ndarray, Sums]], users: int, *, seed: int, resamples: int) -> list[np.ndarray]:
    """Values of sums over some of the users each (ascending), in every resample of all users.

    Neighbours over the same users share their matrix products, which go from block to block of users.
    """
    from threadpoolctl import threadpool_limits

    batches: list[list[Sums]] = []
    rows: list[np.ndarray] = []
    for own, s in parts:
        if not rows or not np.array_equal(own, rows[-1]):
            batches.append([])
            rows.append(own)
        batches[-1].append(s)
    columns = [np.hstack([side for s in batch for side in (s.numerator, s.denominator)]) for batch in batches]
    drawn: list[list[np.ndarray]] = []
    for weights in _small_counts(users, seed=seed, resamples=resamples):

        def part(block: slice, weights: np.ndarray = weights) -> list[np.ndarray]:
            times = weights[:, block].T.astype(np.float64, order="C")
            found = []
            for own, c in zip(rows, columns):
                first, last = np.searchsorted(own, (block.start, block.stop))
                here = times if last - first == len(times) else times[own[first:last] - block.start]
                found.append(c[first:last].T @ here)
            return found

        totals = [np.zeros((c.shape[1], len(weights))) for c in columns]
        with threadpool_limits(1):  # many small products: threads over the blocks, none inside
            for sums_of_block in in_order(part, blocks(users, 1024)):
                for total, more in zip(totals, sums_of_block):
                    total += more
        drawn.append([value for batch, total in zip(batches, totals) for value in _unstacked(batch, total.T)])
    return [np.concatenate(values) for values in zip(*drawn)]


def _small_counts(users: int, *, seed: int, resamples: int) -> Iterator[np.ndarray]:
    """The draws of `draw_users` in larger blocks, at one byte each: nobody is drawn 256 times."""
    most, held = max(1, 200_000_000 // users), list[np.ndarray]()
    for weights in draw_users(users, seed=seed, resamples=resamples):
        if held and sum(map(len, held)) + len(weights) > most:
            yield np.concatenate(held)
            held = []
        held.append(weights.astype(np.uint8))
    yield np.concatenate(held)


def _unstacked(batch: list[Sums], totals: np.ndarray) -> Iterator[np.ndarray]:
    """Each sum's values from the columns of all."""
    at = 0
    for s in batch:
        width = s.numerator.shape[1]
        yield s.finished(totals[:, at : at + width], totals[:, at + width : at + 2 * width])
        at += 2 * width


def t_interval(s: Sums, level: float) -> tuple[float, float]:
    """Student's t around the estimate, with the linearised standard error of a ratio of sums."""
    from scipy.special import stdtrit

    used = (s.denominator > 0).any(axis=1)
    users = int(used.sum())
    below = s.denominator.sum(axis=0)
    present = below > 0
    if users < 2:
        return np.nan, np.nan
    a, b = s.numerator[used][:, present], s.denominator[used][:, present]
    ratio = a.sum(axis=0) / below[present]
    influence = ((a - ratio * b) / below[present]).mean(axis=1)
    error = np.sqrt((influence**2).sum() * users / (users - 1))
    reach = float(stdtrit(users - 1, (1 + level) / 2)) * error
    middle = ratio.mean()
    low, high = s.finish(np.maximum([middle - reach, middle + reach], 0.0 if s.finish is np.sqrt else -np.inf))
    return float(low), float(high)
