"""`ab_test`: from the table of a test to a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from trueval.arguments import checked
from trueval.comparison.corrections import check_correction
from trueval.errors import DataError, DefinitionError
from trueval.online.ab.bootstrap import RESAMPLES
from trueval.online.ab.comparisons import Compared, compare_arms, settle
from trueval.online.ab.declared import LINEAR, parse_metrics
from trueval.online.ab.differences import difference
from trueval.online.ab.estimates import Rules, Sample, estimate
from trueval.online.ab.reading import read_ab_table
from trueval.online.ab.result import AbTest
from trueval.online.ab.sample_ratio import check_sample_ratio
from trueval.online.ab.segments import MIN_GROUP, compare_segments
from trueval.online.ab.sequential import TUNED_FOR
from trueval.online.ab.units import Units, make_units
from trueval.online.ab.words import percent

_FEW_USERS, _FEW_CONVERSIONS = 30, 5


@checked
def ab_test(
    table: Any,
    *,
    arm: str,
    metrics: str | Iterable[str] | Mapping[str, str] | None = None,
    user: str | None = None,
    pre: str | Sequence[str] | None = None,
    control: str | None = None,
    expected_shares: Mapping[str, float] | None = None,
    segments: str | Sequence[str] | None = None,
    time: str | None = None,
    correct: str = "holm",
    level: float = 0.95,
    sequential: bool | int = False,
    ignore_mismatch: bool = False,
    min_group: int = MIN_GROUP,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> AbTest:
    """Analyse an A/B test from a table with a row per user, or with rows of events that are added up by user.

    The unit is the user: rows of one user are not independent. First the numbers of users are compared with the
    expected shares; a mismatch (p < 0.01) stops the verdict unless it is ignored explicitly. `metrics` are written
    `name=column` (0/1: conversion; other numbers: trimmed mean), `name=clicks/impressions` (delta method by user),
    or with a kind: `:bootstrap` (of a ratio), `:median`, `:quantile(0.9)`, `:trimmed(0.1)`, `:mannwhitney`, `:mean`.
    From events, the columns events, sessions, session_length and returned are counted by `time`. `pre` names columns
    known before the test, whose variance is taken out (CUPED). `sequential` gives intervals that hold at every look,
    tightest at so many users (True: 5,000; fix the number before the test). p is corrected over arms and metrics.

    >>> import polars as pl
    >>> table = pl.DataFrame({"arm": ["a", "b"] * 200, "bought": [0, 1, 1, 1, 0, 0, 0, 1] * 50})
    >>> found = ab_test(table, arm="arm", metrics="bought")
    >>> one = found.comparisons[0]
    >>> round(one.difference, 2), round(one.low, 2), round(one.high, 2), one.verdict
    (0.5, 0.41, 0.58, 'higher')
    """
    rules = _rules(level, sequential, resamples, seed)
    check_correction(correct)
    declared = None if metrics is None else parse_metrics(metrics)
    past, groups = _names(pre), _names(segments)
    frame, where = read_ab_table(table, arm=arm, user=user)
    units = make_units(
        frame, where, arm=arm, metrics=declared, user=user, pre=past, segments=groups, time=time, control=control
    )
    _check_denominators(units, where)
    ratio = check_sample_ratio(units.users, expected_shares=expected_shares)
    stopped = ratio.failed and not ignore_mismatch
    values, found = compare_arms(units, rules)
    more_values, in_segments, notes = compare_segments(units, rules, min_group=min_group)
    manifest = {
        "table": where, "arm": arm, "user": units.user, "control": units.arms[0], "rows": units.rows,
        "users": len(units.arm), "metrics": [str(metric) for metric in units.metrics], "pre": past,
        "segments": groups, "correct": correct, "level": level, "sequential": rules.sequential,
        "ignore_mismatch": ignore_mismatch, "resamples": resamples, "seed": seed, "data": units.fingerprint(),
    }  # fmt: skip
    return AbTest(
        arms=units.arms,
        metrics=units.metrics,
        sample_ratio=ratio,
        values=(*values, *more_values),
        comparisons=tuple(settle(found, correct=correct, level=level, stopped=stopped)),
        segments=tuple(settle(in_segments, correct=correct, level=level, stopped=stopped)),
        manifest=manifest,
        notes=(*units.notes, *notes),
        warnings=(*_warnings(units, past), *_without_spread(found)),
    )


def _rules(level: float, sequential: bool | int, resamples: int, seed: int) -> Rules:
    if not 0.5 <= level < 1:
        raise DefinitionError("the level must lie between 0.5 and 1", where="level", found=f"{level:g}", do="0.95")
    if sequential is not True and sequential is not False and sequential < 100:
        raise DefinitionError(
            "always-valid intervals rest on large numbers: tune them for 100 users or more",
            where="sequential", found=f"{sequential}", do="give the number of users planned, such as 5000",
        )  # fmt: skip
    if resamples < 100:
        raise DefinitionError("a bootstrap needs at least 100 resamples", where="resamples", found=f"{resamples}")
    tuned_for = TUNED_FOR if sequential is True else int(sequential) or None
    return Rules(level=level, sequential=tuned_for, resamples=resamples, seed=seed)


def _names(given: str | Sequence[str] | None) -> list[str]:
    names = given.split(",") if isinstance(given, str) else list(given or ())
    return list(dict.fromkeys(name.strip() for name in names if name.strip()))


def _check_denominators(units: Units, where: str) -> None:
    for metric in units.metrics:
        for place, arm in enumerate(units.arms):
            below = units.sample(metric.name, place).below
            if below is not None and not below.sum() > 0:
                raise DataError(
                    f"{metric.name} is undefined in arm {arm}: every denominator is 0",
                    where=f"{where}, column {metric.below}", do="check the column, or leave out the arm",
                )  # fmt: skip


def _warnings(units: Units, past: Sequence[str]) -> list[str]:
    """What makes numbers less sure than they look."""
    said = [
        f"arm {arm} has {n} users: intervals rest on large numbers" for arm, n in units.users.items() if n < _FEW_USERS
    ]
    for metric in units.metrics:
        values = units.samples[metric.name].values
        if metric.kind == "mean" and not np.isin(values, (0, 1)).all():
            said.append(_about_mean(metric.name, values))
        if metric.kind == "conversion":
            for place, arm in enumerate(units.arms):
                own = units.sample(metric.name, place).values
                if (few := int(min(own.sum(), len(own) - own.sum()))) < _FEW_CONVERSIONS:
                    said.append(f"{metric.name}: {few} users of arm {arm} differ from the others, too few to be sure")
    if past:
        unadjusted = [metric.name for metric in units.metrics if metric.kind not in LINEAR]
        if unadjusted:
            said.append(f"CUPED adjusts means, shares and ratios; not adjusted: {', '.join(unadjusted)}")
        said += _unbalanced(units)
    return said


def _without_spread(found: Sequence[Compared]) -> list[str]:
    names = dict.fromkeys(c.metric for c in found if not c.detectable > 0)
    return [f"{name}: almost all users have the same value; compare a share, or use :mannwhitney" for name in names]


def _about_mean(name: str, values: np.ndarray) -> str:
    top = np.sort(values)[-max(1, len(values) // 100) :].sum()
    held = (
        f", of whom 1 % hold {percent(top / values.sum(), 0)} of the sum"
        if values.min() >= 0 and values.sum() > 0
        else ""
    )
    return f"{name} is a raw mean over users{held}: a few users can decide it; see :trimmed, :median, :mannwhitney"


def _unbalanced(units: Units) -> list[str]:
    """Arms that differed before the test began were not made by chance."""
    assert units.past is not None
    past = parse_metrics("past:mean")[0]
    said = []
    for place in range(1, len(units.arms)):
        for column in units.past.T:
            pair = Sample(column[units.arm == 0]), Sample(column[units.arm == place])
            p = difference(past, estimate(past, pair[0]), estimate(past, pair[1]), samples=pair).p
            if p < 0.001:
                said.append(
                    f"arms {units.arms[0]} and {units.arms[place]} already differed before the test (p = {p:.2g}): "
                    "users were not assigned by chance, or the column is not from before"
                )
    return said
