"""The table of a test, and its columns by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trueval.data.column_roles import NO_ROLES, TableRoles, find_roles
from trueval.data.delimited import shape
from trueval.data.failures import empty, reading
from trueval.data.frames import as_polars, is_table
from trueval.data.id_text import settled
from trueval.data.read import locate
from trueval.data.role_names import looks_like
from trueval.data.tables import ids_are_text, read_table, stem, table_suffix
from trueval.data.text_lines import numbers_where_possible, split_lines
from trueval.errors import DataError, rows_found, suggest

# Of several columns of times, none is the time of the events unless it is named.
_ROLES = TableRoles(needs=("arm",), may_have=("user", "time"), absent_if_several=("time",), given_by="option")


def read_ab_table(source: Any, *, arm: str, user: str | None = None) -> tuple[pl.DataFrame, str]:
    """A table in memory or a file, and what it is called in messages. Ids and arms of text files stay as written.

    >>> frame, name = read_ab_table(pl.DataFrame({"arm": ["a", "b"], "clicks": [1, 2]}), arm="arm")
    >>> frame.columns, name
    (['arm', 'clicks'], 'table')
    """
    if is_table(source):
        frame, where = as_polars(source), "table"
    else:
        path = locate(source)
        where = str(path)
        frame = (
            _text_table(path, arm, user)
            if ids_are_text(path) and table_suffix(path) != ".inter"
            else read_table(path, roles=NO_ROLES)
        )
    if not len(frame):
        raise empty(where)
    return frame, where


def table_name(source: Any) -> str:
    """The name of a file without its suffix; nothing for a table in memory.

    >>> table_name("logs/week7.csv")
    'week7'
    """
    return "" if is_table(source) else stem(Path(source))


def _text_table(path: Path, arm: str, user: str | None) -> pl.DataFrame:
    form = shape(path, {"item": arm, "user": user}, suffix=table_suffix(path))
    names = list(form.names)
    text = [name for name in names if name in (arm, user) or (user is None and looks_like(name, "user"))]
    if form.separator in ("::", " "):
        fields = split_lines(path, names, separator=form.separator, skip_first=form.header)
        frame = numbers_where_possible(fields, leave=tuple(text))
    else:
        with reading(path, what="a text table"):
            frame = pl.read_csv(
                path, separator=form.separator, has_header=form.header, new_columns=names, glob=False,
                schema_overrides=dict.fromkeys(text, pl.String), infer_schema_length=None,
            )  # fmt: skip
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
    return settled(frame, roles=tuple(name for name in text if name != arm))


def find_column(frame: pl.DataFrame, name: str, *, role: str, where: str) -> pl.Series:
    """A column that must exist.

    >>> find_column(pl.DataFrame({"clicks": [1]}), "click", role="ctr", where="table")
    Traceback (most recent call last):
    trueval.errors.DataError: there is no column 'click' for ctr
      where: table
      found: columns clicks
      do:    did you mean clicks?
    """
    if name in frame.columns:
        return frame[name]
    raise DataError(
        f"there is no column {name!r} for {role}", where=where, found="columns " + ", ".join(frame.columns),
        do=suggest(name, frame.columns),
    )  # fmt: skip


def ab_columns(
    frame: pl.DataFrame, *, arm: str, user: str | None = None, time: str | None = None, where: str
) -> dict[str, str]:
    """The columns of the arm and, where there are such, of users and times: those named, or the only ones like it.

    >>> ab_columns(pl.DataFrame({"group": ["a"], "uid": [1], "clicks": [2]}), arm="group", where="table")
    {'arm': 'group', 'user': 'uid'}
    """
    named = {"arm": arm, "user": user, "time": time}
    given = {role: name for role, name in named.items() if name is not None}
    return find_roles(frame.columns, given, roles=_ROLES, where=where)


def numbers(column: pl.Series, *, where: str, user: pl.Series | None = None) -> np.ndarray:
    """A column as finite numbers; false and true are 0 and 1.

    >>> numbers(pl.Series("x", [True, False]), where="table").tolist()
    [1.0, 0.0]
    """
    kind = column.dtype
    if not (kind.is_numeric() or kind in (pl.Boolean, pl.String, pl.Null)):
        raise DataError(
            "a metric needs numbers", where=f"{where}, column {column.name}", found=f"type {kind}",
            do="write one number per row",
        )  # fmt: skip
    values = column.cast(pl.Float64, strict=False)
    if kind == pl.String:
        lowered = column.str.to_lowercase()
        booleans = pl.select(pl.when(lowered == "true").then(1.0).when(lowered == "false").then(0.0)).to_series()
        values = values.fill_null(booleans)
    found = values.fill_null(np.nan).to_numpy()
    wrong = ~np.isfinite(found)
    if wrong.any():
        do = "write 0 where nothing happened; leaving such users out would bias the comparison"
        raise bad_rows(column, wrong, "values are missing or not finite numbers", where=where, user=user, do=do)
    return found


def bad_rows(
    column: pl.Series, wrong: np.ndarray, what: str, *, where: str, do: str, user: pl.Series | None = None
) -> DataError:
    """The error that shows some of the rows it is about."""
    at = np.flatnonzero(wrong)
    rows: Sequence[str] = [
        f"row {place + 1}: " + ("" if user is None else f"user {user[place]}, ") + f"{column.name} {column[place]!r}"
        for place in at[:5].tolist()
    ]
    return DataError(what, where=f"{where}, column {column.name}", found=rows_found(rows, len(at)), do=do)
