"""trueval compare: is it better, by how much, and how sure."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from trueval.cli.options import CsvSafe, Format, Output, Quiet, Report, Seed, Threads, give, result_format, write_page
from trueval.report.output_formats import rendered

if TYPE_CHECKING:
    from trueval.comparison.agreement import Agreement
    from trueval.comparison.comparisons import Comparisons

_RESULTS = "Result folders (evaluate -o DIR/) or files (evaluate --per-user FILE.parquet)."
_BASELINE = "Compare every other system with this one (default: the first)."
_TEST = (
    "Test: t (exact sign flips where at most 12 users differ, or all by the same amount), wilcoxon, permutation or "
    "bootstrap (bootstrap-t)."
)
_AGREEMENT = "Show instead whether metrics, or results under different designs, rank the systems alike."


def compare_command(
    results: Annotated[list[str], Argument(help=_RESULTS)],
    baseline: Annotated[str | None, Option(help=_BASELINE)] = None,
    metrics: Annotated[str | None, Option(help="Compare only these metrics, separated by commas.")] = None,
    test: Annotated[str, Option(help=_TEST)] = "t",
    correct: Annotated[str, Option(help="Correction for multiple comparisons: holm, bonferroni, bh or none.")] = "holm",
    alternative: Annotated[str, Option(help="Alternative hypothesis: two-sided, better or worse.")] = "two-sided",
    level: Annotated[
        float, Option(help="Confidence level of the intervals; the significance level of the tests is 1 - level.")
    ] = 0.95,
    agreement: Annotated[bool, Option("--agreement", help=_AGREEMENT)] = False,
    format: Format = None,
    output: Output = None,
    csv_safe: CsvSafe = False,
    report: Report = None,
    seed: Seed = 0,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Compare systems with a baseline, paired over common users.

    Results of one seed are joined: they contain different systems. A system in results of several seeds or folds
    counts as repeated, and intervals then cover users and seeds. Results under different options are refused.

    Examples:

      trueval evaluate runs/*.csv --test test.csv -o result/

      trueval compare result/ --baseline popularity

      trueval compare pop.parquet bpr.parquet --baseline pop --test permutation --format latex

      trueval compare seed1/ seed2/ seed3/ --baseline popularity

      trueval compare observed/ unbiased/ --agreement --metrics ndcg@10
    """
    from trueval.kernels import use_threads
    from trueval.progress import set_quiet
    from trueval.report.compare_results import agreement as agree
    from trueval.report.compare_results import compare
    from trueval.report.pages import page_of

    set_quiet(quiet)
    chosen = result_format(format, output, report, csv_safe=csv_safe)
    found: Comparisons | Agreement
    with use_threads(threads):
        if agreement:
            found = agree(results, metrics=metrics, level=level, seed=seed)
        else:
            found = compare(
                results, baseline=baseline, metrics=metrics, test=test, correct=correct, alternative=alternative,
                level=level, seed=seed,
            )  # fmt: skip
    write_page(lambda made_from: page_of(found.report_kind, found, origin=made_from), report, results)
    if output is None and chosen == "table":
        found.print(sys.stdout)
    else:
        give(rendered(found, chosen, csv_safe=csv_safe), output)
