"""Estimates: every mean is a ratio of sums over users, and carries an interval.

A mean over users, a pooled ratio, a mean over 1R units (clustered by user) and a mean over percentiles are
all of one form: for each user and stratum a numerator and a denominator; sums of these; their ratio; the
mean over strata. One bootstrap, one jackknife and one linearised (delta) standard error serve them all.

    sums(measured, cluster, n_clusters, stratum)      a metric's values in that form
    estimate_all([sums, …], intervals)                  estimates with intervals
    resampled([(rows, sums), …], users, …)            values in every resample of users
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trueval.evaluation.few_users import allow_for_few
from trueval.evaluation.interval_method import IntervalMethod
from trueval.metrics.compute import Measured
from trueval.metrics.metric_values import Ratio, product_of_ratios, same
from trueval.statistics.percentiles import bca_bounds, percentile_bounds
from trueval.statistics.resampling import resample_sums
from trueval.statistics.student import student_interval

Range = tuple[float, float]
UNBOUNDED: Range = (-np.inf, np.inf)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value, its interval (NaN where there is none), and how many units it rests on.

    `note` says why the interval is another than the one asked for, or why there is none.
    """

    value: float
    low: float
    high: float
    n: int
    undefined: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Sums:
    """Numerators and denominators by cluster (user) and stratum.

    A product of ratios has the columns of its factors one after the other, a column per stratum each. `range` is that
    of the metric: no user's value lies outside of it.
    """

    numerator: np.ndarray
    denominator: np.ndarray
    finish: Callable[[np.ndarray], np.ndarray]
    n: int
    undefined: int
    factors: int = 1
    range: Range = UNBOUNDED

    def value(self, weights: np.ndarray | None = None) -> np.ndarray:
        """The estimate, or one for each row of weights."""
        if weights is None:
            above, below = self.numerator.sum(axis=0)[None], self.denominator.sum(axis=0)[None]
        else:
            above, below = weights @ self.numerator, weights @ self.denominator
        return self.finished(above, below)

    def jackknife_replicates(self) -> np.ndarray:
        """The estimate without each user in turn."""
        totals = (side.sum(axis=0) - side for side in (self.numerator, self.denominator))
        return self.finished(*totals)

    def finished(self, above: np.ndarray, below: np.ndarray) -> np.ndarray:
        """Estimates from sums of numerators and denominators, one row each, one column per stratum."""
        per_stratum = product_of_ratios(self._by_factor(above), self._by_factor(below))
        present = ~np.isnan(self._totals()[0])
        if not present.any():
            return np.full(len(above), np.nan)
        known = per_stratum[:, present]
        if known.shape[1] == 1:
            return self.finish(known[:, 0])
        some = ~np.isnan(known).all(axis=1)  # a resample of a small group may hold none of its users
        mean = np.full(len(known), np.nan)
        mean[some] = np.nanmean(known[some], axis=1)
        return self.finish(mean)

    def _by_factor(self, side: np.ndarray) -> np.ndarray:
        """Columns as factor by stratum."""
        return side.reshape(len(side), self.factors, side.shape[1] // self.factors)

    def _totals(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For every stratum the value over all users, and its factors' ratios and denominators."""
        above, below = (self._by_factor(side.sum(axis=0)[None]) for side in (self.numerator, self.denominator))
        with np.errstate(invalid="ignore", divide="ignore"):
            return product_of_ratios(above, below)[0], (above / below)[0], below[0]

    @property
    def is_mean(self) -> bool:
        """Whether the value is a weighted mean of users' values."""
        return self.factors == 1 and self.finish is same

    def user_values(self) -> tuple[np.ndarray, np.ndarray]:
        """Values of the users that count, and how much each counts."""
        weight = self._by_factor(self.denominator)[:, 0].sum(axis=1)
        return self.own_values()[weight > 0], weight[weight > 0]

    def own_values(self) -> np.ndarray:
        """Each user's own value, all strata together."""
        above, below = (self._by_factor(side).sum(axis=2) for side in (self.numerator, self.denominator))
        return self.finish(product_of_ratios(above, below))

    def influence(self) -> tuple[float, np.ndarray]:
        """The value before `finish`, and how much each user moves it, to first order."""
        value, ratio, below = self._totals()
        present = ~np.isnan(value)
        above_by, below_by = (self._by_factor(s)[:, :, present] for s in (self.numerator, self.denominator))
        ratio, below = ratio[:, present], below[:, present]
        ratio, below = np.where(below > 0, ratio, 0.0), np.where(below > 0, below, 1.0)  # of a product that is 0
        moved = (above_by - ratio * below_by) / below
        if self.factors > 1:
            others = [np.delete(ratio, factor, axis=0).prod(axis=0) for factor in range(self.factors)]
            moved = moved * np.stack(others)
        return float(value[present].mean()), moved.sum(axis=1).mean(axis=1)

    @property
    def users(self) -> int:
        """Users that count."""
        return int((self.denominator > 0).any(axis=1).sum())


def sums(
    measured: Measured, cluster: np.ndarray, n_clusters: int, stratum: np.ndarray | None, *, range: Range = UNBOUNDED
) -> Sums:
    """Bring a metric's values to the one form."""
    assert measured.per_unit is not None
    known = ~np.isnan(measured.per_unit)
    ratio = measured.ratio or Ratio(np.where(known, measured.per_unit, 0.0), known.astype(np.float64))
    n, undefined = int(known.sum()), int((~known).sum())
    factors = ratio.columns[0].shape[1]
    if stratum is None and n_clusters == len(cluster):  # one unit per user: nothing to add up
        return Sums(*ratio.columns, ratio.finish, n, undefined, factors, range)
    strata = 1 if stratum is None else int(stratum.max(initial=0)) + 1
    cell = cluster.astype(np.int64) * strata + (0 if stratum is None else stratum)

    def added(side: np.ndarray) -> np.ndarray:
        columns = [np.bincount(cell, x, minlength=n_clusters * strata).reshape(n_clusters, strata) for x in side.T]
        return np.concatenate(columns, axis=1)

    numerator, denominator = map(added, ratio.columns)
    return Sums(numerator, denominator, ratio.finish, n, undefined, factors, range)


def estimate_all(all_sums: Sequence[Sums], intervals: IntervalMethod) -> list[Estimate]:
    """Estimates of several metrics over the same users; resamples are shared, so differences stay paired.

    >>> from trueval.metrics.metric_values import same
    >>> hits = np.repeat([1.0, 0.0], [6, 14])[:, None]
    >>> found, = estimate_all([Sums(hits, np.ones((20, 1)), same, 20, 0)], IntervalMethod("bootstrap", 0, 10_000))
    >>> found.value, round(found.low, 2), round(found.high, 2)
    (0.3, 0.1, 0.5)
    """
    intervals.checked()
    drawn: Sequence[np.ndarray | None] = [None] * len(all_sums)
    users = len(all_sums[0].numerator) if all_sums else 0
    if intervals.resamples_users and users > 1:
        drawn = resampled([(None, s) for s in all_sums], users, seed=intervals.seed, resamples=intervals.resamples)
    return [estimate(s, values, intervals) for s, values in zip(all_sums, drawn)]


def estimate(s: Sums, drawn: np.ndarray | None, intervals: IntervalMethod) -> Estimate:
    """The value with its interval, from its resamples where there are any. One user alone has no interval."""
    value = float(s.value()[0])
    if s.users < 2 or intervals.interval == "none" or (drawn is None and intervals.interval != "t"):
        return Estimate(value, np.nan, np.nan, s.n, s.undefined)
    if intervals.interval == "t":
        low, high = t_interval(s, intervals.level)
    else:
        low, high = bounds(value, drawn, s.jackknife_replicates, intervals)  # type: ignore[arg-type]
    found = allow_for_few(s, *within((low, high), s.range), intervals.level)
    low, high = within(found[:2], s.range)
    return Estimate(value, low, high, s.n, s.undefined, found.note)


def within(ends: tuple[float, float], range: Range) -> tuple[float, float]:
    """An interval without the part in which the quantity cannot lie.

    >>> within((-0.1, 0.3), (0, 1)), within((float("nan"), float("nan")), (0, 1))
    ((0.0, 0.3), (nan, nan))
    """
    low, high = map(float, np.clip(ends, *range))
    return low, high


def bounds(
    value: float, drawn: np.ndarray, jackknife: Callable[[], np.ndarray], intervals: IntervalMethod
) -> tuple[float, float]:
    """The interval that resamples give; `jackknife` makes the values without each user in turn, where needed."""
    if intervals.interval == "bca":
        return bca_bounds(value, drawn, jackknife(), intervals.level)
    return percentile_bounds(drawn, intervals.level)


def resampled(
    parts: Sequence[tuple[np.ndarray | None, Sums]], users: int, *, seed: int, resamples: int
) -> list[np.ndarray]:
    """Values of sums over some of the users each (ascending places; None for all), in every resample of all users."""
    batches: list[tuple[np.ndarray | None, list[Sums]]] = []
    for rows, s in parts:
        before = batches[-1][0] if batches else None
        if not batches or (rows is None) != (before is None) or not np.array_equal(rows, before):  # type: ignore[arg-type]
            batches.append((rows, []))
        batches[-1][1].append(s)
    stacked = [_stacked(own) for _, own in batches]
    totals = resample_sums(
        [(rows, columns) for (rows, _), (columns, _) in zip(batches, stacked)], users, seed=seed, resamples=resamples
    )
    return [
        s.finished(total[:, above], total[:, below])
        for (_, own), (_, places), total in zip(batches, stacked, totals)
        for s, (above, below) in zip(own, places)
    ]


def _stacked(all_sums: Sequence[Sums]) -> tuple[np.ndarray, list[tuple[list[int], list[int]]]]:
    """All columns of some sums side by side, equal ones (most denominators) once, and where each has its own."""
    place: dict[bytes, int] = {}
    columns: list[np.ndarray] = []

    def kept(side: np.ndarray) -> list[int]:
        found = []
        for column in side.T:
            found.append(place.setdefault(column.tobytes(), len(columns)))
            if found[-1] == len(columns):
                columns.append(column)
        return found

    places = [(kept(s.numerator), kept(s.denominator)) for s in all_sums]
    stacked = np.zeros((len(all_sums[0].numerator), -(-len(columns) // 4) * 4))  # products like multiples of 4
    for at, column in enumerate(columns):
        stacked[:, at] = column
    return stacked, places


def t_interval(s: Sums, level: float) -> tuple[float, float]:
    """Student's t around the estimate, with the linearised standard error of a ratio of sums."""
    users = s.users
    if users < 2:
        return np.nan, np.nan
    value, moved = s.influence()
    error = np.sqrt((moved**2).sum() * users / (users - 1))
    ends = np.array(student_interval(value, float(error), freedom=users - 1, level=level))
    low, high = s.finish(np.maximum(ends, 0.0 if s.finish is np.sqrt else -np.inf))
    return float(low), float(high)
