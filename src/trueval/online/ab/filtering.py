"""A filter of rows: which rows of the table a test is about. An expression of SQL, read by polars, a row at a time."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import polars as pl
from polars import selectors as cs

from trueval.errors import DataError, DefinitionError, suggest

# Words that may stand before a bracket: those of the grammar, and functions that look at one row only. Everything else
# (sums over rows, windows, subqueries, readers of files) would make a row's fate depend on other rows or other data.
_GRAMMAR = frozenset(("and", "or", "not", "in", "like", "ilike", "when", "then", "else", "between", "is", "case"))
_FUNCTIONS = frozenset(
    (
        "abs", "cast", "ceil", "coalesce", "date", "date_part", "ends_with", "extract", "floor", "ifnull", "length",
        "lower", "nullif", "round", "starts_with", "strptime", "trim", "upper",
    )
)  # fmt: skip
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`")
_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(")
_OTHER_TABLES = re.compile(r"\b(select|over|with|columns)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RowFilter:
    """The condition, the columns it uses, and how many rows it keeps."""

    text: str
    columns: tuple[str, ...]
    rows: int
    rows_kept: int
    rows_undefined: int  # left out because the condition has no value there
    users: int = 0  # before the filter


def filter_rows(frame: pl.DataFrame, text: str, *, table: str = "table") -> tuple[pl.DataFrame, RowFilter]:
    """The rows for which a condition holds.

    >>> frame = pl.DataFrame({"country": ["DE", "AT", "DE", None], "day": [1, 3, 5, 7]})
    >>> kept, row_filter = filter_rows(frame, "country == 'DE' and day >= 3")
    >>> kept.rows(), row_filter.rows_kept, row_filter.rows_undefined
    ([('DE', 5)], 1, 1)
    """
    _check_syntax(text, frame.columns)
    try:
        condition = pl.sql_expr(text)
        names = tuple(dict.fromkeys(condition.meta.root_names()))
    except pl.exceptions.PolarsError as error:
        raise _unreadable(text, str(error), frame.columns) from None
    unknown = [name for name in names if name not in frame.columns]
    if unknown:
        raise _unknown(text, unknown[0], frame.columns)
    try:
        # NaN is missing too; polars would have it above every number
        found = frame[list(names)].with_columns(cs.float().fill_nan(None)).select(condition).to_series()
    except pl.exceptions.PolarsError as error:
        types = ", ".join(f"{name}: {frame.schema[name]}" for name in names)
        raise _unreadable(text, f"{_first_line(error)} ({types})", frame.columns) from None
    if found.dtype != pl.Boolean or not names or len(found) != len(frame):
        raise DefinitionError(
            "the filter is not a condition on the columns of a row", where=f"filter: {text}", found=f"{found.dtype}",
            do="compare a column with something: \"country == 'DE' and day >= 3\"",
        )  # fmt: skip
    kept = frame.filter(found.fill_null(False))
    if not len(kept):
        raise DataError(
            "the filter keeps no row", where=f"{table}, filter: {text}", found=f"0 of {len(frame):,} rows",
            do="check the condition against the values of the table",
        )  # fmt: skip
    return kept, RowFilter(text, names, len(frame), len(kept), found.null_count())


def kept_by_arm(
    frame: pl.DataFrame, kept: pl.DataFrame, *, arm: str, user: str | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Users kept and users dropped (columns) by arm (rows), over the arms of which anybody was kept.

    >>> frame = pl.DataFrame({"user": [1, 1, 2, 3], "arm": ["a", "a", "a", "b"], "x": [0, 1, 0, 1]})
    >>> counts, arms = kept_by_arm(frame, frame.filter(pl.col("x") == 1), arm="arm", user="user")
    >>> counts.tolist(), arms
    ([[1, 1], [1, 0]], ('a', 'b'))
    """
    count = pl.len() if user is None else pl.col(user).n_unique()
    before, after = (
        table.drop_nulls(arm).group_by(pl.col(arm).cast(pl.String).alias("arm")).agg(count.alias("n"))
        for table in (frame, kept)
    )
    both = after.join(before, on="arm", suffix="_before").sort("arm")
    left, all_users = both["n"].to_numpy().astype(np.int64), both["n_before"].to_numpy().astype(np.int64)
    return np.stack([left, all_users - left], axis=1), tuple(both["arm"].to_list())


def _check_syntax(text: str, columns: Collection[str]) -> None:
    plain = _QUOTED.sub("''", text)
    other = _OTHER_TABLES.search(plain)
    if other is not None:
        raise DefinitionError(
            "a filter looks at the columns of one row at a time", where=f"filter: {text}", found=other[0],
            do="write conditions on columns; a column of this name is written in double quotes",
        )  # fmt: skip
    for call in _CALL.finditer(plain):
        if call[1].lower() not in _GRAMMAR | _FUNCTIONS:
            raise DefinitionError(
                f"a filter cannot use {call[1]}(…)", where=f"filter: {text}",
                do=f"write a condition on the columns of a row; {suggest(call[1], _FUNCTIONS)}",
            )  # fmt: skip
    # polars takes these words for functions, and its error message does not help
    for word in ("user", "current_user", "session_user"):
        if word in columns and re.search(rf"(?<![\w.]){word}(?!\w)", plain):
            raise DefinitionError(
                f"{word} is a reserved word of SQL",
                where=f"filter: {text}",
                found=word,
                do=f'write the column as "{word}"',
            )


def _unknown(text: str, name: str, columns: Collection[str]) -> DefinitionError:
    do = suggest(name, columns)
    if f'"{name}"' in text:
        do += f"; text is written in single quotes: '{name}'"
    return DefinitionError(
        f"there is no column {name!r} for the filter", where=f"filter: {text}",
        found="columns " + ", ".join(columns), do=do,
    )  # fmt: skip


def _unreadable(text: str, reason: str, columns: Collection[str]) -> DefinitionError:
    return DefinitionError(
        "the filter could not be read", where=f"filter: {text}",
        found=f"{reason.splitlines()[0]}; columns {', '.join(columns)}",
        do="for example \"country == 'DE' and day >= 3\": text in single quotes, dates as date '2026-01-31', unusual "
        "column names in double quotes",
    )  # fmt: skip


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
