"""Ids that come as text: integers where nothing is lost, strings otherwise."""

from __future__ import annotations

import polars as pl


def _changes_as_integer(column: pl.Expr) -> pl.Expr:
    """Whether some entry, such as 007, would be written differently after a trip through an integer."""
    text = column.str
    zeros = (text.starts_with("0") & (text.len_bytes() > 1)) | text.starts_with("-0") | text.starts_with("+")
    return zeros.any()


def kinds(frame: pl.LazyFrame, roles: tuple[str, ...] = ("user", "item")) -> dict[str, pl.DataType]:
    """The type that each column of textual ids can take; reads the table once, in bounded memory.

    >>> kinds(pl.LazyFrame({"user": ["007", "8"], "item": ["1", "20"]}))
    {'user': String, 'item': Int64}
    """
    # Counting what is missing elsewhere makes the reader parse it, so that a broken number is found now.
    others = [name for name in frame.collect_schema().names() if name not in roles]
    questions = [pl.col(name).null_count() for name in others]
    for role in roles:
        column = pl.col(role)
        questions += [
            _changes_as_integer(column).alias(f"{role} changes"),
            column.is_not_null().any().alias(f"{role} some"),
            (column.cast(pl.Int64, strict=False).is_null() & column.is_not_null()).any().alias(f"{role} long"),
            (column.cast(pl.UInt64, strict=False).is_null() & column.is_not_null()).any().alias(f"{role} text"),
        ]
    answers = frame.select(questions).collect(engine="streaming").row(0, named=True)

    def kind(role: str) -> pl.DataType:
        if answers[f"{role} changes"] or not answers[f"{role} some"]:
            return pl.String()
        if not answers[f"{role} long"]:
            return pl.Int64()
        return pl.UInt64() if not answers[f"{role} text"] else pl.String()

    return {role: kind(role) for role in roles}


def settled(frame: pl.DataFrame, roles: tuple[str, ...] = ("user", "item")) -> pl.DataFrame:
    """A table whose textual ids have become integers, column by column, where no id changes by it.

    >>> settled(pl.DataFrame({"user": ["1", "2"], "item": ["01", "2"]})).dtypes
    [Int64, String]
    """
    text = tuple(role for role in roles if role in frame.columns and frame.schema[role] == pl.String)
    if not text:
        return frame
    found = kinds(frame.lazy().select(text), text)
    return frame.with_columns(pl.col(role).cast(kind) for role, kind in found.items())
