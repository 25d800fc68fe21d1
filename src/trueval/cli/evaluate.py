"""trueval evaluate: measure recommendations that were already made."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trueval.errors import DefinitionError, suggest

if TYPE_CHECKING:
    from trueval.api import Result

FORMATS = ("table", "json", "csv", "md", "latex")
METRICS = "precision@10,recall@10,ndcg@10,ap@10,rr@10,hit@10,coverage@10"


def evaluate_command(
    recs: Annotated[list[str], typer.Argument(help="Recommendations: user, item, and score or rank. One file each.")],
    test: Annotated[str, typer.Option(help="What the users really did: user, item, perhaps a value.")],
    train: Annotated[
        str | None, typer.Option(help="What was known before; for novelty and popularity metrics.")
    ] = None,
    items: Annotated[str | None, typer.Option(help="The catalogue: one row per item, perhaps with aspects.")] = None,
    users: Annotated[
        str | None, typer.Option(help="Evaluate only these users: a file with a user column, perhaps with groups.")
    ] = None,
    metrics: Annotated[str, typer.Option(help="Metrics, separated by commas; see `trueval metrics`.")] = METRICS,
    threshold: Annotated[
        float | None, typer.Option(help="Values from here on are relevant; else values above 0.")
    ] = None,
    population: Annotated[str, typer.Option(help="Average over users: relevant, judged or all.")] = "relevant",
    ties: Annotated[str, typer.Option(help="Equal scores: random, expected, worst, best or given.")] = "random",
    compat: Annotated[
        str | None,
        typer.Option(
            help="Rules of trec_eval, ranx, recbole, lenskit, rectools, replay, recommenders or spark.",
        ),
    ] = None,
    condensed: Annotated[bool, typer.Option("--condensed", help="Drop unjudged items from the lists first.")] = False,
    interval: Annotated[str, typer.Option(help="Intervals: bootstrap, bca, t or none.")] = "bootstrap",
    resamples: Annotated[int, typer.Option(help="Resamples of users, for bootstrap intervals.")] = 1000,
    level: Annotated[float, typer.Option(help="How often intervals are to hold the truth.")] = 0.95,
    by: Annotated[
        str | None,
        typer.Option(help="Groups: columns of --users or --items, or activity, taste, popularity (with --train)."),
    ] = None,
    min_group: Annotated[int, typer.Option(help="Smaller groups (users) are left out of gaps.")] = 30,
    baseline: Annotated[str | None, typer.Option(help="Compare every other run with this one.")] = None,
    columns: Annotated[str | None, typer.Option(help="Roles of columns: user=uid,item=sku,score=pred.")] = None,
    format: Annotated[str, typer.Option(help="table, json, csv, md or latex.")] = "table",
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Write the result here instead; DIR/ (a folder) for `trueval compare`."),
    ] = None,
    per_user: Annotated[Path | None, typer.Option(help="Write every user's values here (.parquet, .csv).")] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report here.")] = None,
    propensity: Annotated[
        str | None, typer.Option(help="Chances for ips(…) and snips(…): column:NAME of the test, popularity:GAMMA.")
    ] = None,
    sorted_by_user: Annotated[
        bool, typer.Option("--sorted-by-user", help="Runs are sorted by user: read them in pieces.")
    ] = False,
    engine: Annotated[str, typer.Option(help="What does the work: local (this machine, all cores).")] = "local",
    seed: Annotated[int, typer.Option(help="Seed of all that is random.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads to use; the result is the same.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but the result and errors.")] = False,
) -> None:
    """Measure recommendations, with an interval on every number.

    Examples:

      trueval evaluate recs.parquet --test test.parquet

      trueval evaluate runs/*.csv --test test.csv --threshold 4 --baseline popularity

      trueval evaluate a.run --test truth.qrels --compat trec_eval --metrics "map,ndcg@10" --format json

      trueval evaluate recs.csv --test test.csv --users users.csv --items items.csv --by gender,provider
    """
    from trueval.api import evaluate_run
    from trueval.progress import note, set_quiet
    from trueval.report.files import check_writable, write_whole

    set_quiet(quiet)
    if format not in FORMATS:
        raise DefinitionError(f"unknown format {format!r}", found=suggest(format, FORMATS))
    if engine != "local":
        raise DefinitionError(
            f"there is no engine {engine!r}",
            found="this version works on one machine",
            do="leave --engine out; a file larger than memory is read in pieces with --sorted-by-user",
        )
    folder = output is not None and (output.endswith(("/", os.sep)) or Path(output).is_dir())
    if folder:
        from trueval.report.saved import check_result_folder

        check_result_folder(Path(str(output)))
    for path in (None if folder else output, per_user, report):
        check_writable(path)
    result = evaluate_run(
        recs[0] if len(recs) == 1 else recs, _only(test, users, columns), train=train, items=items, metrics=metrics,
        threshold=threshold, population=population, ties=ties, condensed=condensed, interval=interval,
        resamples=resamples, level=level, columns=columns,
        sorted_by_user=sorted_by_user, compat=compat, seed=seed, threads=threads, by=by, users=users,
        min_group=min_group, propensity=propensity,
    )  # fmt: skip
    if baseline is not None:
        result.compare(baseline)  # a wrong name is said before anything is written
    _write_side_files(result, baseline, per_user, report)
    if folder:
        result.save(str(output))
        note(f"wrote {output}: compare it with others by `trueval compare`")
        return
    text = render(result, format, baseline)
    if output is None and text is None:
        result.show(baseline=baseline)
    elif output is None:
        sys.stdout.write(text or "")
    else:
        write_whole(output, text if text is not None else str(result))


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
    from trueval.report.files import write_whole
    from trueval.report.saved import save_per_user

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
