"""Systems as points by two metrics, each with its interval both ways and its name beside."""

from __future__ import annotations

from typing import Any

import polars as pl

from trueval.charts.altair import INK, WIDTH, altair
from trueval.charts.labels import place_labels
from trueval.charts.series import in_order, series_of, span
from trueval.evaluation.outcome import Evaluation

HEIGHT = 340


def points_of(evaluation: Evaluation, x: str, y: str) -> pl.DataFrame:
    """Values and intervals of two metrics (labels), a row per system."""
    rows = []
    for name, system in evaluation.systems.items():
        row: dict[str, Any] = {"system": name}
        for axis, label in (("x", x), ("y", y)):
            e = system.estimates[label]
            row |= {axis: e.value, f"{axis}_low": e.low, f"{axis}_high": e.high}
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col(pl.Float64).fill_nan(None))


def draw_scatter(data: pl.DataFrame, *, x: str, y: str) -> Any:
    """The picture; `x` and `y` are the titles of the axes. Systems without both values are left out."""
    alt = altair()
    known = data.drop_nulls(["x", "y"])
    ends = {
        axis: span([v for name in (axis, f"{axis}_low", f"{axis}_high") for v in known[name]], pad=0.06)
        for axis in ("x", "y")
    }
    scales = {axis: alt.Scale(domain=own, nice=False, zero=False) for axis, own in ends.items()}
    named = _labelled(known, ends)
    look = series_of(in_order(data, "system"), legend=named is None)
    grid = alt.Axis(format="~g", grid=True, tickCount=6)
    base = alt.Chart(known if named is None else named).encode(color=look.colour)
    at = {
        "x": alt.X("x:Q", title=x, scale=scales["x"], axis=grid),
        "y": alt.Y("y:Q", title=y, scale=scales["y"], axis=grid),
    }
    across = base.mark_rule(strokeWidth=1.5, opacity=0.7).encode(x=alt.X("x_low:Q", title=x), x2="x_high:Q", y=at["y"])
    up = base.mark_rule(strokeWidth=1.5, opacity=0.7).encode(x=at["x"], y=alt.Y("y_low:Q", title=y), y2="y_high:Q")
    points = base.mark_point(filled=True, size=90, opacity=1).encode(**at, shape=look.shape)
    groups: Any = [] if named is None else named.group_by("dx", "dy", "align", maintain_order=True)
    texts = [
        alt.Chart(own)
        .mark_text(dx=dx, dy=dy, align=align, baseline="middle", color=INK, fontSize=12)
        .encode(**at, text="label:N")
        for (dx, dy, align), own in groups
    ]
    return alt.layer(across, up, points, *texts).properties(width=WIDTH, height=HEIGHT)


def _labelled(known: pl.DataFrame, ends: dict[str, list[float]]) -> pl.DataFrame | None:
    """The points with their names and where these stand; None where there is no room for them."""
    share = {axis: [(v - low) / (high - low) for v in known[axis]] for axis, (low, high) in ends.items()}
    texts = known["system"].to_list()
    places = place_labels(
        [s * WIDTH for s in share["x"]], [(1 - s) * HEIGHT for s in share["y"]], texts, width=WIDTH, height=HEIGHT
    )
    if places is None:
        return None
    return known.with_columns(
        pl.Series("label", texts, pl.String),
        *(pl.Series(name, [getattr(p, name) for p in places], pl.Float64) for name in ("dx", "dy")),
        pl.Series("align", [p.align for p in places], pl.String),
    )
