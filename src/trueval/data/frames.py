"""Tables in memory (polars, pandas, Arrow) as polars, copied only where they must be."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl

from trueval.data.failures import FAILURES
from trueval.errors import DataError


def is_table(source: object) -> bool:
    """Whether an object is a table in memory rather than a path.

    >>> is_table(pl.DataFrame()), is_table("recs.csv")
    (True, False)
    """
    return (
        isinstance(source, pl.DataFrame | pl.LazyFrame) or _is_pandas(source) or hasattr(source, "__arrow_c_stream__")
    )


def _is_pandas(source: object) -> bool:
    kind = type(source)
    return kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "DataFrame"


def as_polars(source: Any, *, where: str = "table") -> pl.DataFrame:
    """A table in memory as a polars DataFrame.

    >>> as_polars(pl.LazyFrame({"user": [1]})).shape
    (1, 1)
    """
    if isinstance(source, pl.DataFrame):
        return source
    try:
        if isinstance(source, pl.LazyFrame):
            return source.collect()
        if not _is_pandas(source):
            return pl.DataFrame(source)
    except FAILURES as error:
        found = str(error).strip().split("\n")[0]
        raise DataError("the table could not be read", where=where, found=found, do="check the table") from error
    return _from_pandas(source, where)


def _from_pandas(source: Any, where: str) -> pl.DataFrame:
    labels = [str(label) for label in source.columns]
    doubled = sorted(label for label, times in Counter(labels).items() if times > 1)
    if doubled:
        raise DataError(
            "two columns have the same name", where=where, found=", ".join(doubled), do="rename one of them"
        )
    return pl.DataFrame([_pandas_column(source.iloc[:, place], label, where) for place, label in enumerate(labels)])


def _pandas_column(column: Any, name: str, where: str) -> pl.Series:
    """One column: numbers through NumPy, categories through their codes, others through pyarrow."""
    dtype = column.dtype
    try:
        if str(dtype) == "category":
            categories = _pandas_column(column.cat.categories.to_series(), name, where)
            codes = pl.Series(column.cat.codes.to_numpy().astype("int64"))
            return categories.gather(codes.set(codes < 0, None)).alias(name)
        if dtype.kind == "O":
            column = _same_clock(column, name, where)
        if getattr(column.dtype, "tz", None) is not None:  # through NumPy, which keeps nanoseconds
            return pl.Series(name, column.dt.tz_convert(None).to_numpy()).dt.replace_time_zone("UTC")
        if column.dtype.kind in "iufbM" and type(column.dtype).__module__.startswith("numpy"):
            return pl.Series(name, column.to_numpy())
        return _objects(column, name)
    except DataError:
        raise
    except (*FAILURES, TypeError) as error:
        raise DataError(
            "a column mixes types",
            where=f"{where}, column {name}",
            found=f"{dtype}: " + str(error).strip().split("\n")[0],
            do="give the column one type, e.g. strings",
        ) from error


def _same_clock(column: Any, name: str, where: str) -> Any:
    """Objects that are datetimes as instants; some with a time zone and some without cannot be ordered."""
    import pandas as pd

    if pd.api.types.infer_dtype(column, skipna=True) not in ("datetime", "datetime64"):
        return column
    aware = {moment.tzinfo is not None for moment in column.dropna()}
    if len(aware) > 1:
        raise DataError(
            "some times have a time zone and others do not",
            where=f"{where}, column {name}",
            found="datetimes of both kinds",
            do="give every time a zone, or none",
        )
    return pd.to_datetime(column, utc=True if True in aware else None)


def _objects(column: Any, name: str) -> pl.Series:
    try:
        import pyarrow  # noqa: F401  polars needs it for this conversion

        return pl.Series(pl.from_pandas(column)).alias(name)
    except (ImportError, ValueError, TypeError):  # not installed, or it refuses the column
        missing = column.isna().to_numpy()
        values = column.to_numpy(dtype=object).copy()
        values[missing] = None
        return pl.Series(name, values.tolist(), strict=True)
