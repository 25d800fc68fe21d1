"""trueval ab and trueval ab-plan: analyse an A/B test, and plan one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from trueval.cli.options import (
    CsvSafe,
    Format,
    Level,
    Output,
    Quiet,
    Report,
    Threads,
    bounded,
    give,
    named_numbers,
    result_format,
    width_for,
    write_page,
)
from trueval.report.output_formats import check_format, rendered

if TYPE_CHECKING:
    from trueval.online.ab.result import AbTest

_METRICS = (
    "name=column, name=clicks/impressions, name=yes/(yes+no) or name:KIND=column, separated by commas. KIND: "
    "conversion, per_user, payers, per_payer, trimmed(0.1), median, quantile(0.9), mannwhitney, mean, bootstrap (of a "
    "ratio). Without a KIND, 0/1 is a conversion; an amount that is 0 for at least half of the users is compared by "
    "mean per user, share of payers and mean per payer, and any other amount by its trimmed mean."
)
_CONTROL = (
    "The arm to compare with. Default: the one called control, none, no, baseline, a, original, off, old, … ; of "
    "two arms without such a name the first by name; three or more need this option."
)
_SEGMENTS = "Columns of segments to compare within, separated by commas; sample ratios are checked in each segment."
_BALANCE = (
    "Columns known before the test, separated by commas; without equal distributions in all arms there is no verdict."
)
_WHERE = """Keep only rows that satisfy this condition, such as "country == 'DE' and day >= 3"."""
_TIME = "Column of times or days, for sessions, session_length, returned, and the sample ratio by day."
_PRE = "Columns known before the test, for variance reduction (CUPED), separated by commas."
_MISMATCH = "Give a verdict despite a mismatch of the sample ratio or of the balance."
_SEQUENTIAL = "Always-valid intervals, narrowest at this number of users; choose it before the first look at the data."


def ab_command(
    table: Annotated[str, Argument(help="One row per user, or rows of events with a user column.")],
    arm: Annotated[str, Option(help="Column with the arm (version) that a user saw.")],
    metrics: Annotated[str | None, Option(help=_METRICS)] = None,
    user: Annotated[str | None, Option(help="Column of user ids; the rows of a user are added up.")] = None,
    pre: Annotated[str | None, Option(help=_PRE)] = None,
    control: Annotated[str | None, Option(help=_CONTROL)] = None,
    shares: Annotated[str | None, Option(help="Expected shares of users: old=9,new=1. Default: equal.")] = None,
    segments: Annotated[str | None, Option("--segments", "--by", help=_SEGMENTS)] = None,
    balance: Annotated[str | None, Option(help=_BALANCE)] = None,
    where: Annotated[str | None, Option(help=_WHERE)] = None,
    min_group: Annotated[int, Option(help="Smallest number of users per arm of a segment that is compared.")] = 30,
    time: Annotated[str | None, Option(help=_TIME)] = None,
    correct: Annotated[str, Option(help="Correction for multiple comparisons: holm, bonferroni, bh or none.")] = "holm",
    level: Level = 0.95,
    sequential: Annotated[int | None, Option(help=_SEQUENTIAL)] = None,
    ignore_mismatch: Annotated[bool, Option("--ignore-mismatch", help=_MISMATCH)] = False,
    format: Format = None,
    output: Output = None,
    csv_safe: CsvSafe = False,
    report: Report = None,
    seed: Annotated[int, Option(help="Seed of the bootstrap.", callback=bounded("seed"))] = 0,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Analyse an A/B test: sample ratio and balance first, then every difference with its interval, then a verdict.

    Users are compared, not single rows. A sample ratio mismatch (chi-squared test, p < 0.01) stops the verdict; so
    does one within a group of --segments or a day, or arms that differ in --segments, --pre or --balance (p < 0.001
    after Holm). Other columns of text with few values are checked too and give a warning. From rows of events, the
    columns events, sessions, session_length and returned are counted.

    Examples:

      trueval ab users.csv --arm version --metrics "ctr=clicks/impressions,conversion=converted"

      trueval ab events.parquet --arm version --user uid --metrics "dwell:median=seconds,returned,session_length"

      trueval ab users.csv --arm version --metrics "spent:trimmed=revenue" --pre revenue_before --segments country

      trueval ab users.csv --arm version --metrics "revenue=amount" --balance browser,country --control old

      trueval ab users.csv --arm version --metrics "approval=yes/(yes+no)" --where "country == 'DE' and day >= 3"

      trueval ab users.csv --arm version --metrics converted --sequential 20000
    """
    from trueval.kernels import use_threads
    from trueval.online.ab.analysis import ab_test
    from trueval.progress import set_quiet
    from trueval.report.pages import page_of

    set_quiet(quiet)
    chosen = result_format(format, output, report, csv_safe=csv_safe)
    expected = named_numbers(shares, "--shares", what="shares are written arm=number", do="old=9,new=1")
    with use_threads(threads):
        found = ab_test(
            table, arm=arm, metrics=metrics, user=user, pre=pre, control=control, expected_shares=expected,
            segments=segments, balance=balance, where=where, time=time, correct=correct,
            level=level, ignore_mismatch=ignore_mismatch, min_group=min_group, seed=seed,
            sequential=False if sequential is None else sequential,
        )  # fmt: skip
    title = f"A/B test: {Path(table).name}"
    write_page(lambda made_from: page_of("ab_test", found, title=title, origin=made_from), report, table)
    give(render(found, chosen, output, csv_safe=csv_safe), output)


def plan_command(
    baseline: Annotated[float, Option(help="Rate (with --sd: mean) of the control.")],
    effect: Annotated[str | None, Option(help="The change to detect: 0.01 (absolute) or 5% (of the baseline).")] = None,
    sd: Annotated[float | None, Option(help="Standard deviation over users, for a mean.")] = None,
    users: Annotated[
        int | None, Option(help="Number of users in all arms, to compute the detectable change; instead of --effect.")
    ] = None,
    arms: Annotated[
        int | None, Option(help="Number of arms, including the control. Default: 2, or as --split.")
    ] = None,
    split: Annotated[
        str | None, Option(help="How users are divided, the control first: 10:1. Default: arms of equal size.")
    ] = None,
    metrics: Annotated[int, Option(help="Number of metrics that are compared.")] = 1,
    power: Annotated[float, Option(help="Power: probability of detecting the change if it exists.")] = 0.8,
    level: Annotated[float, Option(help="Confidence level of the test.")] = 0.95,
    daily_users: Annotated[float | None, Option(help="New users per day in all arms.")] = None,
    variance_reduction: Annotated[float, Option(help="Share of the variance removed by CUPED.")] = 0.0,
    format: Annotated[str, Option(help="table or json.")] = "table",
) -> None:
    """Plan an A/B test: users and days needed for an effect, or the effect that a number of users can detect.

    Examples:

      trueval ab-plan --baseline 0.19 --effect 5% --daily-users 3000

      trueval ab-plan --baseline 20 --sd 30 --effect 1 --arms 3

      trueval ab-plan --baseline 0.19 --users 50000

      trueval ab-plan --baseline 0.19 --effect 5% --split 10:1
    """
    from trueval.online.ab.plan import ab_plan

    check_format(format, ("table", "json"))
    plan = ab_plan(
        baseline=baseline, effect=effect, sd=sd, users=users, arms=arms, split=split, metrics=metrics, power=power,
        level=level, daily_users=daily_users, variance_reduction=variance_reduction,
    )  # fmt: skip
    sys.stdout.write(json.dumps(plan.record(), indent=1) + "\n" if format == "json" else str(plan))


def render(found: AbTest, format: str, output: Path | None = None, *, csv_safe: bool = False) -> str:
    """The result as text in a format; a table as wide as the window it is shown in."""
    from trueval.online.ab.render import as_text

    return rendered(found, format, table=lambda: as_text(found, width=width_for(output)), csv_safe=csv_safe)
