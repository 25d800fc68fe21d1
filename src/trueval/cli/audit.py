"""trueval audit: can the numbers be trusted?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from trueval.cli.options import (
    COLUMNS,
    CsvSafe,
    Format,
    Output,
    Quiet,
    Report,
    Seed,
    Threads,
    give,
    result_format,
    write_page,
)
from trueval.evaluation.declared_options import default, help_of
from trueval.report.output_formats import rendered

if TYPE_CHECKING:
    from trueval.report.origin import Origin

_RECS = "Recommendations, a file per system; give the option once for each file, or several files after it."
_METRICS = "Metrics whose values and orders are audited, separated by commas."
_RELEVANT = (
    "The smallest change of a metric that matters to you: 0.005, 1% (of the best value), or by metric: "
    "ndcg@10=0.005,recall@10=1%. Default: the detectable difference of these data."
)
_UNBIASED = "A second test set, of items that were drawn at random: observed and true orders are compared."
_PROPENSITY = (
    "How likely each pair was displayed or rated, as in trueval evaluate: FILE, column:NAME, display_share:FILE, "
    "position_model:FILE or randomised:FILE. One more reading of how the ratings came about."
)
_SYSTEMS = "Systems to fit on train, separated by commas (see `trueval systems`), in place of --recs."
_SIMULATE = (
    "Also measure systems in a world like the log, where the truth is known: how far from it are design and metric?"
)
_RAISE_ON = (
    "Exit with code 1 where something is wrong (wrong), wrong or uncertain (caution), or wrong or an order of systems "
    "that depends on how the ratings came about (depends)."
)
_EXPLAIN = "Write out every check, and what each reading of the ratings says of each pair of systems."
_ACCEPTED = "Experiment file whose [audit.accept] section has findings that are accepted, each with reason and data."


def audit_command(
    test: Annotated[str, Option(help="Test set: user, item and optionally a value and a time.")],
    more: Annotated[list[str] | None, typer.Argument(help="More files of recommendations, after --recs.")] = None,
    train: Annotated[str | None, Option(help="Train set.")] = None,
    validation: Annotated[str | None, Option(help="What parameters were chosen on: it must have no test rows.")] = None,
    recs: Annotated[list[str] | None, Option(help=_RECS)] = None,
    systems: Annotated[str | None, Option(help=_SYSTEMS)] = None,
    unbiased: Annotated[str | None, Option(help=_UNBIASED)] = None,
    propensity: Annotated[str | None, Option(help=_PROPENSITY)] = None,
    metrics: Annotated[str, Option(help=_METRICS)] = "ndcg@10",
    design: Annotated[str, Option(help="Design of --systems: which items are ranked.")] = "AR-TI-AN",
    relevant_change: Annotated[str | None, Option(help=_RELEVANT)] = None,
    threshold: Annotated[float | None, Option(help=help_of("threshold"))] = None,
    population: Annotated[str, Option(help=help_of("population"))] = default("population"),
    missing: Annotated[str, Option(help=help_of("missing"))] = default("missing"),
    invalid: Annotated[str, Option(help=help_of("invalid"))] = default("invalid"),
    ties: Annotated[str, Option(help=help_of("ties"))] = default("ties"),
    items: Annotated[str | None, Option(help="Catalogue: one row per item.")] = None,
    users: Annotated[str | None, Option(help=help_of("users"))] = None,
    only_users: Annotated[str | None, Option(help=help_of("only_users"))] = None,
    by: Annotated[str | None, Option(help="Columns of --users: is a group served worse?")] = None,
    min_group: Annotated[int, Option(help="Do not test groups with fewer users.")] = default("min_group"),
    columns: Annotated[str | None, Option(help=COLUMNS)] = None,
    simulate: Annotated[bool, Option("--simulate", help=_SIMULATE)] = False,
    explain: Annotated[bool, Option("--explain", help=_EXPLAIN)] = False,
    accepted: Annotated[str | None, Option(help=_ACCEPTED)] = None,
    raise_on: Annotated[str | None, Option(help=_RAISE_ON)] = None,
    format: Format = None,
    output: Output = None,
    csv_safe: CsvSafe = False,
    report: Report = None,
    seed: Seed = 0,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Tell what may be claimed, and whether the numbers can be trusted: leakage, ids, ties, samples, power.

    First an answer for every pair of systems that differ: the order holds under every reading of how the ratings came
    about, depends on it, or cannot be told. Then the checks.

    Verdicts: wrong (a number is not what it claims to be), caution (a conclusion could change, which is tested), fine,
    cannot tell. Exit codes: 0; 1 with --raise-on where something is as severe as that; 2 bad input.

    Examples:

      trueval audit --train train.parquet --test test.parquet

      trueval audit --train train.csv --test test.csv --recs mine.csv theirs.csv --threshold 4 --raise-on wrong

      trueval audit --train train.csv --test test.csv --systems popularity,itemknn,puresvd --metrics ndcg@10,recall@20

      trueval audit --train train.csv --test test.csv --recs mine.csv theirs.csv --unbiased random.csv -o audit.json

      trueval audit --train train.csv --test test.csv --systems popularity,itemknn --simulate --report audit.html
    """
    from trueval.audit.audit import RAISE_ON, audit
    from trueval.errors import DefinitionError, suggest
    from trueval.progress import set_quiet

    set_quiet(quiet)
    chosen = result_format("table" if format == "text" else format, output, report, csv_safe=csv_safe)
    if explain and (output is not None or chosen != "table"):
        raise DefinitionError(
            "--explain is about the text that is printed: other formats have everything", where="--explain",
            found=f"format {chosen}" if output is None else f"-o {output}", do="leave --explain out, or print the text",
        )  # fmt: skip
    if raise_on is not None and raise_on not in RAISE_ON:
        raise DefinitionError(f"unknown verdict {raise_on!r}", where="--raise-on", do=suggest(raise_on, RAISE_ON))
    runs = [*(recs or []), *(more or [])]
    if more and not recs:
        raise DefinitionError("files without an option", found=", ".join(more), do=f"--recs {' '.join(more)}")
    found = audit(
        None, systems, train=train, test=test, validation=validation, recs=runs or None, metrics=metrics, design=design,
        relevant_change=relevant_change, unbiased=unbiased, propensity=propensity, threshold=threshold,
        population=population, missing=missing, invalid=invalid, ties=ties, items=items, users=users,
        only_users=only_users, by=by, min_group=min_group, columns=columns, accept=_accepted(accepted),
        simulate=simulate, seed=seed, threads=threads,
    )  # fmt: skip

    def make_page(origin: Origin) -> str:
        from trueval.report.pages import page_of  # charts, which nothing else needs

        return page_of("audit", found, origin=origin)

    write_page(
        make_page, report, train, test, validation, runs, items, users, only_users, unbiased, accepted,
    )  # fmt: skip
    if output is None and chosen == "table":
        found.print(sys.stdout, explain=explain)
    else:
        give(rendered(found, chosen, csv_safe=csv_safe), output)
    if raise_on is not None and found.reaches(raise_on):
        raise typer.Exit(1)


def _accepted(file: str | None) -> dict[str, object] | None:
    """The accepted findings of an experiment file."""
    if file is None:
        return None
    from trueval.experiments.accepted_findings import read_accepted

    return read_accepted(file)
