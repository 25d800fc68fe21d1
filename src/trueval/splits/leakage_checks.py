"""The single checks of the leakage audit: each looks for one thing in one part, or in two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from trueval.data.interactions import ROLES
from trueval.data.times import ticks_per_second
from trueval.splits.parts import Parts
from trueval.splits.registry import split_of

Frames = Mapping[str, pl.DataFrame]
# The part learned from, and the part it is used on.
Pair = tuple[str, str]

_REMEDIES = {
    "user": "nothing can be personalised for them: report them separately, or drop them",
    "item": "systems without item features cannot rank them: report them separately, or drop them",
}


@dataclass(frozen=True)
class Check:
    """One check: how often the problem was found, among how many rows, and what it means."""

    name: str
    count: int | None
    total: int
    verdict: str
    meaning: str
    do: str = ""
    examples: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)

    @property
    def share(self) -> float | None:
        """Share of the rows (or users, or items) that were looked at."""
        return None if self.count is None else self.count / self.total if self.total else 0.0


def find_overlap(frames: Frames, pair: Pair, *, among: int) -> Check:
    """Users and items that are together in both parts, also where the values differ. `frames` have at least the rows
    of pairs that are there twice, and `among` is the number of all rows of the second part."""
    first, then = (frames[name] for name in pair)
    found = then.join(first.select("user", "item").unique(), on=["user", "item"], how="semi")
    meaning = f"{pair[1]} rows whose user and item are also in {pair[0]}"
    if "value" in first.columns and "value" in then.columns:
        other = len(
            found.join(first.select("user", "item", "value").unique(), on=["user", "item", "value"], how="anti")
        )
        meaning += f", {other:,} of them with a different value" if other else ""
    do = "keep one row per user and item, or judge with seen items allowed"
    return _check(_named("overlap", pair), found, among, "wrong", meaning, do)


def find_futures(frames: Frames, pair: Pair, how: Mapping[str, Any]) -> Iterator[Check]:
    """What the part learned from knows of the time after the beginning of the other."""
    first, then = (frames[name] for name in pair)
    made = split_of(how)
    strict, promised = (made.strict, made.promises(how)) if made else (False, ())
    later = "not earlier than" if strict else "later than"
    meanings = {
        "own_future": f"{pair[0]} rows {later} their user's first {pair[1]} row",
        "global_future": f"{pair[0]} rows {later} the earliest {pair[1]} row",
        "early_items": f"{pair[1]} rows older than the item's first row in {pair[0]}",
    }
    unknown = _why_unknown(first, then, pair)
    if unknown:
        for name, meaning in meanings.items():
            yield Check(_named(name, pair), None, 0, "unknown", f"{unknown[0]} ({meaning})", unknown[1])
        return
    found = _from_the_future(first, then, strict=strict)
    for name, rows in found.items():
        among = len(then) if name == "early_items" else len(first)
        verdict = "wrong" if name in promised else "caution"
        do = "systems learn from the future: split by time"
        yield _check(_named(name, pair), rows, among, verdict, meanings[name], do)


def _from_the_future(first: pl.DataFrame, then: pl.DataFrame, *, strict: bool) -> dict[str, pl.DataFrame]:
    kind = then.schema["time"]
    begun = then.group_by("user").agg(pl.col("time").min().alias("first_test"))
    born = first.group_by("item").agg(pl.col("time").min().alias("first_in_train"))
    cut = pl.lit(then["time"].min(), kind)

    def after(moment: pl.Expr) -> pl.Expr:
        return pl.col("time") >= moment if strict else pl.col("time") > moment

    return {
        "own_future": first.join(begun, on="user").filter(after(pl.col("first_test"))),
        "global_future": first.filter(after(cut)).with_columns(first_test=cut),
        "early_items": then.join(born, on="item").filter(pl.col("time") < pl.col("first_in_train")),
    }


def _why_unknown(first: pl.DataFrame, then: pl.DataFrame, pair: Pair) -> tuple[str, str] | None:
    """Why times cannot be compared, and what to do."""
    if "time" not in first.columns or "time" not in then.columns:
        return "unknown: no time column", "add times to check this"
    if _other_clocks(first["time"], then["time"]):
        return (
            f"unknown: {pair[0]} and {pair[1]} count time in different units",
            "write times in one unit to check this",
        )
    return None


def _other_clocks(*times: pl.Series) -> bool:
    """Whether tables from different places count seconds here and, say, microseconds there."""
    sizes = [float(np.abs(column.to_numpy()).max(initial=0)) for column in times]
    known = [size for size in sizes if size > 10**8]  # smaller numbers need not count from 1970
    return len(known) == len(sizes) and len({ticks_per_second(size) for size in known}) > 1


def find_duplicates(frames: Frames, *, among: int) -> Check:
    """Rows that say the same as another one, of the same part or of another. `frames` have at least the rows of pairs
    that are there twice, and `among` is the number of all rows."""
    columns = [role for role in ROLES if all(role in frame.columns for frame in frames.values())]
    rows = pl.concat(
        [frame.select(columns) for frame in frames.values()], how="vertical_relaxed"
    )  # 1 and 1.5 are times of two types
    alike = rows.filter(rows.is_duplicated()).group_by(columns).len("times")
    again = int(alike["times"].sum()) - len(alike)
    meaning = f"rows that repeat another row ({', '.join(columns)})"
    return _check("duplicates", alike, among, "caution", meaning, "drop repeated rows", count=again)


def find_repeats(frames: Frames, *, among: int) -> Check:
    """Rows that have user and item, but not all else, in common with another one of their part. `frames` have at least
    the rows of pairs that are there twice, and `among` is the number of all rows."""
    found, count = [], 0
    for name, frame in frames.items():
        again = frame.filter(frame.select("user", "item").is_duplicated())
        rows = again.select(role for role in ROLES if role in again.columns).unique()
        alike = rows.filter(rows.select("user", "item").is_duplicated()).group_by("user", "item").len("times")
        count += int(alike["times"].sum()) - len(alike)
        found.append(alike.with_columns(part=pl.lit(name)))
    meaning = "rows with the user and item of another row of the same part, but a different value or time"
    do = "each pair counts once, with the mean of its train values; keep one row per pair to use another value"
    return _check("repeats", pl.concat(found), among, "caution", meaning, do, count=count)


def find_cold(parts: Parts, frames: Frames, name: str) -> Iterator[Check]:
    """Users and items of a part without train rows, kept or dropped."""
    train, own = frames["train"], frames[name]
    suffix = "" if name == "test" else f"_{name}"
    for role, do in _REMEDIES.items():
        found = own.join(train.select(role).unique(), on=role, how="anti").group_by(role).len(f"{name}_rows")
        lost = parts.unseen_dropped(name, role)
        meaning = f"{role}s of {name} without train rows" + (f" ({lost:,} more were dropped)" if lost else "")
        yield _check(f"new_{role}s{suffix}", found, own[role].n_unique(), "caution", meaning, do)


def _named(check: str, pair: Pair) -> str:
    return check if pair == ("train", "test") else f"{check}_{pair[0]}_{pair[1]}"


def _check(
    name: str,
    found: pl.DataFrame,
    total: int,
    verdict: str,
    meaning: str,
    do: str,
    *,
    count: int | None = None,
) -> Check:
    number = len(found) if count is None else count
    order = [column for column in found.columns if column in (*ROLES, "part")]
    examples = found.bottom_k(5, by=order).sort(order)
    return Check(name, number, total, verdict if number else "ok", meaning, do if number else "", examples)
