"""trueval evaluate: measure recommendations that were already made."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from trueval.cli.guard import is_folder
from trueval.cli.options import (
    COLUMNS,
    Count,
    CsvSafe,
    Format,
    Quiet,
    Report,
    Seed,
    Threads,
    check_places,
    give,
    held,
    result_format,
    write_page,
)
from trueval.errors import DefinitionError, OutputError
from trueval.evaluation.declared_options import default, help_of
from trueval.report.output_formats import RESULTS, ROWS, endings, format_of, rendered

if TYPE_CHECKING:
    from trueval.api import Result
    from trueval.audit.audit import Audit

_WITHOUT_HEAD = (
    "Remove judgements of the most popular items, 0.1 for a tenth of them (needs --train); lists are not changed."
)
_SEEN = "Train items of a user: exclude (default; they should not be recommended) or allow (rank them like others)."
_DESIGN = (
    "Design: given, optionally with head10, condensed or seen, as in given-head10-condensed; --without-head, "
    "--condensed and --seen are short forms of these words."
)
_OUTPUT = (
    f"Write the result to a file ({endings(RESULTS)}), or to a folder for `trueval compare` (a name without "
    "an ending, or DIR/)."
)
_PER_USER = f"Write the values of every user to this file: {endings(ROWS)}."
_SORTED = "The runs are sorted by user: read them in chunks."
_ENGINE = "Engine: local (this machine, all cores) or spark (parquet files; a cluster, if one is set up)."


def evaluate_command(
    recs: Annotated[
        list[str], Argument(help="Files of recommendations, one per system: user, item, and score or rank.")
    ],
    test: Annotated[str, Option(help="Test set: user, item and optionally a value.")],
    train: Annotated[str | None, Option(help="Train set; for novelty and popularity metrics.")] = None,
    items: Annotated[str | None, Option(help="Catalogue: one row per item, optionally with aspects.")] = None,
    users: Annotated[str | None, Option(help=help_of("users"))] = None,
    only_users: Annotated[str | None, Option(help=help_of("only_users"))] = None,
    metrics: Annotated[str | None, Option(help=help_of("metrics"))] = None,
    threshold: Annotated[float | None, Option(help=help_of("threshold"))] = None,
    population: Annotated[str, Option(help=help_of("population"))] = default("population"),
    missing: Annotated[str, Option(help=help_of("missing"))] = default("missing"),
    invalid: Annotated[str, Option(help=help_of("invalid"))] = default("invalid"),
    ties: Annotated[str, Option(help=help_of("ties"))] = default("ties"),
    compat: Annotated[str | None, Option(help=help_of("compat"))] = None,
    design: Annotated[str | None, Option(help=_DESIGN)] = None,
    condensed: Annotated[
        bool, Option("--condensed", help="Remove unjudged items from the lists before measuring.")
    ] = False,
    without_head: Annotated[float | None, Option(help=_WITHOUT_HEAD)] = None,
    seen: Annotated[str | None, Option(help=_SEEN)] = None,
    interval: Annotated[str, Option(help=help_of("interval"))] = default("interval"),
    resamples: Annotated[int, Option(help=help_of("resamples"))] = default("resamples"),
    level: Annotated[float, Option(help=help_of("level"))] = default("level"),
    by: Annotated[str | None, Option(help=help_of("by"))] = None,
    min_group: Annotated[int, Option(help=help_of("min_group"))] = default("min_group"),
    baseline: Annotated[str | None, Option(help="Compare every other run with this one.")] = None,
    columns: Annotated[str | None, Option(help=COLUMNS)] = None,
    count: Count = None,
    format: Format = None,
    output: Annotated[str | None, Option("--output", "-o", help=_OUTPUT)] = None,
    per_user: Annotated[Path | None, Option(help=_PER_USER)] = None,
    report: Report = None,
    csv_safe: CsvSafe = False,
    propensity: Annotated[str | None, Option(help=help_of("propensity"))] = None,
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
    if len(recs) == 1 and engine == "local" and columns is None and threads is None and not sorted_by_user:
        from trueval.data.whole_runs import read_ahead

        read_ahead(recs[0])
    from trueval.api import evaluate_run
    from trueval.data.table_columns import read_columns
    from trueval.progress import set_quiet

    set_quiet(quiet)
    roles = read_columns(
        columns, recs=recs, test=test, train=train, items=items, users=users, only_users=only_users,
        propensity=propensity,
    ) or None  # fmt: skip
    chosen = _check_output(format, output, per_user, report, csv_safe=csv_safe)
    audited: dict[str, Any] = {  # what an audit of the same lists takes as well
        "items": items, "users": users, "only_users": only_users, "by": by, "threshold": threshold,
        "population": population, "missing": missing, "invalid": invalid, "ties": ties, "min_group": min_group,
        "columns": roles, "seed": seed, "threads": threads,
    }  # fmt: skip
    other: dict[str, Any] = {
        "design": design, "condensed": condensed or None, "without_head": without_head, "seen": seen,
        "compat": compat, "propensity": propensity,
    }  # fmt: skip
    here = ["train"] if count is not None else []  # read here
    left = {role: name for role, name in (roles or {}).items() if role.partition(".")[0] not in here} or None
    with held(output if is_folder(output) else None):
        result = evaluate_run(
            recs[0] if len(recs) == 1 else recs, test, train=_counted(train, roles, count),
            metrics=metrics, interval=interval, resamples=resamples, level=level, sorted_by_user=sorted_by_user,
            engine=engine, **{**audited, "columns": left}, **other,
        )  # fmt: skip
        _write_side_files(result, baseline, per_user, csv_safe=csv_safe)
        if report is not None:
            again = engine == "local" and all(one is None for one in other.values())
            _write_report(result, report, baseline=baseline, recs=recs, again=again, train=train, test=test, **audited)
        _give(result, chosen, baseline, output, csv_safe=csv_safe)


def _check_output(
    format: str | None, output: str | None, per_user: Path | None, report: Path | None, *, csv_safe: bool
) -> str:
    """The format of the result; refuses, before the work, what could not be written after it."""
    folder = output if is_folder(output) else None
    users = None if per_user is None else format_of(per_user, ROWS, option="--per-user")
    file, do = None if folder else output, _other_outputs(output)
    chosen = result_format(format, file, report, do=do, csv_safe=csv_safe, also=users)
    check_places(per_user)
    if folder is not None:
        _check_folder(folder, format)
    return chosen


def _other_outputs(output: str | None) -> str:
    """What else a name may be meant for."""
    if output is None:
        return ""
    option = {".html": "--report", ".parquet": "--per-user"}.get(Path(output).suffix.lower())
    return f"for such a file use {option} {output}" if option else f"for a folder use -o {output}/"


def _check_folder(folder: str, format: str | None) -> None:
    from trueval.report.output_formats import FORMATS
    from trueval.report.saved_results import check_result_folder

    name = folder.rstrip("/" + os.sep)
    if format is not None:
        raise OutputError(
            "the format and the output contradict each other",
            where=f"-o {folder}",
            found=f"--format {format} and a folder, whose files have fixed formats",
            do=f"omit --format, or name a file: -o {name}{FORMATS[format].ending}",
        )
    if Path(name).is_file():
        raise OutputError(
            "the result folder cannot be written, since a file has its name",
            where=f"-o {folder}",
            do=f"name another folder, or a file by its ending: -o {name}.csv",
        )
    check_result_folder(Path(folder))


def _give(result: Result, format: str, baseline: str | None, output: str | None, *, csv_safe: bool) -> None:
    """Print the result, or write it into a file or a folder."""
    if output is not None and is_folder(output):
        from trueval.progress import note

        result.save(output)
        note(f"wrote the result folder {output}: compare it with others by `trueval compare`")
    elif output is None and format == "table":
        result.show(baseline=baseline)
    else:
        table = lambda: result.to_text(baseline=baseline)  # noqa: E731
        give(rendered(result, format, table=table, csv_safe=csv_safe, baseline=baseline), output)


def _write_side_files(result: Result, baseline: str | None, per_user: Path | None, *, csv_safe: bool) -> None:
    if baseline is not None:
        result.compare(baseline)  # a wrong name is refused before anything is written
    if per_user is not None:
        from trueval.report.saved_results import save_per_user

        save_per_user(result.evaluation, per_user, csv_safe=csv_safe)


def _write_report(
    result: Result, report: Path, *, baseline: str | None, recs: list[str], again: bool, **given: Any
) -> None:
    """The page, with an audit of the same files; of other designs than that of the audit, only of the result."""
    from trueval.audit.audit import audit
    from trueval.report.html_audit import audited
    from trueval.report.html_result import result_page

    def checks() -> Audit:
        if not again:
            return result.audit()
        by = _columns_among(given["users"], given["by"], given["columns"])
        users = given["users"] if by else None
        return audit(recs=recs, metrics=list(result.evaluation.specs.values()), **{**given, "users": users, "by": by})

    title = _title(recs, given["test"])
    files = recs, given["test"], given["train"], given["items"], given["users"], given["only_users"]
    write_page(
        lambda made_from: result_page(
            result, baseline=baseline, title=title, origin=made_from, audit=audited(checks)
        ),
        report, *files,
    )  # fmt: skip


def _columns_among(users: str | None, by: str | None, roles: dict[str, Any] | None) -> list[str] | None:
    """Those of the groups that are columns of the users: an audit asks whether users are served alike."""
    if users is None or by is None:
        return None
    from trueval.data.users import read_users
    from trueval.evaluation.groups import names_of

    columns = read_users(users, columns=roles).columns
    return [name for name in names_of(by) if name in columns] or None


def _title(recs: list[str], test: str) -> str:
    """What was evaluated on what."""
    lists = Path(recs[0]).name if len(recs) == 1 else f"{len(recs)} systems"
    return f"{lists} on {Path(test).name}"


def _counted(train: str | None, roles: dict[str, Any] | None, count: str | None) -> object:
    """The train set, read with `count` where it is given."""
    if count is None:
        return train
    from trueval.data.read import read
    from trueval.evaluation.held_out import read_log

    if train is None:
        raise DefinitionError(
            "popularity is counted in the train set", where="--count", found="no train set", do="pass --train FILE"
        )
    return read(read_log(train, roles, name="train"), count=count)
