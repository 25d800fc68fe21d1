"""Effects of an A/B test: what each arm changes, metric by metric, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from trueval.charts.altair import altair
from trueval.charts.chart import Chart
from trueval.charts.forest import COLOURS, draw_forest
from trueval.charts.series import in_order, listed
from trueval.online.ab.comparisons import Compared
from trueval.online.ab.result import AbTest
from trueval.render.marks import verdict_text
from trueval.render.numbers import level_percent, number, percent

_NAMED = 3  # arms in a title


def ab_effects_chart(test: AbTest) -> Chart:
    """Each arm minus the control on each metric: relative to the control where that is defined, else absolute.

    >>> import trueval as tv
    >>> table = pl.DataFrame({"arm": ["a", "b"] * 200, "bought": [0, 1, 1, 1, 0, 0, 0, 1] * 50})
    >>> chart = ab_effects_chart(tv.ab_test(table, arm="arm", metrics="bought"))
    >>> chart.data.select("metric", "arm", "scale", "value", "verdict").rows()
    [('bought', 'b', 'relative', 2.0, 'higher')]
    """
    data = effect_rows(test.comparisons)
    others = test.arms[1:]
    those = ", ".join(others) if len(others) <= _NAMED else f"{len(others)} arms"
    title = f"Effects of {those} against {test.arms[0]}"
    return Chart("ab_effects", title, effects_description(data, test), data, _draw)


def effect_rows(compared: Sequence[Compared]) -> pl.DataFrame:
    """A row per comparison; all rows of a metric are on one scale, relative where every one of them is defined so."""
    relative = {
        metric: all(math.isfinite(c.relative) and math.isfinite(c.relative_low) for c in compared if c.metric == metric)
        for metric in {c.metric for c in compared}
    }
    rows = []
    for c in compared:
        ends = (c.relative, c.relative_low, c.relative_high) if relative[c.metric] else (c.difference, c.low, c.high)
        row: dict[str, Any] = {
            "metric": c.metric,
            "arm": c.arm,
            "scale": "relative" if relative[c.metric] else "absolute",
        }
        row |= {"segment": c.segment, "group": c.group} if c.segment else {}
        row |= dict(zip(("value", "low", "high"), ends))
        rows.append(row | {"p": c.p_corrected, "n": c.n, "verdict": verdict_text(c.verdict)})
    floats = ("value", "low", "high", "p")
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col(*floats).cast(pl.Float64).fill_nan(None))


def effects_description(data: pl.DataFrame, test: AbTest) -> str:
    """How many comparisons have which verdict, the effects, and what the lines are."""
    counts = [(name, int((data["verdict"] == name).sum())) for name in COLOURS]
    found = ", ".join(f"{n} {name}" for name, n in counts if n)
    effects = [
        f"{row['metric']} {' '.join(part for part in (row.get('group', ''), row['arm']) if part)} {_amount(row)}"
        for row in data.iter_rows(named=True)
    ]
    valid = ", always valid" if test.manifest["sequential"] else ""
    lines = f"Lines are {level_percent(test.manifest['level'])} confidence intervals{valid}, not corrected"
    return f"Of {len(data)} comparisons: {found}. {listed(effects)}. {lines}; verdicts are, for their number."


def _amount(row: dict[str, Any]) -> str:
    value = row["value"]
    if value is None:
        return "undefined"
    return percent(value, sign=True).replace("-", "−") if row["scale"] == "relative" else number(value, sign=True)


def _draw(data: pl.DataFrame) -> Any:
    """Relative effects share one axis; absolute ones have an axis for each metric, which has its own unit."""
    alt = altair()
    several = data["arm"].n_unique() > 1
    relative = data.filter(pl.col("scale") == "relative")
    absolute = data.filter(pl.col("scale") == "absolute")
    made = []
    extent = 7 * max(len(" · ".join(pair) if several else pair[0]) for pair in data.select("metric", "arm").iter_rows())
    if len(relative):
        row = pl.format("{} · {}", "metric", "arm") if several else pl.col("metric")
        made.append(
            draw_forest(
                relative.with_columns(row=row), row="row", title="relative to the control", form="+~%", extent=extent
            )
        )
    if len(absolute):
        made += [
            draw_forest(
                absolute.filter(pl.col("metric") == metric), row="arm" if several else "metric",
                title=f"{metric}: difference from the control", extent=extent,
            )
            for metric in in_order(absolute, "metric")
        ]  # fmt: skip
    return made[0] if len(made) == 1 else alt.vconcat(*made, spacing=14)
