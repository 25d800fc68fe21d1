"""One metric in one arm: the value, its standard error, and the interval around it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from trueval.kernels.seeds import derive
from trueval.online.ab.metric_declarations import SHARES, DeclaredMetric
from trueval.online.ab.sequential import always_valid_reach
from trueval.statistics.binomial import wilson_interval
from trueval.statistics.percentiles import percentile_bounds, quantile_of_sorted
from trueval.statistics.quantile_bootstrap import RESAMPLES, quantile_draws, ratio_draws
from trueval.statistics.student import t_quantile


@dataclass(frozen=True, slots=True)
class AbOptions:
    """How sure intervals are, whether they hold at every look, and what random draws come from."""

    level: float = 0.95
    sequential: int | None = None  # users at which always-valid intervals are tightest
    resamples: int = RESAMPLES
    seed: int = 0

    def seed_of(self, *purpose: str) -> int:
        """A seed for one purpose."""
        return int(derive(self.seed, "/".join(purpose)))


@dataclass(frozen=True, slots=True)
class Sample:
    """One arm's users: a value each, or a numerator and a denominator."""

    values: np.ndarray
    below: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Estimated:
    """A value with its standard error, degrees of freedom and interval.

    `influence` holds what each user contributes to a value that is asymptotically a mean, `draws` what the value
    was in resamples.
    """

    value: float
    error: float
    n: int
    freedom: float
    low: float = math.nan
    high: float = math.nan
    influence: np.ndarray | None = None
    draws: np.ndarray | None = None


def estimate(
    metric: DeclaredMetric, sample: Sample, *, options: AbOptions = AbOptions(), stream: str = ""
) -> Estimated:
    """A metric's value in an arm. Arms have streams of their own, for their users are not the same.

    >>> from trueval.online.ab.metric_declarations import parse_metrics
    >>> e = estimate(parse_metrics("x:conversion")[0], Sample(np.repeat([0.0, 1.0], [14, 6])))
    >>> round(e.value, 2), round(e.low, 3), round(e.high, 3)
    (0.3, 0.145, 0.519)
    """
    seed = options.seed_of(str(metric), stream)
    found = _raw(metric, sample, options.resamples, seed)
    if options.sequential:
        # half of the users of a comparison are in one arm
        reach = always_valid_reach(found.n, tuned_for=options.sequential / 2, level=options.level)
        return around(found, reach)
    if metric.kind in SHARES:
        ends = wilson_interval(found.value, found.n, level=options.level)
        return replace(found, low=float(ends[0]), high=float(ends[1]))
    if found.draws is not None:
        low, high = percentile_bounds(found.draws, options.level)
        return replace(found, low=low, high=high)
    if metric.kind in ("per_user", "per_payer"):
        return around_log(found, sample.values, options.level)
    return around(found, t_quantile(level=options.level, freedom=found.freedom))


def _raw(metric: DeclaredMetric, sample: Sample, resamples: int, seed: int) -> Estimated:
    if metric.kind in SHARES:
        return conversion(sample.values)
    if metric.kind == "per_user":
        return mean_per_user(sample.values)
    if metric.kind == "per_payer":
        return mean_per_payer(sample.values)
    if metric.kind == "mean":
        return mean(sample.values)
    if metric.kind == "trimmed":
        assert metric.parameter is not None
        return trimmed(sample.values, metric.parameter)
    if sample.below is not None:
        found = ratio(sample.values, sample.below)
        if metric.kind == "ratio":
            return found
        draws = ratio_draws(sample.values, sample.below, resamples=resamples, seed=seed)
        return replace(found, error=float(np.nanstd(draws)), influence=None, draws=draws)
    return quantile(sample.values, 0.5 if metric.parameter is None else metric.parameter, resamples, seed)


def mean(values: np.ndarray) -> Estimated:
    """The arithmetic mean.

    >>> e = mean(np.array([1.0, 2.0, 3.0]))
    >>> e.value, round(e.error, 4)
    (2.0, 0.5774)
    """
    n, middle = len(values), float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(n)
    return Estimated(middle, error, n, n - 1, influence=values - middle)


def mean_per_user(values: np.ndarray) -> Estimated:
    """The mean of an amount that is 0 for most users: what varies is known from payers, so they count as freedom.

    With the freedom of all users, intervals of few payers are too narrow: ten payers among a thousand users say as
    much about the spread as ten users do.

    >>> e = mean_per_user(np.array([0.0] * 95 + [10.0, 20.0, 30.0, 40.0, 50.0]))
    >>> e.value, e.freedom
    (1.5, 4)
    """
    return replace(mean(values), freedom=max(int((values != 0).sum()) - 1, 1))


def mean_per_payer(values: np.ndarray) -> Estimated:
    """The mean over users whose amount is not 0; the influence of the others is 0.

    >>> e = mean_per_payer(np.array([0.0, 0.0, 1.0, 2.0, 3.0]))
    >>> e.value, e.n, round(e.error, 4)
    (2.0, 3, 0.5774)
    """
    paid = values != 0
    found = mean(values[paid])
    assert found.influence is not None
    influence = np.zeros(len(values))
    influence[paid] = found.influence * (len(values) / found.n)
    return replace(found, influence=influence)


def conversion(values: np.ndarray) -> Estimated:
    """A share. Its standard error is that after half a success and half a failure more: never 0."""
    n, share = len(values), float(values.mean())
    kept = (share * n + 0.5) / (n + 1)
    return Estimated(share, math.sqrt(kept * (1 - kept) / n), n, n - 1, influence=values - share)


def ratio(above: np.ndarray, below: np.ndarray) -> Estimated:
    """A ratio of sums, linearised around itself: what a user adds is numerator minus ratio times denominator.

    >>> e = ratio(np.array([1.0, 0.0, 2.0]), np.array([2.0, 2.0, 4.0]))
    >>> e.value, e.influence.tolist()
    (0.375, [0.09375, -0.28125, 0.1875])
    """
    n, value = len(above), float(above.sum() / below.sum())
    influence = (above - value * below) / below.mean()
    error = math.sqrt(float((influence**2).sum()) / (n * (n - 1)))
    return Estimated(value, error, n, n - 1, influence=influence)


def trimmed(values: np.ndarray, share: float) -> Estimated:
    """The mean without a share of users at each end; the error of Yuen, from values winsorised there.

    >>> trimmed(np.array([0.0, 1.0, 2.0, 3.0, 1000.0]), 0.2).value
    2.0
    """
    n, cut = len(values), int(share * len(values))
    ordered = np.sort(values)
    kept = n - 2 * cut
    winsorised = np.clip(values, ordered[cut], ordered[n - cut - 1])
    influence = (winsorised - winsorised.mean()) * (n / kept)
    spread = float(((winsorised - winsorised.mean()) ** 2).sum())
    error = math.sqrt(spread / (kept * (kept - 1))) if kept > 1 else math.nan
    return Estimated(float(ordered[cut : n - cut].mean()), error, n, kept - 1, influence=influence)


def quantile(values: np.ndarray, q: float, resamples: int, seed: int) -> Estimated:
    """A quantile, with its bootstrap draws."""
    ordered = np.sort(values)
    draws = quantile_draws(ordered, q, resamples=resamples, seed=seed)
    return Estimated(quantile_of_sorted(ordered, q), float(draws.std()), len(values), len(values) - 1, draws=draws)


def around(found: Estimated, reach: float) -> Estimated:
    """The estimate with an interval of so many standard errors to each side."""
    return replace(found, low=found.value - reach * found.error, high=found.value + reach * found.error)


def around_log(found: Estimated, values: np.ndarray, level: float) -> Estimated:
    """The estimate of a positive, skewed amount with an interval that is symmetric for its logarithm.

    Amounts of payers are skewed: an interval to equal sides misses the truth above far too often. Where there are
    negative amounts, the sides are equal; where fewer than two users paid, there is no interval.

    >>> e = around_log(mean_per_user(np.array([0.0] * 95 + [10.0, 20, 30, 40, 50])), np.array([1.0, 1.0]), 0.95)
    >>> round(e.low, 2), round(e.value, 2), round(e.high, 2)
    (0.39, 1.5, 5.79)
    """
    if int((values != 0).sum()) < 2:
        return found
    reach = t_quantile(level=level, freedom=found.freedom)
    if values.min() < 0 or found.value <= 0:
        return around(found, reach)
    factor = math.exp(min(reach * found.error / found.value, 500.0))
    return replace(found, low=found.value / factor, high=found.value * factor)
