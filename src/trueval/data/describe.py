"""A log in numbers: size, sparsity, values, time, duplicates, popularity, what is missing."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from trueval.data.interactions import Interactions
from trueval.data.popularity import chosen, learned, repeated_pairs

_MOST_DISTINCT, _BINS = 12, 10
# Times are numbers; which unit since 1970 they count is read off their size.
_UNITS = (
    (1e8, 1e11, "s", 1),
    (1e11, 1e14, "ms", 10**3),
    (1e14, 1e17, "us", 10**6),
    (1e17, 1e20, "ns", 10**9),
)


def describe(log: Interactions) -> dict[str, Any]:
    """Describe a log as plain numbers and words (ready for JSON).

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
        "item_gini": gini(popularity),
        "top_10_percent_share": _head_share(popularity),
        "other_columns": [name for name in frame.columns if name not in ("user", "item", "value", "time")],
        "user_table": _side(log.users, frame, "user"),
        "item_table": _side(log.items, frame, "item"),
        "missing": _missing(frame),
    }


def gini(counts: np.ndarray) -> float:
    """Inequality of counts: 0 when all are equal, towards 1 when one has everything.

    >>> round(gini(np.array([8, 2, 0, 0, 0])), 2)
    0.72
    """
    ordered = np.sort(counts).astype(float)
    n, total = len(ordered), ordered.sum()
    if not total:
        return 0.0
    places = np.arange(1, n + 1)
    return float(((2 * places - n - 1) * ordered).sum() / (n * total))


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
            words = [datetime.fromtimestamp(t // per_second, UTC).isoformat(sep=" ")[:19] for t in (first, last)]
            days = (last - first) / per_second / 86400
            return {
                "first": words[0],
                "last": words[1],
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


def described_lines(described: dict[str, Any]) -> list[tuple[str, str]]:
    """A description as pairs of a label and words, for a table or plain text.

    >>> log = Interactions.of(pl.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "a"]}))
    >>> described_lines(describe(log))[1:4]
    [('users', '2'), ('items', '2'), ('density', '75 %')]
    """
    d = described
    lines = [
        ("rows", f"{d['rows']:,}"),
        ("users", f"{d['users']:,}"),
        ("items", f"{d['items']:,}"),
        ("density", f"{100 * d['density']:.3g} %"),
        ("duplicates", _duplicate_words(d)),
        ("rows per user", _spread_words(d["per_user"])),
        ("rows per item", _spread_words(d["per_item"])),
        ("Gini of items", f"{d['item_gini']:.3f}{_counted_words(d)}"),
        ("top 10 % of items", f"{100 * d['top_10_percent_share']:.1f} % of {_shared_words(d)}"),
    ]
    lines += [*_value_lines(d["values"], d["rows"]), ("time", _time_words(d["time"]))]
    if d["other_columns"]:
        lines.append(("other columns", ", ".join(d["other_columns"])))
    lines += [(f"{role} table", _side_words(d[f"{role}_table"], role)) for role in ("user", "item")]
    if d["missing"]:
        lines.append(("missing", _missing_words(d["missing"])))
    return lines


def _duplicate_words(d: dict[str, Any]) -> str:
    if not d["duplicates"]:
        return "none"
    words = f"{d['duplicates']:,} rows repeat a user-item pair; pairs with several rows: {d['repeated_pairs']:,}, "
    return f"{words}{d['repeated_rows']:,} rows in all; {learned(d['values'] is not None)}"


def _counted_words(d: dict[str, Any]) -> str:
    """What popularity counts, where that makes a difference."""
    return f" of the {d['count']} per item" if d["duplicates"] else ""


def _shared_words(d: dict[str, Any]) -> str:
    return "user-item pairs" if d["duplicates"] and d["count"] == "users" else "rows"


def _spread_words(spread: dict[str, float]) -> str:
    return f"{spread['min']:,} to {spread['max']:,}, median {spread['median']:,.6g}, mean {spread['mean']:,.4g}"


def _value_lines(values: dict[str, Any] | None, rows: int) -> list[tuple[str, str]]:
    if values is None:
        return [("values", "none (implicit feedback)")]
    span = f"{values['min']:g} to {values['max']:g}, median {values['median']:g}, mean {values['mean']:.4g}"
    lines = [("values", f"{span}, {values['distinct']:,} distinct")]
    for bar in values["histogram"]:
        label = f"{bar['low']:g}" if bar["low"] == bar["high"] else f"{bar['low']:g} to {bar['high']:g}"
        share = bar["rows"] / rows
        lines.append((f"  {label}", f"{bar['rows']:>12,} {100 * share:5.1f} % {'█' * round(40 * share)}".rstrip()))
    return lines


def _time_words(span: dict[str, Any] | None) -> str:
    if span is None:
        return "none"
    days = "" if span["days"] is None else f" ({span['days']:,.1f} days)"
    return f"{span['first']} to {span['last']}{days}, {span['distinct']:,} distinct"


def _side_words(side: dict[str, Any] | None, role: str) -> str:
    if side is None:
        return "none"
    words = f"{side['rows']:,} {role}s"
    if side["columns"]:
        words += ": " + ", ".join(side["columns"])
    if "aspects" in side:
        words += f"; {side['aspects']} aspects"
    if side["not_in_table"]:
        words += f"; {side['not_in_table']:,} of the log are not in it"
    if side["not_in_log"]:
        words += f"; {side['not_in_log']:,} are not in the log"
    return words + (f"; missing {_missing_words(side['missing'])}" if side["missing"] else "")


def _missing_words(missing: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in missing.items())
