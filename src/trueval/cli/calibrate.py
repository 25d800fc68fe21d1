"""trueval calibrate: make predicted probabilities mean what they say, and show that they do."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from trueval.errors import DefinitionError, suggest

FORMATS = ("table", "json")


def calibrate_command(
    predictions: Annotated[
        str, typer.Argument(help="Test part: prediction and label (0 or 1) per row, perhaps user, item, time, weight.")
    ],
    validation: Annotated[
        str, typer.Option(help="Validation part to fit on, or a calibrator saved with --save (.json).")
    ],
    method: Annotated[str, typer.Option(help="platt or isotonic.")] = "platt",
    input: Annotated[
        str,
        typer.Option(help="What predictions are: probability, score, or auto (probabilities if all are in [0, 1])."),
    ] = "auto",
    metrics: Annotated[
        str | None, typer.Option(help="logloss, brier, auc, gauc, ece[bins=10,by=width|mass|value], mce[…].")
    ] = None,
    clip: Annotated[
        float | None, typer.Option(help="Keep probabilities this far from 0 and 1 in logloss and Platt's log odds.")
    ] = None,
    bins: Annotated[int, typer.Option(help="Bins of the reliability diagram.")] = 10,
    by: Annotated[str, typer.Option(help="Bins of the diagram: width, mass or value.")] = "mass",
    interval: Annotated[str, typer.Option(help="Intervals: bootstrap or none.")] = "bootstrap",
    columns: Annotated[
        str | None, typer.Option(help="Roles of columns: user=uid,item=sku,prediction=ctr,label=clicked.")
    ] = None,
    format: Annotated[str, typer.Option(help="table or json.")] = "table",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the predictions here, with a column `calibrated`.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write the fitted calibrator here (.json).")] = None,
    seed: Annotated[int, typer.Option(help="Seed of all that is random.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads to use; the result is the same.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but the result and errors.")] = False,
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
    from trueval.calibration.shown import WIDTH, calibration_text
    from trueval.kernels import use_threads
    from trueval.progress import note, set_quiet
    from trueval.report.files import check_writable, write_table, write_whole

    set_quiet(quiet)
    if format not in FORMATS:
        raise DefinitionError(f"unknown format {format!r}", found=suggest(format, FORMATS))
    for path in (output, save):
        check_writable(path)
    with use_threads(threads):
        found = calibrate(
            predictions, validation=validation, method=method, input=input, metrics=metrics, clip=clip,
            columns=columns, interval=interval, seed=seed,
        )  # fmt: skip
        if format == "json":
            text = found.to_json(bins=bins, by=by) + "\n"
        else:
            width = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
            text = calibration_text(found, bins=bins, by=by, width=min(width, WIDTH))
        if output is not None:
            write_table(output, found.frame)
            note(f"wrote {len(found.before.data):,} rows with a column calibrated to {output}")
        if save is not None:
            write_whole(save, found.calibrator.to_json() + "\n")
    sys.stdout.write(text)
