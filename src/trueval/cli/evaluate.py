"""trueval evaluate: measure recommendations that were already made."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from trueval.cli.options import Format, Quiet, Seed, Threads, check_format, check_places, give

if TYPE_CHECKING:
    from trueval.api import Result

METRICS = "precision@10,recall@10,ndcg@10,ap@10,rr@10,hit@10,coverage@10"
_USERS = "Evaluate only these users: a file with a user column, perhaps with groups."
_COMPAT = "Rules of trec_eval, ranx, recbole, lenskit, rectools, replay, recommenders or spark, order of ties included."
_MISSING = "Users without recommendations: zero (count as an empty list), drop or error."
_WITHOUT_HEAD = (
    "Leave out judgements of the most-rated items, 0.1 for a tenth of them (needs --train); lists stay as they are."
)
_SEEN = "Train items of a user: exclude (nobody is to recommend them) or allow (they are targets like others)."
_BY = "Groups: columns of --users or --items, or activity, taste, popularity (with --train)."
_OUTPUT = "Write the result here instead; DIR/ (a folder) for `trueval compare`."
_SORTED = "Runs are sorted by user: read them in pieces."
_ENGINE = "What does the work: local (this machine, all cores) or spark (parquet files; a cluster, if one is set up)."
_PROPENSITY = (
    "Chances to be observed, for ips(…) and snips(…): FILE (p by user, item or position), column:NAME of the test, "
    "popularity:GAMMA (needs --train), display_share:FILE (displays: item, perhaps count), position_model:FILE (item, "
    "position, click), or randomised:FILE (position, click)."
)


def evaluate_command(
    recs: Annotated[list[str], Argument(help="Recommendations: user, item, and score or rank. One file each.")],
    test: Annotated[str, Option(help="What the users really did: user, item, perhaps a value.")],
    train: Annotated[str | None, Option(help="What was known before; for novelty and popularity metrics.")] = None,
    items: Annotated[str | None, Option(help="The catalogue: one row per item, perhaps with aspects.")] = None,
    users: Annotated[str | None, Option(help=_USERS)] = None,
    metrics: Annotated[str, Option(help="Metrics, separated by commas; see `trueval metrics`.")] = METRICS,
    threshold: Annotated[float | None, Option(help="Values from here on are relevant; else values above 0.")] = None,
    population: Annotated[str, Option(help="Average over users: relevant, judged or all.")] = "relevant",
    missing: Annotated[str, Option(help=_MISSING)] = "zero",
    ties: Annotated[str, Option(help="Equal scores: random, expected, worst, best or given.")] = "random",
    compat: Annotated[str | None, Option(help=_COMPAT)] = None,
    condensed: Annotated[bool, Option("--condensed", help="Drop unjudged items from the lists first.")] = False,
    without_head: Annotated[float | None, Option(help=_WITHOUT_HEAD)] = None,
    seen: Annotated[str, Option(help=_SEEN)] = "exclude",
    interval: Annotated[str, Option(help="Intervals: bootstrap, bca, t or none.")] = "bootstrap",
    resamples: Annotated[int, Option(help="Resamples of users, for bootstrap intervals.")] = 1000,
    level: Annotated[float, Option(help="How often intervals are to hold the truth.")] = 0.95,
    by: Annotated[str | None, Option(help=_BY)] = None,
    min_group: Annotated[int, Option(help="Smaller groups (users) are left out of gaps.")] = 30,
    baseline: Annotated[str | None, Option(help="Compare every other run with this one.")] = None,
    columns: Annotated[str | None, Option(help="Roles of columns: user=uid,item=sku,score=pred.")] = None,
    format: Format = "table",
    output: Annotated[str | None, Option("--output", "-o", help=_OUTPUT)] = None,
    per_user: Annotated[Path | None, Option(help="Write every user's values here (.parquet, .csv).")] = None,
    report: Annotated[Path | None, Option(help="Write an HTML report here.")] = None,
    propensity: Annotated[str | None, Option(help=_PROPENSITY)] = None,
    sorted_by_user: Annotated[bool, Option("--sorted-by-user", help=_SORTED)] = False,
    engine: Annotated[str, Option(help=_ENGINE)] = "local",
    seed: Seed = 0,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Measure recommendations, with an interval on every number.

    Examples:

      trueval evaluate recs.parquet --test test.parquet

      trueval evaluate runs/*.csv --test test.csv --threshold 4 --baseline popularity

      trueval evaluate a.run --test truth.qrels --compat trec_eval --metrics "map,ndcg@10" --format json

      trueval evaluate recs.csv --test test.csv --users users.csv --items items.csv --by gender,provider

      trueval evaluate recs.csv --test test.csv --metrics "snips(recall)@10" --propensity display_share:displays.csv
    """
    from trueval.api import evaluate_run
    from trueval.evaluation.compat import supported
    from trueval.progress import set_quiet

    set_quiet(quiet)
    check_format(format)
    asked = supported(METRICS.split(","), compat) if metrics == METRICS else metrics
    _check_output(output, per_user, report)
    result = evaluate_run(
        recs[0] if len(recs) == 1 else recs, _only(test, users, columns), train=train, items=items, metrics=asked,
        threshold=threshold, population=population, missing=missing, ties=ties, condensed=condensed,
        without_head=without_head, seen=seen, interval=interval, resamples=resamples, level=level, columns=columns,
        sorted_by_user=sorted_by_user, compat=compat, seed=seed, threads=threads, by=by, users=users,
        min_group=min_group, propensity=propensity, engine=engine,
    )  # fmt: skip
    _write_side_files(result, baseline, per_user, report)
    _give(result, format, baseline, output)


def _is_folder(output: str | None) -> bool:
    return output is not None and (output.endswith(("/", os.sep)) or Path(output).is_dir())


def _check_output(output: str | None, per_user: Path | None, report: Path | None) -> None:
    if output is not None and _is_folder(output):
        from trueval.report.saved import check_result_folder

        check_result_folder(Path(output))
        output = None
    check_places(output, per_user, report)


def _give(result: Result, format: str, baseline: str | None, output: str | None) -> None:
    """Print the result, or write it into a file or a folder."""
    if output is not None and _is_folder(output):
        from trueval.progress import note

        result.save(output)
        note(f"wrote {output}: compare it with others by `trueval compare`")
        return
    text = render(result, format, baseline)
    if output is None and text is None:
        result.show(baseline=baseline)
    else:
        give(str(result) if text is None else text, output)


def render(result: Result, format: str, baseline: str | None) -> str | None:
    """The result as text in a format; None for the table, which depends on where it is shown."""
    if format == "json":
        return result.to_json(baseline=baseline) + "\n"
    if format == "csv":
        return result.table().write_csv()
    if format == "table":
        return None
    return {"md": result.to_markdown, "latex": result.to_latex}[format](baseline=baseline)


def _write_side_files(result: Result, baseline: str | None, per_user: Path | None, report: Path | None) -> None:
    from trueval.data.writing import write_whole
    from trueval.report.saved import save_per_user

    if baseline is not None:
        result.compare(baseline)  # a wrong name is said before anything is written
    if per_user is not None:
        save_per_user(result.evaluation, per_user)
    if report is not None:
        from trueval.report.html import html_page
        from trueval.report.html_groups import group_sections

        comparisons = result.compare(baseline) if baseline else ()
        page = html_page(
            result.evaluation, comparisons=comparisons, title="trueval evaluate",
            sections=group_sections(result.evaluation),
        )  # fmt: skip
        write_whole(report, page)


def _only(test: str, users: str | None, columns: str | None) -> object:
    """The test set, cut to some users where a list of them is given."""
    if users is None:
        return test
    from trueval.data.users import keep_users

    return keep_users(test, users, columns=columns)
