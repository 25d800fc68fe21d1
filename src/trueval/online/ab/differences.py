"""An arm against the control: the difference, absolute and relative, its interval and its p."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace

import numpy as np

from trueval.online.ab.estimates import AbOptions, Estimated, Sample
from trueval.online.ab.metric_declarations import SHARES, DeclaredMetric
from trueval.online.ab.rank_sum_test import placements, rank_sum_p
from trueval.online.ab.sequential import always_valid_p, always_valid_reach
from trueval.statistics.arm_permutations import Permuted, permuted, skewness_of_difference
from trueval.statistics.binomial import wilson_interval
from trueval.statistics.percentiles import percentile_bounds, percentile_p
from trueval.statistics.student import normal_quantile, t_p_value, t_quantile

UNEQUAL = 1.5  # times as many users in the larger arm: then users are permuted where the other one is small or skewed
_FEW, _SKEWED, _MOST_PERMUTED = 1000, 0.1, 10_000
_TAIL = 0.99  # level at which tails of permutations are compared with normal ones


@dataclass(frozen=True, slots=True)
class Difference:
    """Arm minus control. Relative to the control: NaN where the control may be 0, or has no value of its own.

    `permuted` says that users were permuted between the arms, in place of the test of the metric; `reason` says why p
    is larger, or the interval missing, than the test by itself would have it.
    """

    value: float
    low: float
    high: float
    p: float
    error: float
    relative: float = math.nan
    relative_low: float = math.nan
    relative_high: float = math.nan
    reason: str = ""
    permuted: bool = False


def difference(
    metric: DeclaredMetric, control: Estimated, arm: Estimated, *, samples: tuple[Sample, Sample],
    options: AbOptions = AbOptions(), adjusted: bool = False,
) -> Difference:  # fmt: skip
    """Compare two estimates; `samples` are those of the control and the arm, `adjusted` says that CUPED was used.

    >>> from trueval.online.ab.metric_declarations import parse_metrics
    >>> from trueval.online.ab.estimates import estimate
    >>> x, a, b = parse_metrics("x:mean")[0], Sample(np.array([1.0, 2, 3, 4])), Sample(np.array([4.0, 5, 6, 7]))
    >>> d = difference(x, estimate(x, a), estimate(x, b), samples=(a, b))
    >>> d.value, round(d.p, 4), round(d.relative, 6)
    (3.0, 0.0286, 1.2)
    """
    found = _tested(metric, control, arm, samples, options, adjusted)
    return _bounded(found, control.n, arm.n, options.level)


def least_p(control: int, arm: int) -> float:
    """The smallest p that so many users give, were each of them in either arm by chance: of all ways to divide them,
    only the one seen is as extreme, and its mirror image where the arms have the same size.

    >>> round(least_p(3, 3), 6), round(least_p(2, 3), 6), round(least_p(4, 4), 6)
    (0.1, 0.1, 0.028571)
    """
    ways = math.lgamma(control + arm + 1) - math.lgamma(control + 1) - math.lgamma(arm + 1)
    return min(1.0, max(math.exp(-ways) * (2 if control == arm else 1), sys.float_info.min))


def _bounded(found: Difference, control: int, arm: int, level: float) -> Difference:
    """No p below what so many users can give; no interval where it would say more than p, or where nothing varies."""
    least = least_p(control, arm)
    if found.p < least:
        found = replace(found, p=least, reason=f"{control} and {arm} users allow no p-value below {least:.2g}")
    same = found.error == 0
    if not same and (not found.reason or least < 1 - level or found.low <= 0 <= found.high):
        return found
    reason = found.reason
    if same:
        reason = (
            "the values do not vary within the arms" if found.value else "the statistic does not vary with the users"
        )
    nan = math.nan
    return replace(found, reason=reason, low=nan, high=nan, relative_low=nan, relative_high=nan)


def _tested(
    metric: DeclaredMetric,
    control: Estimated,
    arm: Estimated,
    samples: tuple[Sample, Sample],
    options: AbOptions,
    adjusted: bool,
) -> Difference:
    """By the test of the metric."""
    if metric.kind == "mannwhitney":
        return _of_ranks(samples, options)
    error = math.hypot(control.error, arm.error)
    change = arm.value - control.value
    if options.sequential:
        return _at_every_look(metric, control, arm, error, samples, options, adjusted)
    if control.draws is not None and arm.draws is not None:
        return _of_draws(control, arm, error, options.level)
    elif metric.kind in SHARES and not adjusted:
        return _of_shares(control, arm, error, options.level)
    elif by_permutation(control, arm, error, samples):
        return _of_permutations(metric, control, arm, error, samples, options, adjusted)
    else:
        freedom = _welch(control, arm)
        reach, p = t_quantile(level=options.level, freedom=freedom), _t_p(change, error, freedom)
    span = change - reach * error, change + reach * error
    return Difference(change, *span, p, error, *fieller(control, arm, reach))


def by_permutation(control: Estimated, arm: Estimated, error: float, samples: tuple[Sample, Sample]) -> bool:
    """Whether the arms are so unequal, and the smaller one so small or its users so different, that Student's t errs.

    Of arms of similar size the skewness cancels. From a skewness of the difference of 0.1 on, a test at 5 % errs by a
    quarter of a point and more (Hall 1992). Above 10,000 users it would have to be of values with a skewness of 10.
    """
    few, many = sorted(map(len, samples))
    if many < UNEQUAL * few or few > _MOST_PERMUTED or control.influence is None or arm.influence is None:
        return False
    return few < _FEW or abs(skewness_of_difference(arm.influence, control.influence, error)) > _SKEWED


def _of_permutations(
    metric: DeclaredMetric, control: Estimated, arm: Estimated, error: float, samples: tuple[Sample, Sample],
    options: AbOptions, adjusted: bool,
) -> Difference:  # fmt: skip
    """The difference in standard errors, against the same of users who are put into the arms by chance."""
    change = arm.value - control.value
    if not error > 0:
        return Difference(change, change, change, _t_p(change, error, 1.0), error, *fieller(control, arm, 0.0))
    found, turned = _divided(metric, control, arm, samples, options, adjusted)
    low, high = _turned(found.reach(options.level), turned)
    p = found.p(turned * change / error)
    return _spanned(control, arm, error, low, high, p)


def _at_every_look(
    metric: DeclaredMetric, control: Estimated, arm: Estimated, error: float, samples: tuple[Sample, Sample],
    options: AbOptions, adjusted: bool,
) -> Difference:  # fmt: skip
    """Always-valid interval and p. Where users would be permuted at a single look, their tails widen the normal reach.

    No permutation is as rare as the reach of an early look is, so that it is widened as the tail of 1 % is: by what it
    has in standard errors, over what it has of a normal distribution.
    """
    assert options.sequential is not None
    users, change = control.n + arm.n, arm.value - control.value
    reach = always_valid_reach(users, tuned_for=options.sequential, level=options.level)
    fall, gain = 1.0, 1.0
    permutes = error > 0 and by_permutation(control, arm, error, samples)
    if permutes:
        found, turned = _divided(metric, control, arm, samples, options, adjusted)
        low, high = _turned(found.reach(_TAIL), turned)
        fall, gain = (max(1.0, end / normal_quantile(_TAIL)) for end in (-low, high))
    p = _sequential_p(change / (gain if change > 0 else fall), error, users, options)
    return replace(_spanned(control, arm, error, -fall * reach, gain * reach, p), permuted=permutes)


def _spanned(control: Estimated, arm: Estimated, error: float, low: float, high: float, p: float) -> Difference:
    """The difference, where one between `low` and `high` standard errors may be by chance."""
    change = arm.value - control.value
    relative, relative_low, _ = fieller(control, arm, high)
    _, _, relative_high = fieller(control, arm, -low)
    return Difference(
        change, change - high * error, change - low * error, p, error, relative, relative_low, relative_high,
        permuted=True,
    )  # fmt: skip


def _turned(ends: tuple[float, float], turned: float) -> tuple[float, float]:
    return ends if turned > 0 else (-ends[1], -ends[0])


def _divided(
    metric: DeclaredMetric, control: Estimated, arm: Estimated, samples: tuple[Sample, Sample], options: AbOptions,
    adjusted: bool,
) -> tuple[Permuted, float]:  # fmt: skip
    """Differences in standard errors of users put into the arms by chance, of the smaller arm minus the larger one; and
    1 where the smaller one is the arm, -1 where it is the control."""
    first, second = samples if len(samples[0]) <= len(samples[1]) else samples[::-1]
    turned = 1.0 if first is samples[1] else -1.0
    below = None
    if first.below is not None and second.below is not None and not adjusted:
        above, below = (np.concatenate(both) for both in zip(*((s.values, s.below) for s in (first, second))))
    else:
        assert control.influence is not None
        assert arm.influence is not None
        parts = (arm.value + arm.influence, control.value + control.influence)
        above = np.concatenate(parts if turned > 0 else parts[::-1])
    seed = options.seed_of(str(metric), "permutations")
    return permuted(above, below, len(first), resamples=options.resamples, seed=seed), turned


def fieller(control: Estimated, arm: Estimated, reach: float) -> tuple[float, float, float]:
    """The relative difference arm/control - 1 and the ratios that the data do not refute.

    All r with |arm - r·control| within `reach` standard errors of 0: it holds 0 exactly where the interval of the
    absolute difference does. Undefined where the control itself is within `reach` standard errors of 0.

    >>> c, a = Estimated(10.0, 1.0, 50, 49), Estimated(12.0, 1.0, 50, 49)
    >>> [round(x, 3) for x in fieller(c, a, 1.96)]
    [0.2, -0.068, 0.564]
    """
    if control.value == 0:
        return math.nan, math.nan, math.nan
    change = arm.value / control.value - 1
    square = control.value**2 - (reach * control.error) ** 2
    if not square > 0:
        return change, math.nan, math.nan
    product, free = control.value * arm.value, arm.value**2 - (reach * arm.error) ** 2
    root = math.sqrt(max(0.0, product**2 - square * free))
    return change, (product - root) / square - 1, (product + root) / square - 1


def _of_shares(control: Estimated, arm: Estimated, error: float, level: float) -> Difference:
    """Newcombe's interval, from Wilson's of both shares, and the pooled score test."""
    from scipy.special import ndtr

    change = arm.value - control.value
    low0, high0 = wilson_interval(control.value, control.n, level=level)
    low1, high1 = wilson_interval(arm.value, arm.n, level=level)
    low = change - math.hypot(arm.value - low1, high0 - control.value)
    high = change + math.hypot(high1 - arm.value, control.value - low0)
    pooled = (control.value * control.n + arm.value * arm.n) / (control.n + arm.n)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / control.n + 1 / arm.n))
    p = float(2 * ndtr(-abs(change) / spread)) if spread else 1.0
    return Difference(change, low, high, p, error, *fieller(control, arm, normal_quantile(level)))


def _of_draws(control: Estimated, arm: Estimated, error: float, level: float) -> Difference:
    """Percentiles of differences, and of ratios, of independent draws."""
    assert control.draws is not None
    assert arm.draws is not None
    change = arm.draws - control.draws
    relative = (math.nan, math.nan, math.nan)
    if np.nanmin(control.draws) > 0:
        relative = (arm.value / control.value - 1, *percentile_bounds(arm.draws / control.draws - 1, level))
    value = arm.value - control.value
    return Difference(value, *percentile_bounds(change, level), percentile_p(change), error, *relative)


def _of_ranks(samples: tuple[Sample, Sample], options: AbOptions) -> Difference:
    """Twice the chance to be above, minus 1; its error from where each user stands among the other arm's users."""
    control, arm = samples[0].values, samples[1].values
    above, below = placements(arm, control), placements(control, arm)
    change = float(2 * above.mean() - 1)
    parts = [(2 * side.std(ddof=1)) ** 2 / len(side) for side in (above, below)]
    error, n = math.sqrt(sum(parts)), len(arm) + len(control)
    if options.sequential:
        reach = always_valid_reach(n, tuned_for=options.sequential, level=options.level)
        p = _sequential_p(change, error, n, options)
    else:
        freedom = error**4 / sum(v * v / (len(s) - 1) for v, s in zip(parts, (above, below))) if error else n - 2
        reach, p = t_quantile(level=options.level, freedom=freedom), rank_sum_p(control, arm)
    return Difference(change, max(-1.0, change - reach * error), min(1.0, change + reach * error), p, error)


def _welch(control: Estimated, arm: Estimated) -> float:
    v0, v1 = control.error**2, arm.error**2
    below = v0 * v0 / control.freedom + v1 * v1 / arm.freedom
    return (v0 + v1) ** 2 / below if below > 0 else control.freedom + arm.freedom


def _t_p(change: float, error: float, freedom: float) -> float:
    if error == 0:
        return 1.0 if change == 0 else 0.0
    return t_p_value(change / error, freedom=freedom)


def _sequential_p(change: float, error: float, n: int, options: AbOptions) -> float:
    if error == 0:
        return 1.0 if change == 0 else 0.0
    assert options.sequential is not None
    return always_valid_p(change / error, n, tuned_for=options.sequential, level=options.level)
