"""Runs that are read whole: those that are not too large for it, perhaps ahead of the time when they are needed."""

from __future__ import annotations

import os
import stat
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import polars as pl

from trueval.data.coded_column import CodedColumn
from trueval.data.column_roles import ColumnMap
from trueval.data.failures import reading
from trueval.data.ids import Ids
from trueval.data.read import locate
from trueval.data.run_tables import read_run, scan_run
from trueval.data.table_size import check_fits
from trueval.kernels import load_compiler

# Rows of a streamed run that are in memory at once, where there is room for them.
STREAMED_ROWS = 8_000_000
# A file with more rows is streamed, too, where it turns out to be sorted by user.
MANY_ROWS = 4 * STREAMED_ROWS
# What a row of a run that is read whole takes beside its columns: by user, and as facts.
_ROW_BYTES = 44
_TOO_LARGE = (
    "sort the run by user and add --sorted-by-user (sorted_by_user=True), which reads it in chunks; or evaluate fewer "
    "users (--users), or use --engine spark"
)
Version = tuple[int, int, int, int]


class WholeRun(NamedTuple):
    """A run in memory, and its items, coded."""

    frame: pl.DataFrame
    items: CodedColumn


_ahead: dict[Version | None, Future[WholeRun | None]] = {}


def large_run(source: Any, columns: ColumnMap | None = None) -> pl.LazyFrame | None:
    """A parquet file of very many rows, unread; None for all else."""
    if not isinstance(source, (str, Path)) or Path(source).suffix != ".parquet" or not Path(source).is_file():
        return None
    lazy = scan_run(source, columns=columns)
    with reading(str(source), what="recommendations"):
        return lazy if lazy.select(pl.len()).collect().item() > MANY_ROWS else None


def read_whole(source: Any, columns: ColumnMap | None = None, *, likely: Ids | None = None) -> WholeRun:
    """A run, once it is known to fit into memory; `likely` are items that most rows have, as a rule."""
    here = isinstance(source, (str, Path)) and columns is None
    begun = _ahead.pop(_version(source), None) if here else None
    run = None if begun is None else begun.result()
    if run is not None:
        return run
    frame = _read(source, columns)
    return WholeRun(frame, CodedColumn.of(frame["item"], likely))


def read_ahead(source: Any) -> None:
    """Begin to read and code a parquet file that `read_whole` will ask for, while the caller does what else must be.

    What goes wrong is told when it is asked for.
    """
    if not isinstance(source, (str, Path)) or Path(source).suffix != ".parquet":
        return
    version = _version(source)
    if version is None or version in _ahead:
        return
    future: Future[WholeRun | None] = Future()

    def read() -> None:
        try:
            run = None
            if large_run(source) is None:
                frame = _read(source)
                load_compiler(len(frame))
                run = WholeRun(frame, CodedColumn.of(frame["item"], ahead=True))
            future.set_result(run)
        except BaseException as problem:
            future.set_exception(problem)

    _ahead[version] = future
    Thread(target=read).start()


def forget() -> None:
    """Let go of what was read ahead, where nobody will ask for it."""
    _ahead.clear()


def _version(source: str | Path) -> Version | None:
    """What tells this file from all others, and from what it was before; None where there is no file."""
    try:
        file = os.stat(source)
    except OSError:
        return None
    return (file.st_dev, file.st_ino, file.st_mtime_ns, file.st_size) if stat.S_ISREG(file.st_mode) else None


def _read(source: Any, columns: ColumnMap | None = None) -> pl.DataFrame:
    if isinstance(source, (str, Path)):
        check_fits(locate(source), row_bytes=_ROW_BYTES, columns=3, do=_TOO_LARGE)
    return read_run(source, columns=columns)
