"""Results in files: where they can be written, and tables in the format of their suffix."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import polars as pl

from trueval.data.writing import write_whole
from trueval.errors import OutputError


def check_writable(path: Path | str | None) -> None:
    """Say that a result could not be written before the work is done, not after."""
    if path is None:
        return
    folder = Path(path).parent
    reason = "" if os.access(folder, os.W_OK) else f"{folder} is not a folder that can be written"
    if Path(path).is_dir():
        reason = "it is a folder"
    if reason:
        raise OutputError("the result cannot be written", where=str(path), found=reason, do="choose another place")


def write_table(path: Path, frame: pl.DataFrame) -> None:
    """Write a table in the format its suffix names."""
    suffix = path.suffix.lower()
    writers: dict[str, Callable[[Path], None]] = {
        ".parquet": frame.write_parquet,
        ".csv": frame.write_csv,
        ".tsv": lambda target: frame.write_csv(target, separator="\t"),
        ".jsonl": frame.write_ndjson,
    }
    if suffix not in writers:
        raise OutputError(
            "unknown format of a table", where=str(path), found=suffix or "no suffix", do="use " + " ".join(writers)
        )
    write_whole(path, writers[suffix])
