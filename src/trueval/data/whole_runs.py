"""Runs that are read at once: those that are not too large for it, perhaps ahead of the time when they are needed."""

from __future__ import annotations

import os
import stat
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import polars as pl

from trueval.data.coded_column import CodedColumn
from trueval.data.failures import reading
from trueval.data.ids import Ids
from trueval.data.read import locate
from trueval.data.role_names import ColumnMap
from trueval.data.run_tables import read_run, scan_run
from trueval.data.sorted_runs import SortedRun, looks_sorted, read_sorted
from trueval.data.table_size import check_fits
from trueval.kernels import load_compiler

# Rows of a streamed run that are in memory at once, where there is room for them.
STREAMED_ROWS = 8_000_000
# A file with more rows is streamed, too, where it turns out to be sorted by user.
MANY_ROWS = 4 * STREAMED_ROWS
# What a row of a run that is read whole takes beside its columns: by user, and as facts.
_ROW_BYTES = 44
_TOO_LARGE = (
    "sort the run by user and add --sorted-by-user (sorted_by_user=True), which reads it in chunks; or use "
    "--engine spark"
)
Version = tuple[int, int, int, int]


class Scanned(NamedTuple):
    """A file, how many rows it has, and what the first of them tell."""

    lazy: pl.LazyFrame
    rows: int
    looks_sorted: bool


class WholeRun(NamedTuple):
    """A run in memory, and its items, coded."""

    frame: pl.DataFrame
    coded: CodedColumn

    @property
    def users(self) -> pl.Series:
        """The user of every row."""
        return self.frame["user"]

    @property
    def items(self) -> Ids:
        """The items, each once."""
        return self.coded.ids


AtOnce = SortedRun | WholeRun
_ahead: dict[Version | None, Future[AtOnce | None]] = {}


def read_at_once(
    source: Any, columns: ColumnMap | None = None, *, likely: Ids | None = None, depth: int | None = None
) -> AtOnce | None:
    """A run, in the way that takes least; None for a parquet file of so many rows that it had better be streamed.

    `likely` are items that most rows have, as a rule. Nothing depends on rows of a list behind `depth`, but that they
    are sound.
    """
    here = isinstance(source, (str, Path)) and columns is None
    begun = _ahead.pop(_version(source), None) if here else None
    run = None if begun is None else begun.result()
    if begun is None or (isinstance(run, SortedRun) and not run.reaches(depth)):
        return _at_once(source, columns, likely, depth)
    return run


def _at_once(
    source: Any, columns: ColumnMap | None, likely: Ids | None, depth: int | None, scanned: Scanned | None = None
) -> AtOnce | None:
    ahead = scanned is not None
    if isinstance(source, (str, Path)) and Path(source).suffix == ".parquet" and Path(source).is_file():
        scanned = scanned or _scan(source, columns)
        if scanned.rows > MANY_ROWS:
            return None
        run = read_sorted(scanned.lazy, scanned.rows, depth=depth) if scanned.looks_sorted else None
        if run is not None:
            return run
    return read_whole(source, columns, likely=likely, ahead=ahead)


def _scan(source: str | Path, columns: ColumnMap | None) -> Scanned:
    """A parquet file as it can be read, once it is known that it fits into memory, or is streamed."""
    lazy = scan_run(source, columns=columns)
    with reading(str(source), what="recommendations"):
        rows = lazy.select(pl.len()).collect().item()
    if rows > MANY_ROWS:
        return Scanned(lazy, rows, looks_sorted=False)
    _check_fits(source)
    return Scanned(lazy, rows, looks_sorted(lazy))


def read_whole(
    source: Any, columns: ColumnMap | None = None, *, likely: Ids | None = None, ahead: bool = False
) -> WholeRun:
    """All rows of a run, once it is known that they fit into memory; ahead of time, all items are coded as well."""
    if isinstance(source, (str, Path)):
        _check_fits(source)
    frame = read_run(source, columns=columns)
    if ahead:
        load_compiler(len(frame))
    return WholeRun(frame, CodedColumn.of(frame["item"], likely, ahead=ahead))


def read_ahead(source: Any, *, depth: int | None = None) -> None:
    """Begin to read and code a parquet file that `read_at_once` will ask for, while the caller does what else must be.

    What goes wrong is told when it is asked for. A `depth` that turns out to be too small costs time alone.
    """
    if not isinstance(source, (str, Path)) or Path(source).suffix != ".parquet":
        return
    version = _version(source)
    if version is None or version in _ahead:
        return
    future: Future[AtOnce | None] = Future()
    _ahead[version] = future
    try:
        scanned = _scan(source, None)  # now: in the thread it would wait for what the caller reads meanwhile
    except Exception as problem:
        future.set_exception(problem)
        return

    def read() -> None:
        try:
            future.set_result(_at_once(source, None, None, depth, scanned))
        except BaseException as problem:
            future.set_exception(problem)

    Thread(target=read).start()


def being_read() -> list[Future[AtOnce | None]]:
    """What is being read ahead now."""
    return list(_ahead.values())


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


def _check_fits(source: str | Path) -> None:
    check_fits(locate(source), row_bytes=_ROW_BYTES, columns=3, do=_TOO_LARGE)
