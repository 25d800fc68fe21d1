"""Points with their names beside them, in panels: how papers show systems by two metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from trueval.charts.altair import INK, altair
from trueval.charts.chart import Chart
from trueval.charts.labels import Label, place_labels
from trueval.charts.series import in_order, series_of, span

_WIDTH, _HEIGHT, _FONT = 285, 270, 10
_SMALLER = 1.3  # how many times smaller the letters are than those that labels are placed for
_BESIDE = Label(8.0, -8.0, "left")


class Sides(NamedTuple):
    """The titles of the two axes of a panel, and of the panel itself (default: its name in the data)."""

    x: str
    y: str
    title: str = ""


def labelled_chart(name: str, title: str, description: str, data: pl.DataFrame, panels: Mapping[str, Sides]) -> Chart:
    """Points at the columns `x` and `y`, named by `system`, in the colour and shape of their `kind`, by `panel`
    (at most 30 letters).

    >>> data = pl.DataFrame({"panel": ["all"], "system": ["Pop"], "kind": ["simple"], "x": [0.1], "y": [0.2]})
    >>> labelled_chart("f", "P and recall", "One system.", data, {"all": Sides("P", "recall")}).name
    'f'
    """
    return Chart(name, title, description, data, lambda own: _drawn(own, panels))


def _drawn(data: pl.DataFrame, panels: Mapping[str, Sides]) -> Any:
    alt = altair()
    look = series_of(in_order(data, "kind"), field="kind")
    made = []
    for name, sides in panels.items():
        own = data.filter(pl.col("panel") == name).drop_nulls(["x", "y"])
        ends = {axis: span(own[axis], pad=0.1) for axis in ("x", "y")}
        at = {
            axis: channel(
                f"{axis}:Q", title=getattr(sides, axis), scale=alt.Scale(domain=ends[axis], nice=False, zero=False),
                axis=alt.Axis(format="~g", grid=True, tickCount=4),
            )
            for axis, channel in (("x", alt.X), ("y", alt.Y))
        }  # fmt: skip
        points = alt.Chart(own).mark_point(filled=True, size=55, opacity=1)
        layers = [points.encode(**at, color=look.colour, shape=look.shape), *_names(own, ends, at)]
        heading = alt.TitleParams(sides.title or name, anchor="start", fontSize=13, color=INK)
        made.append(alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT, title=heading))
    return made[0] if len(made) == 1 else alt.concat(*made, columns=2, spacing=20)


def _names(own: pl.DataFrame, ends: Mapping[str, list[float]], at: Mapping[str, Any]) -> list[Any]:
    """One layer for each place that names have beside their points."""
    alt = altair()
    width, height = _SMALLER * _WIDTH, _SMALLER * _HEIGHT
    share = {axis: [(v - low) / (high - low) for v in own[axis]] for axis, (low, high) in ends.items()}
    x, y = [s * width for s in share["x"]], [(1 - s) * height for s in share["y"]]
    texts = own["system"].to_list()
    places = place_labels(x, y, texts, width=width, height=height) or [_BESIDE] * len(texts)
    layers = []
    for place in dict.fromkeys(places):
        there = own.filter(pl.Series([one == place for one in places]))
        marks = alt.Chart(there).mark_text(
            dx=place.dx / _SMALLER,
            dy=place.dy / _SMALLER,
            align=place.align,
            baseline="middle",
            color=INK,
            fontSize=_FONT,
        )
        layers.append(marks.encode(x=at["x"], y=at["y"], text="system:N"))
    return layers
