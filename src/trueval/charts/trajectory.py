"""Rounds of a feedback loop or snapshots over time: do the rich get richer, and at whose cost?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from trueval.charts.altair import GOOD, INK, WIDTH, altair
from trueval.charts.chart import Chart
from trueval.charts.series import in_order, series_of, span
from trueval.errors import DefinitionError, suggest
from trueval.render.numbers import number
from trueval.simulation.trajectory import PREFIX, TITLES, Trajectory

_FIRST = ("gini", "gini_shown", "gini_equal", "coverage", "overlap", "true_precision", "observed_precision", "old_head")
_GAP = 64  # pixels between two panels, for the labels of the right one
_LABELS = 12  # steps that are labelled on an axis, at most


def trajectory_chart(found: Trajectory, *, measures: Sequence[str] | None = None) -> Chart:
    """Measures over rounds or snapshots, a panel each with an axis of its own; `measures` are columns of the table.

    >>> import trueval as tv
    >>> one = pl.DataFrame({"user": [1, 2], "item": ["a", "b"]})
    >>> two = pl.DataFrame({"user": [1, 2], "item": ["a", "a"]})
    >>> chart = trajectory_chart(tv.track([one, two]), measures=["gini"])
    >>> chart.data.rows()
    [('1', 'Gini', 0.0), ('2', 'Gini', 0.5)]
    """
    chosen = [name for name in _FIRST if name in found.measures] if measures is None else list(measures)
    for name in chosen:
        if name not in found.measures:
            raise DefinitionError(f"there is no measure {name!r} here", do=suggest(name, found.measures))
    if not chosen:
        raise DefinitionError("no measure was chosen", found="an empty list", do=", ".join(found.measures))
    rows = [
        {found.step: str(at), "measure": TITLES[name], "value": value}
        for name in chosen
        for at, value in found.frame.select(found.step, name).iter_rows()
        if value is not None
    ]
    data = pl.DataFrame(rows, schema={found.step: pl.String, "measure": pl.String, "value": pl.Float64})
    steps = [str(at) for at in found.frame[found.step].to_list()]
    title = f"{len(steps)} {found.step}s" + (f" of {found.manifest['system']}" if "system" in found.manifest else "")
    return Chart(
        "trajectory", title, _description(data, found.step), data, lambda frame: _draw(frame, found.step, steps)
    )


def exposure_chart(found: Trajectory) -> Chart:
    """The share of exposure that each group of items gets, over rounds or snapshots."""
    if not found.groups:
        raise DefinitionError(
            "the chart of exposure needs groups of items", found="no column of groups", do="give by=… (--by …)"
        )
    rows = [
        {found.step: str(at), "group": name.removeprefix(PREFIX), "share": value}
        for name in found.groups
        for at, value in found.frame.select(found.step, name).iter_rows()
    ]
    data = pl.DataFrame(rows)
    ends = [
        f"{name.removeprefix(PREFIX)} {number(own[0])} → {number(own[-1])}"
        for name in found.groups
        for own in (found.frame[name].to_list(),)
    ]
    steps = [str(at) for at in found.frame[found.step].to_list()]
    text = f"Share of the exposure from the first {found.step} to the last: {'; '.join(ends)}."
    title = f"Exposure by {found.manifest.get('by') or 'group'}"
    return Chart("exposure", title, text, data, lambda frame: _draw_groups(frame, found.step, steps))


def _description(data: pl.DataFrame, step: str) -> str:
    parts = []
    for (measure,), own in data.group_by("measure", maintain_order=True):
        values = own["value"].to_list()
        parts.append(f"{measure} {number(values[0])} → {number(values[-1])}")
    return f"From the first {step} to the last: {'; '.join(parts)}. Every panel has an axis of its own."


def _axis(step: str, steps: Sequence[str]) -> Any:
    alt = altair()
    every = -(-len(steps) // _LABELS)
    longest = max(map(len, steps))
    return alt.X(
        f"{step}:O", sort=list(steps), title=step, scale=alt.Scale(domain=list(steps)),
        axis=alt.Axis(values=list(steps[::every]), labelAngle=0 if longest * min(len(steps), _LABELS) < 60 else -40),
    )  # fmt: skip


def _draw(data: pl.DataFrame, step: str, steps: Sequence[str]) -> Any:
    alt = altair()
    panels = []
    measures = in_order(data, "measure")
    wide = WIDTH if len(measures) == 1 else (WIDTH - _GAP) // 2
    for measure in measures:
        own = data.filter(pl.col("measure") == measure)
        scale = alt.Scale(domain=span(own["value"].to_list(), pad=0.15), nice=False)
        y = alt.Y("value:Q", title=None, scale=scale, axis=alt.Axis(format="~g", grid=True, tickCount=5))
        line = alt.Chart(own).mark_line(color=GOOD, strokeWidth=2, point={"color": GOOD, "filled": True, "opacity": 1})
        head = alt.TitleParams(measure, anchor="start", fontSize=13, color=INK)
        panels.append(line.encode(x=_axis(step, steps), y=y).properties(width=wide, height=130, title=head))
    return alt.concat(*panels, columns=1 if len(panels) == 1 else 2, spacing=24).resolve_scale(x="independent")


def _draw_groups(data: pl.DataFrame, step: str, steps: Sequence[str]) -> Any:
    alt = altair()
    look = series_of(in_order(data, "group"), field="group")
    scale = alt.Scale(domain=span(data["share"].to_list(), also=[0.0]), nice=False)
    y = alt.Y("share:Q", title="share of exposure", scale=scale, axis=alt.Axis(format="~p", grid=True))
    base = alt.Chart(data).encode(x=_axis(step, steps), y=y, color=look.colour)
    lines = base.mark_line(strokeWidth=1.5).encode(strokeDash=look.dash)
    points = base.mark_point(filled=True, size=45, opacity=1).encode(shape=look.shape)
    return alt.layer(lines, points).properties(width=WIDTH, height=280)
