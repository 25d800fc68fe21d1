"""All arms against the control on all metrics, for everybody or within a segment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from trueval.online.ab.cuped import adjust
from trueval.online.ab.differences import Difference, difference
from trueval.online.ab.estimates import AbOptions, Estimated, around, estimate
from trueval.online.ab.metric_declarations import LINEAR, DeclaredMetric
from trueval.online.ab.sequential import always_valid_reach
from trueval.online.ab.units import Units
from trueval.statistics.multiple_comparisons import corrected
from trueval.statistics.student import normal_quantile, t_quantile

POWER = 0.8  # a difference that could have been seen is one that is seen in 8 of 10 such tests


@dataclass(frozen=True, slots=True)
class ArmValue:
    """A metric's value in an arm, perhaps of one segment."""

    metric: str
    arm: str
    value: float
    low: float
    high: float
    n: int
    segment: str = ""
    group: str = ""

    def record(self) -> dict[str, Any]:
        """Value, interval and number of users as plain data."""
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n}


@dataclass(frozen=True, slots=True)
class Compared:
    """An arm minus the control on one metric; `verdict` is higher, lower, not shown or no verdict.

    `detectable` is the difference that a test of this size shows in 8 of 10 cases, before correction.
    """

    metric: str
    arm: str
    control: str
    difference: float
    low: float
    high: float
    relative: float
    relative_low: float
    relative_high: float
    p: float
    p_corrected: float
    verdict: str
    detectable: float
    variance_reduction: float
    n: int
    segment: str = ""
    group: str = ""
    reason: str = ""  # why p is larger, or the interval missing, than the test by itself would have it
    permuted: bool = False  # whether users were permuted between the arms, in place of the test of the metric

    def record(self) -> dict[str, Any]:
        """As plain data; segment, group and reason only where there are any."""
        return {name: value for name, value in asdict(self).items() if value != "" or name == "verdict"}


Table = tuple[list[ArmValue], list[Compared]]


def compare_arms(
    units: Units, options: AbOptions, *, within: np.ndarray | None = None, segment: str = "", group: str = ""
) -> Table:
    """Values of all arms and their differences from the control; p not yet corrected, verdicts still open."""
    values, found = [], []
    for metric in units.metrics:
        samples = [units.sample(metric.name, arm, within) for arm in range(len(units.arms))]
        raw = [estimate(metric, s, options=options, stream=name) for s, name in zip(samples, units.arms)]
        final = _adjusted(metric, raw, units, within, options)
        for arm, e in zip(units.arms, final):
            # an interval that is a point would say that the value is sure, where nothing is known about how sure it is
            span = (e.low, e.high) if e.low < e.high else (math.nan, math.nan)
            values.append(ArmValue(metric.name, arm, e.value, *span, e.n, segment, group))
        for place in range(1, len(units.arms)):
            pair = (samples[0], samples[place])
            d = difference(metric, final[0], final[place], samples=pair, options=options, adjusted=final is not raw)
            before = math.hypot(raw[0].error, raw[place].error)
            saved = 1 - (d.error / before) ** 2 if final is not raw and before > 0 else math.nan
            one = _compared(d, saved, final[0].n + final[place].n, options)
            named = replace(one, metric=metric.name, arm=units.arms[place], control=units.arms[0])
            found.append(replace(named, segment=segment, group=group))
    return values, found


def _compared(d: Difference, saved: float, n: int, options: AbOptions) -> Compared:
    """A difference without its names."""
    relative = d.relative, d.relative_low, d.relative_high
    detectable = _detectable(d.error, n, options)
    return Compared(
        "", "", "", d.value, d.low, d.high, *relative, d.p, math.nan, "", detectable, saved, n, reason=d.reason,
        permuted=d.permuted,
    )  # fmt: skip


def _adjusted(
    metric: DeclaredMetric, raw: list[Estimated], units: Units, within: np.ndarray | None, options: AbOptions
) -> list[Estimated]:
    """Estimates after CUPED with intervals around them; the same list where it does not apply."""
    if units.past is None or metric.kind not in LINEAR:
        return raw
    past = [units.past[units.chosen(arm, within)] for arm in range(len(units.arms))]
    if options.sequential:
        half = options.sequential / 2
        return [around(e, always_valid_reach(e.n, tuned_for=half, level=options.level)) for e in adjust(raw, past)]
    return [around(e, t_quantile(level=options.level, freedom=e.freedom)) for e in adjust(raw, past)]


def _detectable(error: float, n: int, options: AbOptions) -> float:
    reach = normal_quantile(options.level)
    if options.sequential:
        reach = always_valid_reach(n, tuned_for=options.sequential, level=options.level)
    return (reach + normal_quantile(2 * POWER - 1)) * error


def settle(found: Sequence[Compared], *, correct: str, level: float, stopped: bool) -> list[Compared]:
    """Correct p for all comparisons together, and give verdicts unless the sample ratio stops them.

    >>> nan = math.nan
    >>> one = Compared("ctr", "b", "a", 0.1, 0.05, 0.15, nan, nan, nan, 0.02, nan, "", 0.1, nan, 100)
    >>> [c.verdict for c in settle([one, one], correct="holm", level=0.95, stopped=False)]
    ['higher', 'higher']
    >>> settle([one, one, one], correct="bonferroni", level=0.95, stopped=False)[0].verdict
    'not shown'
    """
    p = corrected(np.array([c.p for c in found]), correct)
    return [
        replace(c, p_corrected=float(q), verdict="no verdict" if stopped else _verdict(c.difference, float(q), level))
        for c, q in zip(found, p)
    ]


def _verdict(change: float, p: float, level: float) -> str:
    if not p < 1 - level:
        return "not shown"
    return "higher" if change > 0 else "lower"
