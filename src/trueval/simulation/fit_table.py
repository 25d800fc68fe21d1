"""How well a world fits a log: the same properties of both, and distances of their distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trueval.data.exported_tables import Tabular
from trueval.data.interactions import Interactions
from trueval.render.numbers import decimal
from trueval.render.shown import Shown
from trueval.render.terminal import plain_table, printed
from trueval.simulation.log_shape import MOVES, ks_distance, shape_of

if TYPE_CHECKING:
    from trueval.simulation.system_check import SystemCheck

_SPECTRUM = (
    "Share of the top ten singular values: how much of what people meet together, beyond popularity and activity,\n"
    "lies in ten dimensions. It is what systems that personalise learn from."
)
_MOVES = (
    "Popularity that moves between halves (eighths) of the time: the share of rows that would have to be of other\n"
    "items for one half (eighth) to be as the next, less what differs by chance. 0: popularity stays."
)


@dataclass(frozen=True)
class FitTable(Tabular, Shown):
    """Properties of a log beside those of the world that was fitted to it.

    >>> log = Interactions.of(pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1]}))
    >>> compare_logs(log, log).table()["world"][:3].to_list()
    [3.0, 2.0, 2.0]
    """

    rows: tuple[tuple[str, float | None, float | None], ...]
    distances: tuple[tuple[str, float], ...]
    systems: SystemCheck | None = None  # the same systems in both, where this was asked for

    def table(self) -> pl.DataFrame:
        """One row per property: its value in the log and in the world, and their difference."""
        rows = [*self.rows, *(() if self.systems is None else self.systems.rows())]
        frame = pl.DataFrame(
            rows, schema={"property": pl.String, "data": pl.Float64, "world": pl.Float64}, orient="row"
        )
        found = frame.with_columns(difference=pl.col("world") - pl.col("data"))
        more = [(name, 0.0, distance, distance) for name, distance in self.distances]
        return pl.concat([found, pl.DataFrame(more, schema=found.schema, orient="row")]) if more else found

    def __str__(self) -> str:
        lines = [[name, fit_number(data), fit_number(world)] for name, data, world in self.rows]
        head = printed(plain_table(["property", "data", "world"], lines, align="lrr"))
        far = [[name, f"{distance:.3f}"] for name, distance in self.distances]
        told = printed(plain_table(["distance (0: the same, 1: nothing in common)", ""], far, align="lr"))
        moves = any(name in MOVES and data is not None for name, data, _ in self.rows)
        notes = f"\n{_SPECTRUM}\n" + (f"\n{_MOVES}\n" if moves else "")
        return f"{head}\n{told}{notes}" + ("" if self.systems is None else f"\n{self.systems}")


def compare_logs(data: Interactions, world: Interactions) -> FitTable:
    """Properties of two logs side by side."""
    one, other = shape_of(data), shape_of(world)
    rows = tuple((name, value, other.get(name)) for name, value in one.items())
    distances = [
        (f"ratings per {role} (Kolmogorov–Smirnov)", ks_distance(_counts(data, role), _counts(world, role)))
        for role in ("item", "user")
    ]
    if data.has("value") and world.has("value"):
        distances.append(("rating values (total variation)", _varied(data, world)))
    if data.has("time") and world.has("time"):
        times = (log.frame["time"].to_numpy() for log in (data, world))
        distances.append(("times (Kolmogorov–Smirnov)", ks_distance(*times)))
    return FitTable(rows, tuple(distances))


def _counts(log: Interactions, role: str) -> np.ndarray:
    return log.frame.unique(["user", "item"]).group_by(role).len()["len"].to_numpy()


def _varied(one: Interactions, other: Interactions) -> float:
    shares = [log.frame.group_by("value").agg(p=pl.len() / len(log)) for log in (one, other)]
    both = shares[0].join(shares[1], on="value", how="full", coalesce=True).fill_null(0.0)
    return float((both["p"] - both["p_right"]).abs().sum() / 2)


def fit_number(value: float | None) -> str:
    """A number of the table as people read it.

    >>> fit_number(1234.0), fit_number(None)
    ('1,234', '–')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if value == round(value) and abs(value) >= 1 else decimal(value)
