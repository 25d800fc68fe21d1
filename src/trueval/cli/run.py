"""trueval run: a whole experiment from one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from trueval.cli.options import CsvSafe, Format, Quiet, Threads, bounded, give, result_format
from trueval.errors import OutputError, TruevalError
from trueval.report.output_formats import check_folder_name, rendered

if TYPE_CHECKING:
    from trueval.experiments.result import ExperimentResult

_OUTPUT = "Output folder (default: the name of the file with -results, in the current folder)."
_RESUME = (
    "Resume the experiment in the folder: finished results are kept; what has changed or is damaged is computed again."
)

_CORRECT = (
    "Also estimate what metrics on samples (designs such as 1R-TI-NN100) would be in the full ranking, with standard "
    "error and the bias that may remain; as CSV, TSV or JSON Lines, the table of these estimates alone."
)


def run_command(
    experiment: Annotated[Path, Argument(help="The experiment, a TOML file.")],
    output: Annotated[Path | None, Option("--output", "-o", help=_OUTPUT)] = None,
    resume: Annotated[bool, Option("--resume", help=_RESUME)] = False,
    format: Format = None,
    csv_safe: CsvSafe = False,
    seed: Annotated[
        int | None, Option(help="Use this seed instead of those in the file.", callback=bounded("seed"))
    ] = None,
    threads: Threads = None,
    correct_sampled: Annotated[bool, Option("--correct-sampled", help=_CORRECT)] = False,
    quiet: Quiet = False,
) -> None:
    """Run an experiment: split, fit, rank under every design, measure, compare, report.

    \b
    [data]
    path = "ml-1m"                 # or a file, relative to this one; columns, items, users
    threshold = 4
    [split]
    how = "holdout"                # and its options: see trueval split --help
    ratio = 0.2
    seeds = [1, 2, 3]
    [evaluation]
    designs = ["AR-TI-AN", "1R-TI-NN100"]
    metrics = ["ndcg@10", "recall@20"]
    baseline = "popularity"        # also population, missing, ties, interval, level, compat, by, test, correct…
    [systems]
    popularity = {}
    plsa = { factors = 50 }
    wide = { system = "plsa", factors = 200 }
    mine = { run = "recs/mine-{seed}.parquet" }
    theirs = { import = "mypackage.models:MyModel", factors = 64 }

    The folder receives results.parquet, summary.json, manifest.json, report.html and the facts behind them, so that
    nothing is fitted again when a metric is added later (--resume). A system of a module is fitted again when that
    module or one that it loads changes; installed libraries count by version, files that code reads do not count.
    Facts that a finished experiment no longer refers to are removed.

    import = "module:name" runs the code of that module: read an experiment of somebody else before you run it. The
    module, and what it imports, is searched for where Python finds modules and last beside the file; no other file
    there is run.

    Examples:

      trueval run experiment.toml

      trueval run experiment.toml -o results --resume

      trueval compare results/designs/AR-TI-AN --baseline popularity
    """
    from trueval.experiments.folder import is_unfinished
    from trueval.experiments.run import run
    from trueval.progress import note, set_quiet

    set_quiet(quiet)
    chosen = result_format(format, None, csv_safe=csv_safe)
    folder = Path(f"{experiment.stem}-results") if output is None else output
    check_folder_name(folder)
    if correct_sampled:
        from trueval.experiments.experiment import read_experiment
        from trueval.report.sampled_corrections import check_correctable

        check_correctable(read_experiment(experiment, seed=seed).plans)
    try:
        result = run(experiment, folder, resume=resume, seed=seed, threads=threads)
    except (TruevalError, KeyboardInterrupt) as stop:
        if is_unfinished(folder) and not isinstance(stop, OutputError):
            note(f"finished results are in {folder}: resume with --resume")
        raise
    _give(result, chosen, csv_safe=csv_safe, corrected=correct_sampled)
    note(f"\nwrote {folder}; report: {folder / 'report.html'}")


def _give(result: ExperimentResult, format: str, *, csv_safe: bool, corrected: bool) -> None:
    if format == "table":
        result.show(corrected=corrected)
    else:
        give(rendered(result, format, csv_safe=csv_safe, corrected=corrected), None)
