"""What went wrong while a file was read, said in four parts instead of a library's traceback."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from trueval.errors import DataError

# Polars reports some corrupt files by a panic of its engine, which is not an Exception.
FAILURES = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    OSError,
    EOFError,
    UnicodeError,
    zlib.error,
)

_REMEDIES = (
    ("utf-8", "save the file as UTF-8"),
    ("more fields", "every line must have as many fields as the first; quote fields that hold the separator"),
    ("could not parse", "correct this value, or give the right columns"),
)


@contextmanager
def reading(path: Path | str, *, what: str, do: str = "check the file, or export it again") -> Iterator[None]:
    """Turn any failure to read a file into a DataError that names the file.

    >>> with reading("recs.parquet", what="parquet"):
    ...     raise OSError("bad footer")
    Traceback (most recent call last):
    trueval.errors.DataError: the file could not be read as parquet
      where: recs.parquet
      found: bad footer
      do:    check the file, or export it again
    """
    try:
        yield
    except FAILURES as error:
        raise read_error(error, path, what=what, do=do) from error


def read_error(error: BaseException, path: Path | str, *, what: str, do: str) -> DataError:
    """The DataError for a failure; only the first line of the library's message is worth showing."""
    if isinstance(error, pl.exceptions.NoDataError):
        return empty(path)
    if "Cannot allocate memory" in str(error):
        return DataError(
            "not enough memory to read a file", where=str(path), found=str(error).strip().split("\n")[0],
            do="use fewer columns, rows or threads, or a larger machine",
        )  # fmt: skip
    message = str(error).strip().split("\n")[0] or type(error).__name__
    if isinstance(error, PermissionError):
        return DataError("the file may not be read", where=str(path), found=message, do="give yourself read access")
    lowered = message.lower()
    remedy = next((remedy for mark, remedy in _REMEDIES if mark in lowered), do)
    return DataError(f"the file could not be read as {what}", where=str(path), found=message, do=remedy)


def empty(path: Path | str) -> DataError:
    """A file without a single row.

    >>> str(empty("log.csv")).splitlines()[0]
    'the table is empty'
    """
    return DataError("the table is empty", where=str(path), found="0 rows", do="check the export")
