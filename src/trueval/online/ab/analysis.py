"""`ab_test`: from the table of a test to a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from trueval.arguments import checked
from trueval.errors import DataError, DefinitionError
from trueval.online.ab.balance import BalanceCheck, check_balance, of_counts
from trueval.online.ab.cautions import cautions, filter_notes, unasked_warnings, without_spread
from trueval.online.ab.comparisons import compare_arms, settle
from trueval.online.ab.daily_sums import daily_sums
from trueval.online.ab.estimates import AbOptions
from trueval.online.ab.filtering import RowFilter, filter_rows, kept_by_arm
from trueval.online.ab.metric_declarations import parse_metrics
from trueval.online.ab.read_table import ab_columns, read_ab_table
from trueval.online.ab.result import AbTest
from trueval.online.ab.sample_ratio import check_sample_ratio
from trueval.online.ab.segments import MIN_GROUP, compare_segments
from trueval.online.ab.sequential import TUNED_FOR
from trueval.online.ab.units import Units, make_units
from trueval.statistics.multiple_comparisons import check_correction
from trueval.statistics.quantile_bootstrap import RESAMPLES


@checked
def ab_test(
    table: Any,
    *,
    arm: str,
    metrics: str | Sequence[str] | Mapping[str, str] | None = None,
    user: str | None = None,
    pre: str | Sequence[str] | None = None,
    control: str | None = None,
    expected_shares: Mapping[str, float] | None = None,
    segments: str | Sequence[str] | None = None,
    balance: str | Sequence[str] | None = None,
    where: str | None = None,
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
    expected shares (a mismatch is p < 0.01), then within every group of `segments` and every day of `time`; and the
    arms must be alike in segments, days, `pre` and the columns of `balance` (p < 0.001 after Holm). A mismatch stops
    the verdict unless it is ignored explicitly. Other columns of text give a warning only.

    Means, ratios and trimmed means are compared by Welch's t-test. Where one arm has 1.5 times as many users as the
    other or more, and the smaller one has fewer than 1,000, or the difference has a skewness above 0.1 (and the smaller
    arm at most 10,000 users), users are permuted between the arms instead, for t errs there.

    Parameters
    ----------
    table : table or file
        A row per user, or rows of events.
    arm : text
        Column that names the arm.
    metrics : text, list of text, or mapping from names to columns, optional
        `name=column` or `name=clicks/impressions` (delta method by user); a side may be a sum: `approval=yes/(yes+no)`.
        0/1 is a conversion. Other numbers are compared by the trimmed mean; if half of the users or more have exactly
        0, by mean per user, share of payers and mean per payer. A kind sets the statistic: `:per_user`, `:payers`,
        `:per_payer`, `:trimmed(0.1)`, `:median`, `:quantile(0.9)`, `:mannwhitney`, `:mean`, `:bootstrap` (of a ratio).
        From events, the columns events, sessions, session_length and returned are counted by `time`. Default: clicks by
        impressions, and every other column of numbers.
    user : text, optional
        Column of user ids. Default: the one with a common name; without one, each row is a user.
    pre : text or list of text, optional
        Columns known before the test, used to reduce variance (CUPED).
    control : text, optional
        The arm to compare with. Default: the arm whose name says so (control, none, baseline, a, …), else the first in
        alphabetical order of two arms; with three or more arms it must be given.
    expected_shares : mapping from arms to numbers, optional
        Planned shares of users by arm. Default: equal shares.
    segments : text or list of text, optional
        Columns of user groups, within which the arms are compared as well.
    balance : text or list of text, optional
        Further columns from before the test in which the arms must be alike.
    where : text, optional
        Keep the rows for which this SQL condition holds.
    time : text, optional
        Column of times, for checks by day and for metrics counted from events. Default: one with a common name.
    correct : {"holm", "bonferroni", "bh", "none"}, default "holm"
        Correction of p-values over arms and metrics.
    level : number, default 0.95
        Confidence level of the intervals.
    sequential : bool or int, default False
        Always-valid intervals, narrowest at this number of users (True: 5,000; fix the number before the test). The
        checks of sample ratio and balance hold at every look, too.
    ignore_mismatch : bool, default False
        Give a verdict even if users are not divided as expected.
    min_group : int, default 30
        Groups of `segments` with fewer users in an arm are left out.
    resamples : int, default 10,000
        Number of resamples for quantities that need a bootstrap.
    seed : int, default 0
        Seed of the resamples.

    Returns
    -------
    AbTest
        `comparisons` with the control, `values` of every arm, `sample_ratio`, `balance`, `segments`, `verdict` and
        `warnings`; `table()` has a row per metric and arm.

    Raises
    ------
    TruevalError
        For columns that do not exist, and for metrics that are undefined in an arm.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"arm": ["a", "b"] * 200, "bought": [0, 1, 1, 1, 0, 0, 0, 1] * 50})
    >>> found = ab_test(table, arm="arm", metrics="bought")
    >>> one = found.comparisons[0]
    >>> round(one.difference, 2), round(one.low, 2), round(one.high, 2), one.verdict
    (0.5, 0.41, 0.58, 'higher')

    Where most users pay nothing, three things are compared:

    >>> table = table.with_columns(amount=pl.Series([0, 0, 0, 0, 0, 0, 20, 30, 0, 0] * 40), day=pl.Series([1, 2] * 200))
    >>> found = ab_test(table, arm="arm", metrics="revenue=amount", where="day <= 2")
    >>> [metric.name for metric in found.metrics]
    ['revenue', 'revenue payers', 'revenue per payer']
    """
    options = _read_options(level, sequential, resamples, seed)
    check_correction(correct)
    declared = None if metrics is None else parse_metrics(metrics)
    past, groups, alike = _names(pre), _names(segments), _names(balance)
    frame, place = read_ab_table(table, arm=arm, user=user)
    frame, chosen, more = _filtered(frame, place, where, arm=arm, user=user, sequential=options.sequential)
    units = make_units(
        frame, place, arm=arm, metrics=declared, user=user, pre=past, segments=groups, balance=alike, time=time,
        control=control,
    )  # fmt: skip
    _check_denominators(units, place)
    ratio = check_sample_ratio(units.users, expected_shares=expected_shares, sequential=options.sequential)
    checks = check_balance(units.covariates, units.arm, ratio.expected, more, sequential=options.sequential)
    stopped = (ratio.failed or any(c.failed and c.asked for c in checks)) and not ignore_mismatch
    values, found = compare_arms(units, options)
    more_values, in_segments, notes = compare_segments(units, options, min_group=min_group)
    about_filter, warnings = _about_filter(chosen, units, before={arm, time, *past, *groups, *alike})
    warnings += [*cautions(units, past), *without_spread(units, found, values), *unasked_warnings(checks)]
    manifest = {
        "table": place, "arm": arm, "user": units.user, "control": units.arms[0], "control_is": units.why_control,
        "where": where, "rows": units.rows, "users": len(units.arm), "metrics": [str(m) for m in units.metrics],
        "pre": past, "segments": groups, "balance": alike, "correct": correct, "level": level,
        "sequential": options.sequential, "ignore_mismatch": ignore_mismatch, "resamples": resamples, "seed": seed,
        "data": units.fingerprint(),
    }  # fmt: skip
    return AbTest(
        arms=units.arms,
        metrics=units.metrics,
        sample_ratio=ratio,
        values=(*values, *more_values),
        comparisons=tuple(settle(found, correct=correct, level=level, stopped=stopped)),
        segments=tuple(settle(in_segments, correct=correct, level=level, stopped=stopped)),
        manifest=manifest,
        balance=checks,
        notes=(*units.notes, *about_filter, *notes),
        warnings=tuple(warnings),
        days=daily_sums(units),
    )


def _filtered(
    frame: pl.DataFrame, place: str, where: str | None, *, arm: str, user: str | None, sequential: int | None
) -> tuple[pl.DataFrame, RowFilter | None, list[BalanceCheck]]:
    """The rows asked for, and whether the arms kept the same share of their users."""
    if where is None:
        return frame, None, []
    user = ab_columns(frame, arm=arm, user=user, where=place).get("user")
    kept, chosen = filter_rows(frame, where, table=place)
    counts, arms = kept_by_arm(frame, kept, arm=arm, user=user)
    checks = of_counts("users kept by the filter", "filter", counts.T, ("kept", "dropped"), arms, sequential=sequential)
    users = len(frame) if user is None else frame[user].n_unique()
    return kept, replace(chosen, users=users), checks if len(arms) > 1 else []


def _about_filter(chosen: RowFilter | None, units: Units, *, before: set[str | None]) -> tuple[list[str], list[str]]:
    """A note and warnings on the filter, if there is one; `before` are the columns known before the test."""
    if chosen is None:
        return [], []
    days = {covariate.name for covariate in units.covariates if covariate.role == "day"}
    known = {*before, units.user, *days}
    note, warnings = filter_notes(chosen, before=known, compared=units.columns, users=len(units.arm))
    return [note], [*warnings]


def _read_options(level: float, sequential: bool | int, resamples: int, seed: int) -> AbOptions:
    if not 0.5 <= level < 1:
        raise DefinitionError("the level must lie between 0.5 and 1", where="level", found=f"{level:g}", do="0.95")
    if sequential is not True and sequential is not False and sequential < 100:
        raise DefinitionError(
            "always-valid intervals are approximations for many users: tune them for 100 users or more",
            where="sequential", found=f"{sequential}", do="give the number of users planned, such as 5000",
        )  # fmt: skip
    if resamples < 100:
        raise DefinitionError("a bootstrap needs at least 100 resamples", where="resamples", found=f"{resamples}")
    tuned_for = TUNED_FOR if sequential is True else int(sequential) or None
    return AbOptions(level=level, sequential=tuned_for, resamples=resamples, seed=seed)


def _names(given: str | Sequence[str] | None) -> list[str]:
    names = given.split(",") if isinstance(given, str) else list(given or ())
    return list(dict.fromkeys(name.strip() for name in names if name.strip()))


def _check_denominators(units: Units, where: str) -> None:
    for metric in units.metrics:
        for place, arm in enumerate(units.arms):
            below = units.sample(metric.name, place).below
            if metric.kind == "per_payer" and below is not None and below.sum() < 2:
                raise DataError(
                    f"{metric.name}: fewer than two users of arm {arm} have a value other than 0",
                    where=f"{where}, column {metric.column}", found=f"{below.sum():.0f}",
                    do=f"compare the mean and the share of payers: x:per_user={metric.column},y:payers={metric.column}",
                )  # fmt: skip
            if below is not None and not below.sum() > 0:
                raise DataError(
                    f"{metric.name} is undefined in arm {arm}: every denominator is 0",
                    where=f"{where}, column {metric.below}", do="check the column, or leave out the arm",
                )  # fmt: skip
