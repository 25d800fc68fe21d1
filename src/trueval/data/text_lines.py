"""Text files as lines, and lines cut at separators that a csv reader does not know."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from trueval.data.failures import empty, reading
from trueval.errors import DataError, rows_found

# No text holds this control character, so a csv reader with it as separator reads whole lines.
NO_SEPARATOR = "\x1f"


def scan_lines(path: Path | str | bytes, *, n_rows: int | None = None) -> pl.LazyFrame:
    """A one-column table `line` of the lines of a text file (plain, gzip or zstd)."""
    return pl.scan_csv(
        path,
        separator=NO_SEPARATOR,
        has_header=False,
        quote_char=None,
        infer_schema=False,
        schema={"line": pl.String},
        n_rows=n_rows,
        glob=False,
    )


def first_lines(path: Path, most: int = 50) -> list[str]:
    """The first lines of a text file that are not blank; an empty file is an error."""
    with reading(path, what="text"):
        if path.stat().st_size == 0:
            raise empty(path)
        lines = scan_lines(path, n_rows=most).collect()["line"].drop_nulls().to_list()
    lines = [line.rstrip("\r").removeprefix("\ufeff") for line in lines if line.strip()]
    if not lines:
        raise empty(path)
    _check_text(lines, path)
    return lines


def _check_text(lines: Sequence[str], path: Path) -> None:
    """Refuse what a reader of text would take for one endless line, or for names with holes in them."""
    if any("\0" in line for line in lines):
        raise DataError(
            "the file is not text in UTF-8",
            where=str(path),
            found="null characters, as UTF-16 and files of other kinds have them",
            do="save the file as UTF-8 text",
        )
    if len(lines) == 1 and '"' not in lines[0] and "\r" in lines[0]:
        raise DataError(
            "lines end with a carriage return alone, as on very old machines",
            where=str(path),
            found=repr(lines[0][:80]),
            do="write the file with usual line ends: tr '\\r' '\\n' < OLD > NEW",
        )


def split_lines(path: Path, names: Sequence[str], *, separator: str, skip_first: bool = False) -> pl.DataFrame:
    """Fields of all lines as strings; a separator " " stands for any run of blanks.

    A line with another number of fields is an error that shows it.
    """
    line = pl.col("line").str.strip_chars_end("\r")
    if separator == " ":
        line = line.str.strip_chars().str.replace_all(r"[ \t]+", " ")
    with reading(path, what="text"):
        lines = scan_lines(path).drop_nulls()
        if skip_first:
            lines = lines.slice(1)
        # One field more than expected, to notice lines that are too long.
        frame = lines.select(
            "line",
            line.str.split_exact(separator, len(names)).struct.rename_fields([*names, "\0rest"]).alias("fields"),
        ).collect()
    if not len(frame):
        raise empty(path)
    fields = frame["fields"].struct
    bad = fields.field("\0rest").is_not_null() | fields.field(names[-1]).is_null()
    if bad.any():
        rows = frame.with_row_index("row", offset=1).filter(bad)
        raise DataError(
            f"lines do not have {len(names)} fields",
            where=str(path),
            found=rows_found(
                [f"line {row}: {text!r}" for row, text in rows.select("row", "line").head(5).rows()],
                len(rows),
            ),
            do="fields: " + (" " if separator == " " else separator).join(names),
        )
    return frame["fields"].struct.unnest().drop("\0rest")


def numbers_where_possible(frame: pl.DataFrame, *, leave: Sequence[str] = ()) -> pl.DataFrame:
    """String columns whose every entry is a number become Int64 or Float64.

    >>> numbers_where_possible(pl.DataFrame({"a": ["1", "2"], "b": ["1", "x"]})).dtypes
    [Int64, String]
    """
    return frame.with_columns(
        number(column) for column in frame if column.dtype == pl.String and column.name not in leave
    )


def number(column: pl.Series) -> pl.Series:
    """A string column as numbers, if all of it can be."""
    for kind in (pl.Int64, pl.Float64):
        cast = column.cast(kind, strict=False)
        if cast.null_count() == column.null_count() < len(column):
            return cast
    return column


def utf8(raw: bytes) -> bytes:
    """Text of old data sets, which is UTF-8 or else Latin-1, as UTF-8.

    >>> utf8("é".encode("latin-1")).decode()
    'é'
    """
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1").encode("utf-8")
    return raw
