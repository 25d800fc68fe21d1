"""Who took part: finished, left and where, and how long they looked."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl


@dataclass(frozen=True, slots=True)
class Attendance:
    """How many started, finished and left, at which page they left, and seconds (median and quartiles over people)."""

    answered: int  # participants with an answer
    started: int | None = None  # None where the table of participants is not given
    finished: int | None = None
    left_at: dict[str, int] = field(default_factory=dict)
    seconds: tuple[float, float, float] | None = None  # on all lists together: quartiles and, in the middle, median
    by_position: dict[int, float] = field(default_factory=dict)  # median seconds on the list at each position

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def attendance(tables: dict[str, pl.DataFrame], answered: int) -> Attendance:
    """Count them; what tables do not tell is left out."""
    started = finished = None
    left_at: dict[str, int] = {}
    if "participants" in tables:
        people = tables["participants"]
        started = len(people)
        if "finished" in people.columns:
            gone = people.filter(pl.col("finished").is_null())
            finished = started - len(gone)
            if "last_page" in gone.columns:
                counts = gone.group_by(pl.col("last_page").fill_null("unknown")).len().sort("len", "last_page")
                left_at = dict(counts.reverse().iter_rows())
    seconds, by_position = _time(tables.get("shown"))
    return Attendance(answered, started, finished, left_at, seconds, by_position)


def _time(shown: pl.DataFrame | None) -> tuple[tuple[float, float, float] | None, dict[int, float]]:
    if shown is None or "seconds" not in shown.columns or not (known := shown.drop_nulls("seconds")).height:
        return None, {}
    total = known.group_by("participant").agg(pl.col("seconds").sum())["seconds"]
    quartiles = tuple(float(total.quantile(q, "linear") or 0.0) for q in (0.25, 0.5, 0.75))
    if "position" not in known.columns:
        return (quartiles[0], quartiles[1], quartiles[2]), {}
    places = known.group_by("position").agg(pl.col("seconds").median()).sort("position")
    return (quartiles[0], quartiles[1], quartiles[2]), dict(places.iter_rows())
