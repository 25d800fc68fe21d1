"""trueval calibrate: calibrate predicted probabilities, and measure them before and after."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from trueval.cli.options import CsvSafe, Quiet, Report, Seed, Threads, check_places, give, width_for, write_page
from trueval.render.widths import READING_WIDTH
from trueval.report.output_formats import PAGES, ROWS, check_csv_safe, check_format, endings, format_of, rendered

if TYPE_CHECKING:
    from trueval.calibration.calibrate import Calibration

_PREDICTIONS = "Test part: one row per prediction with its label (0 or 1) and optionally user, item, time, weight."
_INPUT = "Kind of predictions: probability, score, or auto (probabilities if all are in [0, 1])."
_METRICS = "logloss, brier, auc, gauc, ece[bins=10,by=width|mass|value], mce[…]."
_CLIP = "Minimum distance of probabilities from 0 and 1 in logloss and Platt's log odds."
_COLUMNS = "Roles of columns: user=uid,item=sku,prediction=ctr,label=clicked."
_OUTPUT = f"Write the table to this file with a column `calibrated` added: {endings(ROWS)}."
_FORMATS = ("table", "json")


def calibrate_command(
    predictions: Annotated[str, Argument(help=_PREDICTIONS)],
    validation: Annotated[
        str, Option(help="Validation part to fit the calibrator on, or a calibrator saved with --save (.json).")
    ],
    method: Annotated[str, Option(help="Calibration method: platt or isotonic.")] = "platt",
    input: Annotated[str, Option(help=_INPUT)] = "auto",
    metrics: Annotated[str | None, Option(help=_METRICS)] = None,
    clip: Annotated[float | None, Option(help=_CLIP)] = None,
    bins: Annotated[int, Option(help="Number of bins of the reliability diagram.")] = 10,
    by: Annotated[str, Option(help="Bins of the reliability diagram by width, mass or value.")] = "mass",
    interval: Annotated[str, Option(help="Method of the confidence intervals: bootstrap or none.")] = "bootstrap",
    columns: Annotated[str | None, Option(help=_COLUMNS)] = None,
    format: Annotated[str, Option(help="table or json.")] = "table",
    output: Annotated[Path | None, Option("--output", "-o", help=_OUTPUT)] = None,
    csv_safe: CsvSafe = False,
    report: Report = None,
    save: Annotated[Path | None, Option(help="Write the fitted calibrator to this file (.json).")] = None,
    seed: Seed = 0,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Calibrate predictions on a validation part; measure them before and after.

    The two parts must not share rows. Columns are recognised by name: prediction, pred, probability, p, score
    or ctr; label, click, clicked, y, target or converted.

    Examples:

      trueval calibrate test.parquet --validation validation.parquet

      trueval calibrate test.csv --validation validation.csv --method isotonic -o calibrated.csv

      trueval calibrate test.csv --validation validation.csv --columns prediction=ctr,label=bought --format json
    """
    from trueval.calibration.calibrate import calibrate
    from trueval.kernels import use_threads
    from trueval.progress import set_quiet
    from trueval.report.pages import page_of

    set_quiet(quiet)
    check_format(format, _FORMATS)
    written = None if output is None else format_of(output, ROWS, option="-o")
    check_csv_safe(csv_safe, (format, written))
    if save is not None:
        format_of(save, ("json",), option="--save")
    if report is not None:
        format_of(report, PAGES, option="--report")
    check_places(output, save, report)
    with use_threads(threads):
        found = calibrate(
            predictions, validation=validation, method=method, input=input, metrics=metrics, clip=clip,
            columns=columns, interval=interval, seed=seed,
        )  # fmt: skip
        text = render(found, format, bins=bins, by=by)
        _write_files(found, output, save, csv_safe=csv_safe)
        title = f"Calibration of {Path(predictions).name}"
        write_page(
            lambda made_from: page_of("calibration", found, title=title, origin=made_from),
            report, predictions, validation,
        )  # fmt: skip
    give(text, None)


def render(found: Calibration, format: str, *, bins: int, by: str) -> str:
    """The values before and after, with the reliability diagram, as text in a format."""
    from trueval.calibration.render import calibration_text

    if format == "json":
        return rendered(found, format, bins=bins, by=by)
    return calibration_text(found, bins=bins, by=by, width=min(width_for(None), READING_WIDTH))


def _write_files(found: Calibration, output: Path | None, save: Path | None, *, csv_safe: bool) -> None:
    from trueval.progress import note
    from trueval.report.files import write_table

    if output is not None:
        write_table(output, found.frame, csv_safe=csv_safe)
        note(f"wrote {len(found.before.data):,} rows with a column calibrated to {output}")
    if save is not None:
        found.calibrator.save(save)
