"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import polars as pl

from trueval.errors import OutputError


def write_whole(path: Path | str, content: str | Callable[[Path], None]) -> None:
    """Write text, or let a function write, into a temporary file beside the target, then rename."""
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix)
        os.close(handle)
        temporary = Path(name)
        try:
            if callable(content):
                content(temporary)
            else:
                temporary.write_text(content, encoding="utf-8")
            os.chmod(temporary, 0o666 & ~_umask())
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(
            "the result could not be written",
            where=str(target),
            found=error.strerror or str(error),
            do="choose a folder that exists and can be written",
        ) from error


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


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
