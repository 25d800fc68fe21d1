"""What the train part knows that it should not: one table, one verdict, rows to look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from trueval.data.interactions import ROLES
from trueval.data.times import ticks_per_second
from trueval.splits.parts import Parts

_SEVERITY = ("ok", "unknown", "caution", "wrong")
# Splits that promise no future leak, and which of the checks they promise.
_PROMISED = {
    "temporal": ("own_future", "global_future", "early_items"),
    "rolling": ("own_future", "global_future", "early_items"),
    "user_temporal": ("own_future",),
}
_NO_TIME = "unknown: no time column"
_TWO_CLOCKS = "unknown: train and test count time in different units"


@dataclass(frozen=True)
class Check:
    """One thing looked for: how often it was found among how many, and what that means."""

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


@dataclass(frozen=True)
class Leakage:
    """All checks of one split; `verdict` is that of the worst, what cannot be known counting as caution."""

    checks: tuple[Check, ...]

    @property
    def verdict(self) -> str:
        """ok, caution or wrong."""
        worst = max((check.verdict for check in self.checks), key=_SEVERITY.index)
        return "caution" if worst == "unknown" else worst

    def __getitem__(self, name: str) -> Check:
        return next(check for check in self.checks if check.name == name)

    def table(self) -> pl.DataFrame:
        """One row per check: check, count, share, verdict, meaning, do."""
        columns = ("count", "share", "verdict", "meaning", "do")
        rows = [(check.name, *(getattr(check, column) for column in columns)) for check in self.checks]
        kinds = (pl.String, pl.Int64, pl.Float64, pl.String, pl.String, pl.String)
        return pl.DataFrame(rows, schema=dict(zip(("check", *columns), kinds)), orient="row")

    def as_dict(self) -> dict[str, Any]:
        """The verdicts and counts, without examples, for a manifest."""
        checks = {c.name: {"count": c.count, "share": c.share, "verdict": c.verdict} for c in self.checks}
        return {"verdict": self.verdict, "checks": checks}

    def __str__(self) -> str:
        lines = [f"leakage: {self.verdict}"]
        for check in self.checks:
            count = "-" if check.count is None else f"{check.count:,}"
            share = "-" if check.share is None else f"{check.share:.2%}"
            lines.append(f"  {check.verdict:<8} {check.name:<13} {count:>10} {share:>8}  {check.meaning}")
            if check.do:
                lines.append(f"{'':<45}-> {check.do}")
        return "\n".join(lines)


def leakage(parts: Parts) -> Leakage:
    """Look for what should not be there: shared pairs, the future, duplicates, ids without history.

    Under a split that promises to respect time (`temporal`, `rolling`, and `user_temporal` for each user's
    own history) a train event from the future is wrong; under any other it is a reason for caution.

    >>> from trueval.data.interactions import Interactions
    >>> log = pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], "time": [1, 2, 3]})
    >>> train, test = Interactions.of(log), Interactions.of(log.filter(pl.col("time") == 2))
    >>> found = leakage(Parts(train, test))
    >>> found.verdict, found["overlap"].count, found["global_future"].count
    ('wrong', 1, 1)
    """
    return Leakage((*_overlaps(parts), *_futures(parts), _duplicates(parts), *_only_in_test(parts)))


def _overlaps(parts: Parts) -> Iterator[Check]:
    others = {"overlap": ("train", parts.train), "held_overlap": ("validation", parts.validation)}
    for name, (role, other) in others.items():
        if other is None:
            continue
        test = parts.test.frame
        found = test.join(other.frame.select("user", "item").unique(), on=["user", "item"], how="semi")
        yield _check(
            name,
            found,
            len(test),
            "wrong",
            f"test rows whose user and item are also in {role}",
            "keep one row per user and item, or judge with seen items allowed",
        )


def _futures(parts: Parts) -> Iterator[Check]:
    train, test = parts.train.frame, parts.test.frame
    meanings = {
        "own_future": "train rows later than their user's first test row",
        "global_future": "train rows later than the first test row of all",
        "early_items": "test rows older than the item's first row in train",
    }
    if "time" not in train.columns or "time" not in test.columns:
        for name, meaning in meanings.items():
            yield Check(name, None, 0, "unknown", f"{_NO_TIME} ({meaning})", "add times to see")
        return
    if _other_clocks(train["time"], test["time"]):
        for name, meaning in meanings.items():
            yield Check(name, None, 0, "unknown", f"{_TWO_CLOCKS} ({meaning})", "write times in one unit to see")
        return
    first = test.group_by("user").agg(pl.col("time").min().alias("first_test"))
    born = train.group_by("item").agg(pl.col("time").min().alias("first_in_train"))
    cut = test["time"].min()
    found = {
        "own_future": train.join(first, on="user").filter(pl.col("time") > pl.col("first_test")),
        "global_future": train.filter(pl.col("time") > cut).with_columns(first_test=pl.lit(cut, test.schema["time"])),
        "early_items": test.join(born, on="item").filter(pl.col("time") < pl.col("first_in_train")),
    }
    promised = _PROMISED.get(str(parts.how.get("how")), ())
    for name, rows in found.items():
        among = len(test) if name == "early_items" else len(train)
        verdict = "wrong" if name in promised else "caution"
        yield _check(name, rows, among, verdict, meanings[name], "systems learn from the future: split by time")


def _other_clocks(*times: pl.Series) -> bool:
    """Whether tables from different places count seconds here and, say, microseconds there."""
    sizes = [float(np.abs(column.to_numpy()).max()) for column in times]
    known = [size for size in sizes if size > 10**8]  # smaller numbers need not count from 1970
    return len(known) == len(sizes) and len({ticks_per_second(size) for size in known}) > 1


def _duplicates(parts: Parts) -> Check:
    frames = [part.frame for part in (parts.train, parts.validation, parts.test) if part is not None]
    columns = [role for role in ROLES if all(role in frame.columns for frame in frames)]
    rows = pl.concat(
        [frame.select(columns) for frame in frames], how="vertical_relaxed"
    )  # 1 and 1.5 are times of two types
    alike = rows.filter(rows.is_duplicated()).group_by(columns).len("times")
    repeats = int(alike["times"].sum()) - len(alike)
    meaning = f"rows that repeat another one ({', '.join(columns)})"
    return _check("duplicates", alike, len(rows), "caution", meaning, "drop repeated rows", count=repeats)


def _only_in_test(parts: Parts) -> Iterator[Check]:
    train, test = parts.train.frame, parts.test.frame
    remedies = {
        "user": "nothing can be personal for them: report them apart, or drop them",
        "item": "systems without item features cannot rank them: report them apart, or drop them",
    }
    for role, do in remedies.items():
        found = test.join(train.select(role).unique(), on=role, how="anti").group_by(role).len("test_rows")
        yield _check(f"new_{role}s", found, test[role].n_unique(), "caution", f"{role}s of test without train rows", do)


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
    order = [column for column in found.columns if column in ROLES]
    examples = found.bottom_k(5, by=order).sort(order)
    return Check(name, number, total, verdict if number else "ok", meaning, do if number else "", examples)
