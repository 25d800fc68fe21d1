"""How much memory a file will take once it is read, told before it is: by its rows, or by its size."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from trueval.data.failures import FAILURES
from trueval.data.tables import parquet_parts, scan_parts, table_suffix
from trueval.memory import available, in_words, need_memory
from trueval.progress import note

_MANY = 32 * 2**20  # bytes of a file; smaller ones fit anywhere
_TEXT_CELL = 24  # bytes of a text in a column: 16 for the view, and what does not fit into it
_AS_TEXT = 2  # how much larger than its text a table is while it is read, at least
_PACKED = 4  # how much smaller a compressed text is, about


def check_fits(path: Path, *, row_bytes: float, do: str, columns: int | None = None) -> None:
    """Refuse a file that does not fit into memory, as it is read and with `row_bytes` more for the work on each row.

    Where only so many `columns` are read, they count as the narrowest ones. Of compressed text only the packed size is
    known, so that there is a note instead of a refusal.
    """
    size = sum(part.stat().st_size for part in parquet_parts(path)) if path.is_dir() else path.stat().st_size
    if size < _MANY:
        return
    if path.is_dir() or path.suffix in (".parquet", ".pq"):
        need_memory(_parquet_bytes(path, columns, row_bytes), "this table", do=do, where=str(path))
    elif table_suffix(path) == path.suffix.lower():
        need_memory(_AS_TEXT * size, "this table", do=do, where=str(path))
    else:
        needed, left = _AS_TEXT * _PACKED * size, available()
        if left is not None and needed > left:
            note(f"{path} may take {in_words(needed)} of memory, {in_words(left)} are available: {do}")


def _parquet_bytes(path: Path, columns: int | None, row_bytes: float) -> float:
    """Rows times the bytes of a row, from the metadata; 0 where these cannot be read, which the reader will say."""
    try:
        frame = scan_parts(path) if path.is_dir() else pl.scan_parquet(path, glob=False)
        kinds = list(frame.collect_schema().values())
        rows = frame.select(pl.len()).collect().item()
    except FAILURES:
        return 0
    widths = sorted(map(_width, kinds))
    return float(rows * (sum(widths[:columns]) + row_bytes))


def _width(kind: pl.DataType) -> float:
    """Bytes of a cell."""
    if kind == pl.String or kind.is_nested():
        return _TEXT_CELL
    bits = "".join(letter for letter in str(kind).partition("(")[0] if letter.isdecimal())
    return int(bits) / 8 if bits else 8 if kind.is_temporal() else 1
