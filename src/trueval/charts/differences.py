"""Differences from a baseline with their intervals: the forest plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from trueval.charts.altair import BAD, CALM, GOOD, INK, WIDTH, altair
from trueval.charts.chart import Chart
from trueval.comparison.comparison import Comparison
from trueval.render.marks import verdict_text
from trueval.render.numbers import level_percent

_COLOURS = {"better": GOOD, "worse": BAD, "different": INK, "no significant difference": CALM}
_SHAPES = {
    "better": "triangle-right",
    "worse": "triangle-left",
    "different": "diamond",
    "no significant difference": "circle",
}


def differences_chart(comparisons: Sequence[Comparison]) -> Chart:
    """Each system minus the baseline, metric by metric, with the interval and the verdict.

    >>> import trueval as tv
    >>> test = pl.DataFrame({"user": range(8), "item": range(8)})
    >>> runs = {name: test.with_columns(item=pl.col("item") // n, rank=1) for name, n in (("a", 1), ("b", 2))}
    >>> chart = differences_chart(tv.evaluate_run(runs, test, metrics="hit@1", interval="t").compare("b"))
    >>> chart.title, chart.data.select("system", "difference", "verdict").rows()
    ('Differences from b', [('a', 0.875, 'better')])
    """
    rows = [
        {"metric": c.metric, "system": c.system, "difference": c.difference, "low": c.low, "high": c.high,
         "p": c.p_corrected, "verdict": verdict_text(c.verdict)}
        for c in comparisons
    ]  # fmt: skip
    data = pl.DataFrame(rows).with_columns(pl.col("difference", "low", "high").fill_nan(None))
    baseline, level = comparisons[0].baseline, level_percent(comparisons[0].level)
    return Chart("differences", f"Differences from {baseline}", _description(data, level), data, _draw)


def _description(data: pl.DataFrame, level: str) -> str:
    counts = [(name, int((data["verdict"] == name).sum())) for name in _COLOURS]
    parts = [f"{n} {name}" for name, n in counts if n]
    return (
        f"Of {len(data)} comparisons: {', '.join(parts)}. Lines are {level} confidence intervals; an interval that "
        "crosses the dashed line at 0 leaves open which is better."
    )


def _draw(data: pl.DataFrame) -> Any:
    alt = altair()
    present = [name for name in _COLOURS if name in set(data["verdict"])]
    metrics, systems = (data[name].unique(maintain_order=True).to_list() for name in ("metric", "system"))
    scale = alt.Scale(domain=present, range=[_COLOURS[name] for name in present])
    shapes = alt.Scale(domain=present, range=[_SHAPES[name] for name in present])
    colour = alt.Color("verdict:N", scale=scale, title=None)
    base = alt.Chart(data).encode(y=alt.Y("system:N", title=None, sort=systems))
    x = alt.X("low:Q", title="difference", axis=alt.Axis(tickCount=5, format="~g"), scale=alt.Scale(zero=True))
    lines = base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", color=colour)
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x="difference:Q", color=colour, shape=alt.Shape("verdict:N", scale=shapes, title=None)
    )
    zero = alt.Chart(data).mark_rule(strokeDash=[4, 3], color=INK).encode(x=alt.datum(0))
    row = alt.Row("metric:N", sort=metrics, title=None, header=alt.Header(labelOrient="top", labelAnchor="start"))
    made = alt.layer(zero, lines, points).properties(width=WIDTH, height=alt.Step(22))
    return made.facet(row=row, spacing=8).resolve_scale(x="independent")
