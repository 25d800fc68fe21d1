"""The description of a log as lines of text."""

from __future__ import annotations

from typing import Any

from trueval.data.popularity import learned
from trueval.render.numbers import percent


def described_lines(described: dict[str, Any]) -> list[tuple[str, str]]:
    """A description as pairs of a label and a text, for a table or plain text.

    >>> import polars as pl
    >>> from trueval.data.describe import describe
    >>> from trueval.data.interactions import Interactions
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
        ("duplicates", _describe_duplicates(d)),
        ("rows per user", _format_spread(d["per_user"])),
        ("rows per item", _format_spread(d["per_item"])),
        ("Gini of items", f"{d['item_gini']:.3f}{_gini_suffix(d)}"),
        ("top 10 % of items", f"{percent(d['top_10_percent_share'])} of {_share_unit(d)}"),
    ]
    lines += [*_value_lines(d["values"], d["rows"]), ("time", _format_time(d["time"]))]
    if d["other_columns"]:
        lines.append(("other columns", ", ".join(d["other_columns"])))
    lines += [(f"{role} table", _describe_side(d[f"{role}_table"], role)) for role in ("user", "item")]
    if d["missing"]:
        lines.append(("missing", _format_missing(d["missing"])))
    return lines


def _describe_duplicates(d: dict[str, Any]) -> str:
    if not d["duplicates"]:
        return "none"
    text = f"{d['duplicates']:,} rows repeat a user-item pair; pairs with several rows: {d['repeated_pairs']:,}, "
    return f"{text}{d['repeated_rows']:,} rows in all; {learned(d['values'] is not None)}"


def _gini_suffix(d: dict[str, Any]) -> str:
    """What popularity counts, where that makes a difference."""
    return f" of the {d['count']} per item" if d["duplicates"] else ""


def _share_unit(d: dict[str, Any]) -> str:
    return "user-item pairs" if d["duplicates"] and d["count"] == "users" else "rows"


def _format_spread(spread: dict[str, float]) -> str:
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


def _format_time(span: dict[str, Any] | None) -> str:
    if span is None:
        return "none"
    days = "" if span["days"] is None else f" ({span['days']:,.1f} days)"
    return f"{span['first']} to {span['last']}{days}, {span['distinct']:,} distinct"


def _describe_side(side: dict[str, Any] | None, role: str) -> str:
    if side is None:
        return "none"
    text = f"{side['rows']:,} {role}s"
    if side["columns"]:
        text += ": " + ", ".join(side["columns"])
    if "aspects" in side:
        text += f"; {side['aspects']} aspects"
    if side["not_in_table"]:
        text += f"; {side['not_in_table']:,} {role}s of the log are not in the table"
    if side["not_in_log"]:
        text += f"; {side['not_in_log']:,} are not in the log"
    return text + (f"; missing {_format_missing(side['missing'])}" if side["missing"] else "")


def _format_missing(missing: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in missing.items())
