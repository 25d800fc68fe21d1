"""Warnings: why the numbers of an A/B test may be less certain than they look."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from trueval.online.ab.balance import BalanceCheck
from trueval.online.ab.choose_statistic import HEAVY, ignores_payers, zero_share
from trueval.online.ab.comparisons import ArmValue, Compared
from trueval.online.ab.filtering import RowFilter
from trueval.online.ab.metric_declarations import LINEAR, SHARES, DeclaredMetric
from trueval.online.ab.units import Units
from trueval.render.numbers import p_phrase, percent

_FEW_USERS, _FEW_CONVERSIONS = 30, 5
# Intervals of skewed amounts of fewer payers hold the truth less often than they say.
FEW_PAYERS = 50


def cautions(units: Units, past: Sequence[str]) -> list[str]:
    """Warnings about numbers of users, values and covariates, before anything is compared."""
    warnings = [
        f"arm {arm} has only {n} users: the intervals are approximations for many users"
        for arm, n in units.users.items()
        if n < _FEW_USERS
    ]
    for metric in units.metrics:
        warnings += _of_metric(units, metric)
    if past:
        unadjusted = [metric.name for metric in units.metrics if metric.kind not in LINEAR]
        if unadjusted:
            warnings.append(f"CUPED adjusts means, shares and ratios; not adjusted: {', '.join(unadjusted)}")
    return warnings


def _of_metric(units: Units, metric: DeclaredMetric) -> list[str]:
    whole = units.samples[metric.name]
    values, warnings = whole.values, []
    if metric.kind in ("mean", "per_user") and not np.isin(values, (0, 1)).all():
        warnings.append(_about_mean(metric, values))
    warnings += filter(None, [ignores_payers(metric, values)])
    for place, arm in enumerate(units.arms):
        own = units.sample(metric.name, place)
        if metric.kind in SHARES:
            if (few := int(min(own.values.sum(), len(own) - own.values.sum()))) < _FEW_CONVERSIONS:
                warnings.append(
                    f"{metric.name}: only {few} users of arm {arm} differ from the others: the interval is rough"
                )
        elif metric.kind == "per_user" and (paid := int((own.values != 0).sum())) < FEW_PAYERS:
            warnings.append(
                f"{metric.name}: {paid} users of arm {arm} paid, fewer than {FEW_PAYERS}: if amounts are very skewed, "
                "intervals of means contain the true value less often than their level says"
            )
        elif metric.below and (some := int((np.asarray(own.below) != 0).sum())) < _FEW_USERS:
            warnings.append(
                f"{metric.name}: only {some} users of arm {arm} have a denominator above 0: the interval is rough"
            )
    if metric.below and (odd := int(((whole.below == 0) & (values != 0)).sum())):
        warnings.append(f"{metric.name}: {odd:,} users have {metric.column} without {metric.below}; check the columns")
    return warnings


def _about_mean(metric: DeclaredMetric, values: np.ndarray) -> str:
    top = np.sort(values)[-max(1, len(values) // 100) :].sum()
    share = f"1 % of users account for {percent(top / values.sum(), 0)} of the sum"
    known = values.min() >= 0 and values.sum() > 0
    if zero_share(values) >= HEAVY:
        return f"{metric.name}: {share if known else 'most users have 0'}, so a few users can determine the mean"
    concentration = f" ({share})" if known else ""
    instead = "see :trimmed, :median, :mannwhitney"
    return f"{metric.name} is a raw mean over users{concentration}: a few users can determine it; {instead}"


def without_spread(units: Units, found: Sequence[Compared], values: Sequence[ArmValue]) -> list[str]:
    """Comparisons that cannot differ and values without interval, unless a warning about zeros explains them."""
    explained = {m.name for m in units.metrics if ignores_payers(m, units.samples[m.name].values)}
    flat = dict.fromkeys(c.metric for c in found if not c.detectable > 0 and c.metric not in explained)
    warnings = [
        f"{name}: almost all users have the same value, so this statistic cannot differ; compare a mean, a share, "
        "or use :mannwhitney"
        for name in flat
    ]
    points = [v for v in values if not v.low < v.high and v.metric not in flat and v.metric not in explained]
    return warnings + [
        f"{v.metric}: the value of arm {v.arm} has no interval, because too few users differ for it to vary"
        for v in points
    ]


def filter_notes(
    row_filter: RowFilter, *, before: Collection[str | None], compared: Collection[str], users: int
) -> tuple[str, list[str]]:
    """What the filter kept, as a note, and warnings: `before` are columns known before the test, or of no concern."""
    rows = f"{row_filter.rows_kept:,} of {row_filter.rows:,} rows"
    note = f"filter {row_filter.text}: {rows} and {users:,} of {row_filter.users:,} users kept"
    if row_filter.rows_undefined:
        note += f"; {row_filter.rows_undefined:,} rows were dropped because a value is missing"
    outcomes = [name for name in row_filter.columns if name in compared and name not in before]
    unknown = [name for name in row_filter.columns if name not in compared and name not in before]
    warnings = []
    if outcomes:
        warnings.append(
            f"the filter uses {', '.join(outcomes)}, which the test compares: users chosen by an outcome are no longer "
            "comparable between arms, and the differences may be due to this selection"
        )
    if unknown:
        warnings.append(
            f"the filter uses {', '.join(unknown)}: if the arm can change it, users who are kept are not comparable "
            f"between arms; if it was known before the test, name it (balance={unknown[0]!r}, --balance {unknown[0]})"
        )
    return note, warnings


def unasked_warnings(checks: Sequence[BalanceCheck]) -> list[str]:
    """One warning for each column that was not declared but differs significantly between the arms."""
    failed = sorted((c for c in checks if c.failed and not c.asked), key=lambda check: -check.p)
    warnings = []
    for c in {c.name: c for c in failed}.values():
        option = "time" if c.role == "day" else "balance"
        which = f"{c.name} {c.group}".strip()
        warnings.append(
            f"{which} differs between the arms ({p_phrase(c.p_corrected)}; {c.detail}): if it was known before the "
            f"test, users were not assigned by chance and no difference can be trusted "
            f"({option}={c.name!r}, --{option} {c.name} makes it stop the verdict); if it is an outcome, leave it out"
        )
    return warnings
