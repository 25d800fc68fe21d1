"""Which statistic suits an amount: decided by the values of all arms together, never by how the arms differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trueval.online.ab.estimates import Sample
from trueval.online.ab.metric_declarations import DEFAULTS, DeclaredMetric

HEAVY = 0.5  # the median is the common value then, and a trimmed mean leaves out a fifth of the others or more

Measured = tuple[DeclaredMetric, Sample]


def zero_share(values: np.ndarray) -> float:
    """Share of users at exactly 0.

    >>> zero_share(np.array([0.0, 0.0, 3.0, 5.0]))
    0.5
    """
    return float((values == 0).mean())


def measure_amount(metric: DeclaredMetric, values: np.ndarray) -> tuple[list[Measured], str]:
    """What is compared of an amount for which no statistic was named, and why.

    >>> few = np.array([0.0] * 9 + [30.0])
    >>> measured, why = measure_amount(DeclaredMetric("revenue", "", "amount"), few)
    >>> [str(one) for one, _ in measured]
    ['revenue:per_user=amount', 'revenue payers:payers=amount', 'revenue per payer:per_payer=amount']
    >>> measured, why = measure_amount(DeclaredMetric("dwell", "", "seconds"), np.arange(100.0))
    >>> [str(one) for one, _ in measured]
    ['dwell:trimmed(0.1)=seconds']
    >>> why
    'dwell: the trimmed mean is compared, because fewer than half of the users share a value (at most 1.0 %: 0)'
    """
    found, counts = np.unique(values, return_counts=True)
    common, share = float(found[counts.argmax()]), float(counts.max() / len(values))
    percentage = f"{100 * share:.1f} %"
    if share < HEAVY:
        few = f"fewer than half of the users share a value (at most {percentage}: {common:g})"
        why = f"{metric.name}: the trimmed mean is compared, because {few}"
        return [(replace(metric, kind="trimmed", parameter=DEFAULTS["trimmed"]), Sample(values))], why
    begin = f"{metric.name}: {counts.max():,} of {len(values):,} users ({percentage}, all arms together) have exactly"
    if common != 0:
        why = f"{begin} {common:g}, so a trimmed mean or median would hardly change: the mean is compared"
        return [(replace(metric, kind="mean"), Sample(values))], why
    why = (
        f"{begin} 0, so a trimmed mean or median would ignore the payers: the mean per user, the share of payers and "
        "the mean per payer are compared (a payer is a user whose value is not 0)"
    )
    names = (metric.name, f"{metric.name} payers", f"{metric.name} per payer")
    three = [replace(metric, name=name, kind=kind) for name, kind in zip(names, ("per_user", "payers", "per_payer"))]
    return [(one, as_sample(one, values)) for one in three], why


def as_sample(metric: DeclaredMetric, values: np.ndarray) -> Sample:
    """Amounts by user as the metric reads them."""
    paid = (values != 0).astype(np.float64)
    if metric.kind == "payers":
        return Sample(paid)
    return Sample(values, paid if metric.kind == "per_payer" else None)


def ignores_payers(metric: DeclaredMetric, values: np.ndarray) -> str:
    """What a statistic that was asked for does not see of an amount that is 0 for most users; empty if nothing."""
    zeros = zero_share(values)
    if zeros < HEAVY or metric.kind not in ("median", "quantile", "trimmed", "mannwhitney"):
        return ""
    begin = f"{metric.name}: {100 * zeros:.1f} % of users have exactly 0, so that"
    see = f"omit the statistic ({metric.name}={metric.column}) to compare mean, payers and mean per payer"
    if metric.kind == "mannwhitney":
        return f"{begin} the medians that are shown are 0 and ranks say little about sums; {see}"
    if metric.kind == "trimmed":
        assert metric.parameter is not None
        cut = min(1.0, metric.parameter / (1 - zeros)) if zeros < 1 else 1.0
        return f"{begin} the trimmed mean ignores {100 * cut:.0f} % of the payers, those who pay most; {see}"
    q = 0.5 if metric.parameter is None else metric.parameter
    if q > zeros:
        return ""
    name = "median" if metric.kind == "median" else f"{q:g} quantile"
    return f"{begin} the {name} is 0 whatever the payers do; {see}"
