"""Results in files: where they can be written, and tables in the format of their ending."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

from trueval.data.writing import place_of, reason_of, write_whole
from trueval.errors import OutputError
from trueval.report.output_formats import FORMATS, ROWS, SPREADSHEETS, format_of, safe_frame


def check_writable(path: Path | str | None) -> None:
    """Refuse a path that cannot be written, before the work is done."""
    if path is None:
        return
    try:
        place = place_of(path)
        reason = "" if os.access(place.parent, os.W_OK) else f"{place.parent} is not a folder that can be written"
        if not place.parent.is_dir():
            reason = f"{Path(path).parent} is not a folder that can be written"
        elif place.exists() and not os.access(place, os.W_OK):
            reason = "the file is write-protected"
    except OSError as problem:
        reason = reason_of(problem)
    if reason:
        where = str(path).replace("\0", "\\0")
        raise OutputError("the result cannot be written", where=where, found=reason, do="choose another path")


def write_table(path: Path, frame: pl.DataFrame, *, csv_safe: bool = False) -> None:
    """Write a table of data in the format its ending names; with `csv_safe`, without formulas in CSV and TSV."""
    format = format_of(path, ROWS)
    write = FORMATS[format].write_rows
    assert write is not None
    if csv_safe and format in SPREADSHEETS:
        frame = safe_frame(frame)
    write_whole(path, lambda target: write(frame, target))
