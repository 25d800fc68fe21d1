"""A metric against removed test ratings and against the size of target sets: what sparsity alone does to it."""

from __future__ import annotations

from typing import Any

import polars as pl

from trueval.audit.render_sparsity import sparsity_lines
from trueval.audit.sparsity import Sparsity
from trueval.charts.altair import INK, WIDTH, altair
from trueval.charts.chart import Chart
from trueval.charts.series import in_order, series_of, span
from trueval.errors import DefinitionError, suggest
from trueval.render.numbers import number, percent

_HEIGHT = 270


def sparsity_chart(found: Sparsity, *, metric: str | None = None) -> Chart:
    """One metric (default: the first) of every system, beside its value by chance.

    >>> from trueval.audit.sparsity import sparsity
    >>> from trueval.metrics.measure import toy_facts
    >>> facts = {"mine": toy_facts(list("abcdefgh"), {"a", "c", "d"}, complete=True)}
    >>> sparsity_chart(sparsity(facts, metrics="precision@1", sizes=[3], removed=[0])).data["changed"].to_list()
    ['removed', 'targets', 'targets']
    """
    known = in_order(found.fewer, "metric")
    chosen = known[0] if metric is None else metric
    if chosen not in known:
        raise DefinitionError(f"{metric!r} was not followed", do=suggest(metric, known))
    data = found.table().filter(pl.col("metric") == chosen).drop("metric")
    title = f"{chosen} with fewer test ratings" + (" and larger target sets" if "targets" in data["changed"] else "")
    return Chart("sparsity", title, _description(found, data, chosen), data, lambda own: _draw(own, chosen))


def _description(found: Sparsity, data: pl.DataFrame, metric: str) -> str:
    fewer = data.filter(pl.col("changed") == "removed")
    last = float(fewer["at"].max())  # type: ignore[arg-type]
    best = fewer.filter(pl.col("at") == 0).drop_nulls("value").sort("value", descending=True, maintain_order=True)
    parts = []
    if len(best) and last > 0:
        name = best["system"][0]
        end = fewer.filter((pl.col("at") == last) & (pl.col("system") == name))["value"][0]
        if end is not None:
            parts.append(
                f"With {percent(last, 0)} of the test ratings removed, {metric} of {name} goes from "
                f"{number(best['value'][0])} to {number(end)} ({found.design})."
            )
    if "targets" in data["changed"]:
        parts.append(f"On the right, {metric} of one relevant item at a time among target sets of a given size.")
    parts += [f"{note[:1].upper()}{note[1:]}." for note in found.notes]
    parts += ["Dashed: by chance."] * int(data["by_chance"].is_not_null().any())
    return " ".join([*parts, *(f"{line[:1].upper()}{line[1:]}." for line in sparsity_lines(found)[1:])])


def _draw(data: pl.DataFrame, metric: str) -> Any:
    alt = altair()
    look = series_of(in_order(data, "system"))
    both = "targets" in set(data["changed"])
    width = WIDTH // 2 - 25 if both else WIDTH
    left = _panel(data.filter(pl.col("changed") == "removed"), look, metric, width, sized=False)
    if not both:
        return left
    right = _panel(data.filter(pl.col("changed") == "targets"), look, f"{metric}, 1R", width, sized=True)
    return alt.hconcat(left, right, spacing=30)


def _panel(data: pl.DataFrame, look: Any, title: str, width: int, *, sized: bool) -> Any:
    """Lines of all systems; sizes of target sets are on a logarithmic axis."""
    alt = altair()
    known = data.drop_nulls("value")
    ends = [float(v) for v in (data["at"].min(), data["at"].max())]  # type: ignore[arg-type]
    if sized:
        x = alt.X(
            "at:Q", title="size of target sets", scale=alt.Scale(type="log", domain=[ends[0] / 1.1, ends[1] * 1.1]),
            axis=alt.Axis(values=sorted(set(data["at"])), format=",d", grid=False, labelOverlap="greedy"),
        )  # fmt: skip
    else:
        x = alt.X(
            "at:Q", title="test ratings removed", scale=alt.Scale(domain=[0, max(ends[1], 0.1)]),
            axis=alt.Axis(format=".0%", grid=False, tickCount=5),
        )  # fmt: skip
    values = [*known["value"].to_list(), *data["by_chance"].drop_nulls().to_list()]
    y = alt.Y(
        "value:Q", title=title, scale=alt.Scale(domain=span(values, also=[0.0]), nice=False),
        axis=alt.Axis(format="~g", grid=True, tickCount=6),
    )  # fmt: skip
    base = alt.Chart(known).encode(x=x, y=y, color=look.colour)
    chance = data.group_by("at", maintain_order=True).first().drop_nulls("by_chance")
    usual = alt.Chart(chance.select("at", value="by_chance")).mark_line(strokeDash=[4, 3], color=INK, strokeWidth=1)
    lines = base.mark_line(strokeWidth=1.5).encode(strokeDash=look.dash)
    points = base.mark_point(filled=True, size=45, opacity=1).encode(shape=look.shape)
    return alt.layer(usual.encode(x=x, y=y), lines, points).properties(width=width, height=_HEIGHT)
