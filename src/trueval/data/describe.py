"""A log in numbers: size, sparsity, values, time, duplicates, popularity, what is missing."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from trueval.data.interactions import Interactions
from trueval.data.popularity import chosen, repeated_pairs
from trueval.statistics.inequality import gini_index

_MOST_DISTINCT, _BINS = 12, 10
# Times are numbers; which unit since 1970 they count is read off their size.
_UNITS = (
    (1e8, 1e11, "s", 1),
    (1e11, 1e14, "ms", 10**3),
    (1e14, 1e17, "us", 10**6),
    (1e17, 1e20, "ns", 10**9),
)


def describe(log: Interactions) -> dict[str, Any]:
    """Describe a log as plain numbers and text (ready for JSON).

    >>> log = Interactions.of(pl.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "a"]}))
    >>> numbers = describe(log)
    >>> numbers["users"], numbers["items"], numbers["density"], numbers["values"]
    (2, 2, 0.75, None)
    """
    frame = log.frame
    pairs = frame.select("user", "item").n_unique()
    per_user, per_item = (_counts(frame, role) for role in ("user", "item"))
    popularity = _counts(chosen(frame, log.count), "item")
    several, among = repeated_pairs(frame)
    return {
        "name": log.name,
        "rows": len(frame),
        "users": len(per_user),
        "items": len(per_item),
        "density": pairs / (len(per_user) * len(per_item)),
        "values": _values(frame["value"]) if log.has("value") else None,
        "time": _span(frame["time"]) if log.has("time") else None,
        "duplicates": len(frame) - pairs,
        "repeated_pairs": several,
        "repeated_rows": among,
        "count": log.count,
        "per_user": _spread(per_user),
        "per_item": _spread(per_item),
        "item_gini": gini_index(popularity),
        "top_10_percent_share": _head_share(popularity),
        "other_columns": [name for name in frame.columns if name not in ("user", "item", "value", "time")],
        "user_table": _side(log.users, frame, "user"),
        "item_table": _side(log.items, frame, "item"),
        "missing": _missing(frame),
    }


def _counts(frame: pl.DataFrame, role: str) -> np.ndarray:
    return np.sort(frame[role].value_counts(name="rows")["rows"].to_numpy())


def _spread(counts: np.ndarray) -> dict[str, float]:
    return {
        "min": int(counts[0]),
        "median": float(np.median(counts)),
        "max": int(counts[-1]),
        "mean": float(counts.mean()),
    }


def _head_share(counts: np.ndarray) -> float:
    head = math.ceil(len(counts) / 10)
    return float(counts[-head:].sum() / counts.sum())


def _values(values: pl.Series) -> dict[str, Any]:
    numbers = values.to_numpy()
    distinct, counts = np.unique(numbers, return_counts=True)
    if len(distinct) <= _MOST_DISTINCT:
        histogram = [{"low": float(v), "high": float(v), "rows": int(n)} for v, n in zip(distinct, counts)]
    else:
        edges = _edges(numbers)
        rows, _ = np.histogram(numbers, edges)
        histogram = [{"low": float(a), "high": float(b), "rows": int(n)} for a, b, n in zip(edges, edges[1:], rows)]
    return {
        "min": float(numbers.min()),
        "median": float(np.median(numbers)),
        "mean": float(numbers.mean()),
        "max": float(numbers.max()),
        "distinct": len(distinct),
        "histogram": histogram,
    }


def _edges(numbers: np.ndarray) -> np.ndarray:
    """Equal bins, or powers of ten where a few large values would leave all others in the first bin."""
    low, high = float(numbers.min()), float(numbers.max())
    if low > 0 and high > 50 * float(np.median(numbers)):
        return 10.0 ** np.arange(math.floor(math.log10(low)), math.floor(math.log10(high)) + 2)
    return np.linspace(low, high, _BINS + 1)


def _span(times: pl.Series) -> dict[str, Any]:
    first, last = (bound.item() for bound in (times.to_numpy().min(), times.to_numpy().max()))
    for low, high, unit, per_second in _UNITS:
        if low <= last < high and first >= 0:
            dates = [datetime.fromtimestamp(t // per_second, UTC).isoformat(sep=" ")[:19] for t in (first, last)]
            days = (last - first) / per_second / 86400
            return {
                "first": dates[0],
                "last": dates[1],
                "days": days,
                "unit": unit,
                "distinct": times.n_unique(),
            }
    return {"first": first, "last": last, "days": None, "unit": None, "distinct": times.n_unique()}


def _side(table: pl.DataFrame | None, frame: pl.DataFrame, role: str) -> dict[str, Any] | None:
    """A side table: its columns, how many ids of the log it lacks, and how many of its ids the log lacks."""
    if table is None:
        return None
    ids = frame.select(role).unique()
    same_kind = table.schema[role] == frame.schema[role]
    shared = len(ids.join(table, on=role, how="semi")) if same_kind else 0
    described: dict[str, Any] = {
        "rows": len(table),
        "columns": [name for name in table.columns if name != role],
        "not_in_table": len(ids) - shared,
        "not_in_log": len(table) - shared,
        "missing": _missing(table),
    }
    if "aspects" in table.columns:
        described["aspects"] = table["aspects"].explode().drop_nulls().n_unique()
    return described


def _missing(table: pl.DataFrame) -> dict[str, int]:
    return {column.name: column.null_count() for column in table if column.null_count()}
