"""Failures to read a file as errors of four parts instead of a library's traceback."""

from __future__ import annotations

import csv
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from trueval.data.unpacked_size import check_unpacked_size
from trueval.errors import DataError, TruevalError

# Polars reports some corrupt files by a panic of its engine, which is not an Exception. A ValueError is what decoders
# raise (Unicode, JSON, TOML, numbers with thousands of digits); deep nesting ends in a RecursionError.
FAILURES = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    OSError,
    EOFError,
    ValueError,
    OverflowError,
    RecursionError,
    csv.Error,
    zlib.error,
)

_REMEDIES = (
    ("utf-8", "save the file as UTF-8"),
    ("more fields", "every line must have as many fields as the first; quote fields that hold the separator"),
    ("could not parse", "correct this value, or give the right columns"),
)


@contextmanager
def reading(path: Path | str, *, what: str, do: str = "check the file, or export it again") -> Iterator[None]:
    """Turn any failure to read a file into a DataError that names it; errors of trueval pass as they are.

    What unpacks beyond measure is not read. Only for what parses a file: around anything else it would hide defects.

    >>> with reading("recs.parquet", what="parquet"):
    ...     raise OSError("bad footer")
    Traceback (most recent call last):
    trueval.errors.DataError: the file could not be read as parquet
      where: recs.parquet
      found: bad footer
      do:    check the file, or export it again
    """
    try:
        if isinstance(path, Path):
            check_unpacked_size(path)
        yield
    except TruevalError:  # which is a ValueError
        raise
    except FAILURES as error:
        raise read_error(error, path, what=what, do=do) from error


def read_error(error: BaseException, path: Path | str, *, what: str, do: str) -> DataError:
    """The DataError for a failure; only the first line of the library's message is worth showing."""
    if isinstance(error, pl.exceptions.NoDataError):
        return empty(path)
    message = first_line(error)
    if isinstance(error, PermissionError):
        return DataError(
            "there is no permission to read the file", where=str(path), found=message, do="give yourself read access"
        )
    lowered = message.lower()
    remedy = next((remedy for mark, remedy in _REMEDIES if mark in lowered), do)
    return DataError(f"the file could not be read as {what}", where=str(path), found=message, do=remedy)


def first_line(error: BaseException, *, most: int = 300) -> str:
    """The beginning of a message, which may quote half a file; the type of an error that has none.

    >>> first_line(ValueError("bad\\nmore")), first_line(EOFError())
    ('bad', 'EOFError')
    """
    if isinstance(error, RecursionError):
        return "values nested too deeply"
    message = (str(error).strip().split("\n")[0] or type(error).__name__).rstrip()
    return message if len(message) <= most else message[:most] + " …"


def empty(path: Path | str) -> DataError:
    """A file without a single row.

    >>> str(empty("log.csv")).splitlines()[0]
    'the table is empty'
    """
    return DataError("the table is empty", where=str(path), found="0 rows", do="check the export")
