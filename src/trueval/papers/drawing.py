"""Charts that figures of papers are drawn as: lines, bars and points, in panels side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from trueval.charts.altair import GOOD, INK, SOFT, WIDTH, altair
from trueval.charts.chart import Chart
from trueval.charts.series import Series, in_order, series_of, span

_HEIGHT = 240
_GAP = 62  # pixels between panels, for the labels of the right one


@dataclass(frozen=True, slots=True)
class Axis:
    """A column on an axis: its title, a format of d3, whether it is logarithmic, and its ends (default: the data's).

    `zero` lets the axis begin at zero.
    """

    column: str
    title: str
    format: str = ",~r"
    log: bool = False
    zero: bool = False
    ends: tuple[float, float] | None = None

    def scale(self, values: Sequence[float | None]) -> Any:
        """The scale for some values."""
        alt = altair()
        if self.log:
            return alt.Scale(type="log") if self.ends is None else alt.Scale(type="log", domain=list(self.ends))
        ends = list(self.ends) if self.ends else span(values, also=[0.0] if self.zero else [])
        return alt.Scale(domain=ends, nice=False)


@dataclass(frozen=True, slots=True)
class Panels:
    """How a table becomes a chart: axes, the column of the series, and the column by which panels are told apart."""

    x: Axis
    y: Axis
    series: str = "system"
    panel: str | None = None
    columns: int = 2
    points: bool = True
    height: int = _HEIGHT
    own_scale: bool = True  # every panel has a vertical axis of its own
    rules: dict[str, float] = field(default_factory=dict)  # horizontal lines, by their names
    marks: dict[str, list[float]] = field(default_factory=dict)  # vertical lines, by the panel


def line_chart(name: str, title: str, description: str, data: pl.DataFrame, how: Panels) -> Chart:
    """Lines over a numeric axis, one for each value of the series column.

    >>> data = pl.DataFrame({"k": [1, 2], "recall": [0.1, 0.2], "system": ["a", "a"]})
    >>> line_chart("f", "Recall", "It grows.", data, Panels(Axis("k", "k"), Axis("recall", "recall@k"))).name
    'f'
    """
    return Chart(name, title, description, data, lambda own: _panels(own, how, _lines))


def point_chart(name: str, title: str, description: str, data: pl.DataFrame, how: Panels) -> Chart:
    """Points on two numeric axes, one shape and colour for each value of the series column."""
    return Chart(name, title, description, data, lambda own: _panels(own, how, _points))


def bar_chart(name: str, title: str, description: str, data: pl.DataFrame, how: Panels) -> Chart:
    """Bars by category (the column of `x`), side by side within a category by the series column."""
    return Chart(name, title, description, data, lambda own: _panels(own, how, _bars))


def band_chart(name: str, title: str, description: str, data: pl.DataFrame, how: Panels) -> Chart:
    """A line with a light shade up to the column `upper` and a darker one down to the column `lower`."""
    return Chart(name, title, description, data, lambda own: _panels(own, how, _bands))


def _panels(data: pl.DataFrame, how: Panels, draw: Any) -> Any:
    alt = altair()
    look = series_of(in_order(data, how.series), field=how.series)
    names = [None] if how.panel is None else in_order(data, how.panel)
    across = min(how.columns, len(names))
    width = WIDTH if across == 1 else (WIDTH + 60 - _GAP * (across - 1)) // across
    made = []
    for name in names:
        own = data if name is None else data.filter(pl.col(str(how.panel)) == name)
        shown = own if how.own_scale else data
        panel = _marked(draw(own, shown, how, look), how, shown, str(name)).properties(width=width, height=how.height)
        if name is not None:
            panel = panel.properties(title=alt.TitleParams(name, anchor="start", fontSize=13, color=INK))
        made.append(panel)
    if len(made) == 1:
        return made[0]
    # bars within a category are as wide as the categories of their own panel allow
    return alt.concat(*made, columns=across, spacing=24).resolve_scale(xOffset="independent")


def _marked(panel: Any, how: Panels, shown: pl.DataFrame, name: str) -> Any:
    """A panel with the vertical lines that it has."""
    if name not in how.marks:
        return panel
    alt = altair()
    at = alt.Chart(pl.DataFrame({how.x.column: how.marks[name]}))
    lines = at.mark_rule(strokeDash=[3, 3], color=SOFT, strokeWidth=1).encode(x=_axes(shown, how)[0])
    return alt.layer(lines, panel)


def _axes(shown: pl.DataFrame, how: Panels) -> tuple[Any, Any]:
    alt = altair()
    x = alt.X(
        f"{how.x.column}:Q", title=how.x.title, scale=how.x.scale(shown[how.x.column].to_list()),
        axis=alt.Axis(format=how.x.format, grid=False, tickCount=5),
    )  # fmt: skip
    values = [*shown[how.y.column].to_list(), *how.rules.values()]
    y = alt.Y(
        f"{how.y.column}:Q", title=how.y.title, scale=how.y.scale(values),
        axis=alt.Axis(format=how.y.format, grid=not how.y.log, tickCount=5),
    )  # fmt: skip
    return x, y


def _lines(data: pl.DataFrame, shown: pl.DataFrame, how: Panels, look: Series) -> Any:
    alt = altair()
    x, y = _axes(shown, how)
    base = alt.Chart(data).encode(x=x, y=y, color=look.colour)
    layers = [*_rules(how, y), base.mark_line(strokeWidth=1.6).encode(strokeDash=look.dash)]
    if how.points:
        layers.append(base.mark_point(filled=True, size=40, opacity=1).encode(shape=look.shape))
    return alt.layer(*layers)


def _bands(data: pl.DataFrame, shown: pl.DataFrame, how: Panels, look: Series) -> Any:
    alt = altair()
    values = [*shown["lower"].to_list(), *shown["upper"].to_list()]
    x, y = _axes(shown, how)
    y.scale = how.y.scale(values)
    base = alt.Chart(data).encode(x=x)
    light = base.mark_area(opacity=0.18).encode(y=y, y2="upper:Q", color=alt.value(GOOD))
    dark = base.mark_area(opacity=0.4).encode(y=y, y2="lower:Q", color=alt.value(GOOD))
    line = base.mark_line(strokeWidth=2, point={"filled": True, "color": GOOD}, color=GOOD).encode(y=y)
    return alt.layer(light, dark, line)


def _points(data: pl.DataFrame, shown: pl.DataFrame, how: Panels, look: Series) -> Any:
    alt = altair()
    x, y = _axes(shown, how)
    marks = alt.Chart(data).mark_point(filled=True, size=40, opacity=0.75)
    return alt.layer(*_rules(how, y), marks.encode(x=x, y=y, color=look.colour, shape=look.shape))


def _bars(data: pl.DataFrame, shown: pl.DataFrame, how: Panels, look: Series) -> Any:
    alt = altair()
    values = [*shown[how.y.column].to_list(), *how.rules.values()]
    alone = how.x.column == how.series  # the legend names the bars then
    x = alt.X(f"{how.x.column}:N", title=how.x.title or None, sort=in_order(data, how.x.column),
              axis=alt.Axis(labelAngle=0, grid=False, labels=not alone, ticks=not alone))  # fmt: skip
    y = alt.Y(
        f"{how.y.column}:Q", title=how.y.title, scale=how.y.scale(values),
        axis=alt.Axis(format=how.y.format, grid=True, tickCount=5),
    )  # fmt: skip
    bars = alt.Chart(data).mark_bar().encode(x=x, y=y, color=look.colour)
    if not alone:
        bars = bars.encode(xOffset=alt.XOffset(f"{how.series}:N", sort=in_order(data, how.series)))
    return alt.layer(bars, *_rules(how, y))


def _rules(how: Panels, y: Any) -> list[Any]:
    alt = altair()
    made = []
    for name, value in how.rules.items():
        at = alt.Chart(pl.DataFrame({how.y.column: [value], "name": [name]})).encode(y=y)
        made += [at.mark_rule(strokeDash=[4, 3], color=INK, strokeWidth=1)]
    return made
