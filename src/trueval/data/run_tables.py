"""Recommendation tables: one row per recommended item, with a score or a rank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from trueval.data import id_text
from trueval.data.calendar import showable
from trueval.data.column_roles import RUN_ROLES, find_roles, renaming
from trueval.data.failures import empty, reading
from trueval.data.frames import as_polars, is_table
from trueval.data.ids import WIDE, plain
from trueval.data.missing_ids import check_ids
from trueval.data.read import locate
from trueval.data.role_names import ColumnMap
from trueval.data.table_columns import parse_columns
from trueval.data.tables import ids_are_text, scan_table
from trueval.errors import DataError, rows_found


def read_run(source: Any, *, columns: ColumnMap | str | None = None) -> pl.DataFrame:
    """Recommendations: columns `user`, `item` and, where present, `score` and `rank`; rows in their order.

    `source` is a table (polars, pandas, Arrow), a file, or a folder of parquet parts.

    >>> read_run(pl.DataFrame({"rank": [1, 2], "userId": [7, 7], "sku": ["a", "b"], "size": [3, 4]})).columns
    ['user', 'item', 'rank']
    """
    if is_table(source):
        where = "recommendations"
        frame = as_polars(source, where=where)
        run = _chosen(_renamed(frame.lazy(), _columns(columns), where), where).collect()
    else:
        path = locate(source)
        where = str(path)
        frame = _collected(_scanned(path, columns), where)
        run = _chosen((id_text.settled(frame) if ids_are_text(path) else frame).lazy(), where).collect()
    if not len(run):
        raise empty(where)
    run = run.with_columns(plain(run[role], where=f"{where}, column {role}") for role in ("user", "item"))
    check_ids(run, where, run=True)
    return run


def scan_run(path: Path | str, *, columns: ColumnMap | str | None = None) -> pl.LazyFrame:
    """The same, lazily: parquet and csv are read when asked for, other formats now.

    Rows are looked at once where a type depends on all of them (ids in csv, ranks written as floats).

    >>> scan_run("nowhere.parquet")
    Traceback (most recent call last):
    trueval.errors.DataError: there is no such file or data set
      where: nowhere.parquet
    ...
    """
    path = locate(path)
    frame = _scanned(path, columns)
    if ids_are_text(path):
        with reading(path, what="recommendations"):
            kinds = id_text.kinds(frame)
        frame = frame.with_columns(pl.col(role).cast(kind) for role, kind in kinds.items())
    return _chosen(frame, str(path))


def _scanned(path: Path, columns: ColumnMap | str | None) -> pl.LazyFrame:
    frame = scan_table(path, _columns(columns), roles=RUN_ROLES)
    with reading(path, what="recommendations"):
        names = frame.collect_schema().names()
    return frame.select(role for role in RUN_ROLES if role in names)


def _columns(columns: ColumnMap | str | None) -> ColumnMap | None:
    return parse_columns(columns) if isinstance(columns, str) else columns


def _collected(frame: pl.LazyFrame, where: str) -> pl.DataFrame:
    with reading(where, what="recommendations"):
        return frame.collect()


def _renamed(frame: pl.LazyFrame, columns: ColumnMap | None, where: str) -> pl.LazyFrame:
    names = frame.collect_schema().names()
    found = find_roles(names, columns, roles=RUN_ROLES, where=where)
    return frame.rename(renaming(names, found, RUN_ROLES)).select(list(found))


def _chosen(frame: pl.LazyFrame, where: str) -> pl.LazyFrame:
    """Scores as floats (Float32 stays) and ranks as integers; ids that cannot be ids are refused."""
    schema = frame.collect_schema()
    for role in ("user", "item"):
        if schema[role].is_nested() or schema[role] in (pl.Object, pl.Binary):
            raise DataError(
                "ids must be integers or strings",
                where=f"{where}, column {role}",
                found=f"type {schema[role]}",
                do="write one row per recommended item",
            )
    if "score" in schema and not schema["score"].is_float():
        if not schema["score"].is_numeric() and schema["score"] != pl.Null:
            raise _not_numbers(frame, "score", where)
        frame = frame.with_columns(pl.col("score").cast(pl.Float64))
    if "rank" in schema and (schema["rank"] in WIDE or not schema["rank"].is_integer()):
        _check_whole(frame, schema["rank"], where)
        frame = frame.with_columns(pl.col("rank").cast(pl.Int64))
    return frame


def _not_numbers(frame: pl.LazyFrame, role: str, where: str) -> DataError:
    kind = frame.collect_schema()[role]
    found = f"type {kind}"
    if kind == pl.String:
        bad = frame.filter(pl.col(role).cast(pl.Float64, strict=False).is_null() & pl.col(role).is_not_null())
        rows = showable(_collected(bad.select("user", "item", role), where))
        if len(rows):
            found = rows_found([f"user {u}, item {i}: {v!r}" for u, i, v in rows.head(5).rows()], len(rows))
    return DataError(
        f"{role}s must be numbers", where=f"{where}, column {role}", found=found, do="write them as numbers"
    )


def _check_whole(frame: pl.LazyFrame, kind: pl.DataType, where: str) -> None:
    if not kind.is_float() and kind not in WIDE:
        raise _not_numbers(frame, "rank", where)
    rank = pl.col("rank")
    broken = rank.is_null() | rank.cast(pl.Int64, strict=False).is_null()
    if kind.is_float():
        # from 2^53 on, floats do not tell whole numbers apart
        broken = broken | ~rank.is_finite() | (rank != rank.floor()) | (rank.abs() > 2**53)
    rows = showable(_collected(frame.filter(broken).select("user", "item", "rank"), where))
    if len(rows):
        raise DataError(
            "ranks must be whole numbers",
            where=f"{where}, column rank",
            found=rows_found([f"user {u}, item {i}: {r}" for u, i, r in rows.head(5).rows()], len(rows)),
            do="number each user's items 1, 2, 3…",
        )
