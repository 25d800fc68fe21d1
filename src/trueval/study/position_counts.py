"""How often each system was shown at each place: the balance of the plan as it was carried out."""

from __future__ import annotations

import polars as pl


def position_counts(shown: pl.DataFrame, people: pl.DataFrame | None = None) -> pl.DataFrame:
    """A row for each system, a column for each place, also where nobody saw a system; planted lists are left out.

    >>> shown = pl.DataFrame({"participant": "p", "system": ["x", "y"], "position": [1, 3], "check": None})
    >>> position_counts(shown).rows()
    [('x', 1, 0, 0), ('y', 0, 0, 1)]
    """
    kept = shown.filter(pl.col("check").is_null())
    kept = kept if people is None else kept.join(people, on="participant", how="semi")
    if not len(kept):
        return pl.DataFrame({"system": []}, schema={"system": pl.String})
    places = range(1, int(shown.select(pl.col("position").max()).item()) + 1)
    return (
        kept.group_by("system")
        .agg((pl.col("position") == place).sum().cast(pl.UInt32).alias(str(place)) for place in places)
        .sort("system")
    )
