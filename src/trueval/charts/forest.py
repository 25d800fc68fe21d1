"""Estimates with intervals, one below the other: rows of names, a point and a line each."""

from __future__ import annotations

from typing import Any

import polars as pl

from trueval.charts.altair import BAD, CALM, GOOD, INK, WIDTH, altair
from trueval.charts.series import in_order

COLOURS = {
    "better": GOOD, "worse": BAD, "different": INK, "higher": GOOD, "lower": BAD, "no verdict": CALM,
    "no significant difference": CALM, "cannot tell": CALM,
}  # fmt: skip
SHAPES = {
    "better": "triangle-right", "worse": "triangle-left", "different": "diamond", "higher": "triangle-right",
    "lower": "triangle-left", "no verdict": "square", "no significant difference": "circle", "cannot tell": "square",
}  # fmt: skip


def draw_forest(
    data: pl.DataFrame, *, row: str, panel: str | None = None, title: str = "difference", form: str = "~g",
    extent: float = 0,
) -> Any:  # fmt: skip
    """Columns value, low, high and verdict; a row for each `row`, in a panel with an axis of its own per `panel`.

    Names take at least `extent` pixels, such that pictures above each other begin at one place.
    """
    alt = altair()
    present = [name for name in COLOURS if name in set(data["verdict"])]
    look = [alt.Scale(domain=present, range=[own[name] for name in present]) for own in (COLOURS, SHAPES)]
    colour = alt.Color("verdict:N", scale=look[0], title=None)
    axis = alt.Axis(minExtent=extent)
    base = alt.Chart(data).encode(y=alt.Y(f"{row}:N", title=None, sort=in_order(data, row), axis=axis))
    x = alt.X("low:Q", title=title, axis=alt.Axis(tickCount=5, format=form), scale=alt.Scale(zero=True))
    lines = base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", color=colour)
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x="value:Q", color=colour, shape=alt.Shape("verdict:N", scale=look[1], title=None)
    )
    nothing = alt.Chart(data).mark_rule(strokeDash=[4, 3], color=INK).encode(x=alt.datum(0))
    made = alt.layer(nothing, lines, points).properties(width=WIDTH, height=alt.Step(22))
    if panel is None:
        return made
    header = alt.Header(labelOrient="top", labelAnchor="start")
    panels = alt.Row(f"{panel}:N", sort=in_order(data, panel), title=None, header=header)
    return made.facet(row=panels, spacing=8).resolve_scale(x="independent", y="independent")
