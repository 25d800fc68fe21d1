"""trueval compare: is it better, by how much, and how sure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trueval.errors import DefinitionError, suggest

if TYPE_CHECKING:
    from trueval.comparison.agreement import Agreement
    from trueval.comparison.comparisons import Comparisons

FORMATS = ("table", "json", "csv", "md", "latex")


def compare_command(
    results: Annotated[
        list[str], typer.Argument(help="Result folders (evaluate -o DIR/) or files (evaluate --per-user FILE.parquet).")
    ],
    baseline: Annotated[
        str | None, typer.Option(help="Compare every other system with this one; else with the first.")
    ] = None,
    metrics: Annotated[str | None, typer.Option(help="Only these metrics, separated by commas.")] = None,
    test: Annotated[str, typer.Option(help="t, wilcoxon, permutation or bootstrap.")] = "t",
    correct: Annotated[str, typer.Option(help="For the number of comparisons: holm, bonferroni, bh or none.")] = "holm",
    alternative: Annotated[str, typer.Option(help="two-sided, better or worse.")] = "two-sided",
    level: Annotated[float, typer.Option(help="Level of intervals; 1 - level is that of tests.")] = 0.95,
    agreement: Annotated[
        bool, typer.Option("--agreement", help="Instead: do metrics, or results of other designs, rank systems alike?")
    ] = False,
    format: Annotated[str, typer.Option(help="table, json, csv, md or latex.")] = "table",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the comparison here instead.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of all that is random.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads to use; the result is the same.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but the result and errors.")] = False,
) -> None:
    """Compare systems with a baseline, paired over common users.

    Results of one seed are joined: they hold different systems. The same system in results of several seeds or
    folds is repeated, and intervals then count users and seeds. Results under different rules are refused.

    Examples:

      trueval evaluate runs/*.csv --test test.csv -o result/

      trueval compare result/ --baseline popularity

      trueval compare pop.parquet bpr.parquet --baseline pop --test permutation --format latex

      trueval compare seed1/ seed2/ seed3/ --baseline popularity

      trueval compare observed/ unbiased/ --agreement --metrics ndcg@10
    """
    from trueval.kernels import use_threads
    from trueval.progress import set_quiet
    from trueval.report.compared import agreement as agree
    from trueval.report.compared import compare
    from trueval.report.files import check_writable, write_whole

    set_quiet(quiet)
    if format not in FORMATS:
        raise DefinitionError(f"unknown format {format!r}", found=suggest(format, FORMATS))
    check_writable(output)
    found: Comparisons | Agreement
    with use_threads(threads):
        if agreement:
            found = agree(results, metrics=metrics, level=level, seed=seed)
        else:
            found = compare(
                results, baseline=baseline, metrics=metrics, test=test, correct=correct, alternative=alternative,
                level=level, seed=seed,
            )  # fmt: skip
    if output is not None:
        write_whole(output, rendered(found, format))
    elif format == "table":
        found.print(sys.stdout)
    else:
        sys.stdout.write(rendered(found, format))


def rendered(found: Comparisons | Agreement, format: str) -> str:
    """What was found as text in a format."""
    if format == "json":
        return found.to_json() + "\n"
    if format == "csv":
        return found.table().write_csv()
    return {"md": found.to_markdown, "latex": found.to_latex, "table": found.__str__}[format]()
