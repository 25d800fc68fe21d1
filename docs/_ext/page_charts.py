"""Pictures on pages: charts of results as they are, and points in rows for numbers that no record holds.

Both are drawn by trueval, in the colours of the page. A page asks for one with a block `{chart}` (`page_examples.py`).
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import replace
from typing import Any


def dots(title: str, rows: Mapping[str, Mapping[str, float]], *, says: str, x: str) -> Any:
    """A row of points for each name, told apart by colour and shape; `says` is the sentence below."""
    import polars as pl

    from trueval.charts.chart import Chart

    data = pl.DataFrame(
        [(row, series, float(value)) for row, points in rows.items() for series, value in points.items()],
        ["row", "series", x],
        orient="row",
    )
    return Chart("dots", title, says, data, lambda frame: _draw(frame, x))


def _draw(data: Any, x: str) -> Any:
    from trueval.charts.altair import GRID, WIDTH, altair
    from trueval.charts.series import in_order, series_of, span

    alt = altair()
    values = data.rename({x: "value"})
    look = series_of(in_order(values, "series"), field="series")
    scale = alt.Scale(domain=span(values["value"], also=[0.0]), nice=False)
    axis = alt.X("value:Q", title=x, scale=scale, axis=alt.Axis(format="~g", tickCount=6, grid=True))
    base = alt.Chart(values).encode(y=alt.Y("row:N", title=None, sort=in_order(values, "row")))
    lines = base.mark_rule(strokeWidth=2, color=GRID).encode(x=alt.X("min(value):Q", title=x), x2="max(value):Q")
    points = base.mark_point(filled=True, size=90, opacity=1).encode(x=axis, color=look.colour, shape=look.shape)
    return alt.layer(lines, points).properties(width=WIDTH, height=alt.Step(30))


def figure(chart: Any, number: int) -> str:
    """A chart as a block of a page; `number` keeps apart the ids of several charts on one page."""
    svg = replace(chart, name=f"{chart.name}-{number}").to_svg(page=True)
    return (
        f'```{{raw}} html\n<figure class="chart"><p class="chart-title">{html.escape(chart.title)}</p>'
        f'<div class="chart-scroll" tabindex="0" role="group" aria-label="{html.escape(chart.title)}">{svg}</div>'
        f"<figcaption>{html.escape(chart.description)}</figcaption></figure>\n```\n"
    )
