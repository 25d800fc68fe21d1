"""Tables of known data sets: separators and types are given, the encoding may be Latin-1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from trueval.data.failures import reading
from trueval.data.text_lines import NO_SEPARATOR, utf8

Types = Mapping[str, "type[pl.DataType]"]


def known_table(path: Path, types: Types, *, separator: str, header: bool = False) -> pl.DataFrame:
    """A table with known columns, all of them, in order.

    A separator of several characters is replaced by a character that no text holds.
    """
    with reading(path, what="the file of a known data set"):
        raw = utf8(path.read_bytes())
        if len(separator) > 1:
            raw, separator = raw.replace(separator.encode(), NO_SEPARATOR.encode()), NO_SEPARATOR
        return with_any_times(
            types,
            lambda types: pl.read_csv(
                raw,
                separator=separator,
                has_header=False,
                skip_lines=int(header),
                schema=dict(types),
                quote_char='"' if separator == "," else None,
            ),
        )


def with_any_times(types: Types, table: Callable[[Types], pl.DataFrame], *, time: str = "time") -> pl.DataFrame:
    """A table with whole times, which are read fast, or with times as text where some are not whole."""
    try:
        return table(types)
    except pl.exceptions.ComputeError:
        if time not in types:
            raise
        return table({**types, time: pl.String})


def cut(column: str, separator: str = "|", *, empty: str = "") -> pl.Expr:
    """A column of joined names as lists; `empty` (or nothing) stands for no names.

    >>> pl.DataFrame({"genres": ["Drama|War", None]}).select(cut("genres")).to_series().to_list()
    [['Drama', 'War'], []]
    """
    text = pl.col(column).fill_null("")
    none = text.is_in(["", empty])
    return pl.when(none).then(pl.lit([], dtype=pl.List(pl.String))).otherwise(text.str.split(separator)).alias(column)
