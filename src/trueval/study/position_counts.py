"""How often each system was shown at each place: the balance of the plan as it was carried out."""

from __future__ import annotations

import polars as pl


def position_counts(shown: pl.DataFrame, people: pl.DataFrame | None = None) -> pl.DataFrame:
    """A row for each system, a column for each place; planted lists are left out.

    >>> shown = pl.DataFrame({"participant": "p", "system": ["x", "y"], "position": [1, 2], "check": None})
    >>> position_counts(shown).rows()
    [('x', 1, 0), ('y', 0, 1)]
    """
    kept = shown.filter(pl.col("check").is_null())
    kept = kept if people is None else kept.join(people, on="participant", how="semi")
    if not len(kept):
        return pl.DataFrame({"system": []}, schema={"system": pl.String})
    counts = kept.group_by("system", "position").len()
    return counts.pivot("position", index="system", values="len", sort_columns=True).sort("system").fill_null(0)
