"""trueval gate: may the new system replace the old one?"""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer import Argument, Option

from trueval.cli.options import CsvSafe, Format, Output, Quiet, give, result_format
from trueval.report.output_formats import rendered

_NEW = "Result of the new system: a folder (evaluate -o DIR/) or a file (evaluate --per-user FILE.parquet)."
_OLD = "Result of the old system, made in the same way."
_METRICS = "Metrics that must not become worse, separated by commas (default: all that have a better side)."
_MARGIN = "How much worse is allowed: 1% of the old value, or 0.005; or by metric: ndcg@10=1%,coverage@10=0.02."
_BY = "Also test every group of users with the same value in these columns of --users."


def gate_command(
    new: Annotated[str, Argument(help=_NEW)],
    old: Annotated[str, Argument(help=_OLD)],
    metrics: Annotated[str | None, Option(help=_METRICS)] = None,
    margin: Annotated[str, Option(help=_MARGIN)] = "1%",
    level: Annotated[float, Option(help="Confidence of either verdict, from 0.8.")] = 0.95,
    correct: Annotated[
        str, Option(help="Correction of 'worse' for the number of tests: holm, bonferroni, bh or none.")
    ] = "holm",
    system: Annotated[str | None, Option(help="The system, where results have several.")] = None,
    old_system: Annotated[str | None, Option(help="The system of OLD, where it has another name.")] = None,
    by: Annotated[str | None, Option(help=_BY)] = None,
    users: Annotated[str | None, Option(help="Table of users with columns to group by.")] = None,
    columns: Annotated[str | None, Option(help="The column of user ids of --users: user=uid.")] = None,
    min_group: Annotated[int, Option(help="Do not test groups with fewer users.")] = 30,
    format: Format = None,
    output: Output = None,
    csv_safe: CsvSafe = False,
    quiet: Quiet = False,
) -> None:
    """Tell whether a new system is worse than an old one by more than a margin, for CI pipelines.

    Exit codes: 0 pass (shown not to be worse by more than the margin, on every metric and group), 1 worse (shown to be
    worse by more than it), 3 cannot tell (the users are too few for either), 2 bad input. A wrong 0 and a wrong 1 each
    have a probability of about 5 % (1 - level) at most; more where a handful of users differ.

    Examples:

      trueval evaluate recs.csv --test test.csv --per-user new.parquet

      trueval gate new.parquet baseline.parquet --metrics ndcg@10 --margin 1%

      trueval gate new/ old/ --margin ndcg@10=1%,coverage@10=0.02

      trueval gate new/ old/ --metrics ndcg@10 -o comment.md

      trueval gate new/ old/ --system als --users users.csv --by country

      trueval gate new/ old/ || test $? -eq 3    (go on where it cannot tell)
    """
    from trueval.progress import set_quiet
    from trueval.report.gate_results import gate

    set_quiet(quiet)
    chosen = result_format(format, output, csv_safe=csv_safe)
    found = gate(
        new, old, metrics=metrics, margin=margin, level=level, correct=correct, system=system, old_system=old_system,
        by=by, users=users, columns=columns, min_group=min_group,
    )  # fmt: skip
    if output is None and chosen == "table":
        found.print(sys.stdout)
    else:
        give(rendered(found, chosen, csv_safe=csv_safe), output)
    raise typer.Exit(found.exit_code)
