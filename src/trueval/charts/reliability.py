"""Reliability diagrams: of what was predicted with 30 %, how much happened?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from trueval.calibration.reliability import Reliability
from trueval.charts.altair import CALM, GOOD, INK, altair
from trueval.charts.chart import Chart
from trueval.charts.series import in_order
from trueval.render.numbers import number

_SIDE, _BARS = 250, 60


def reliability_chart(sides: Mapping[str, Reliability]) -> Chart:
    """Diagrams side by side, by name (such as "before" and "after" calibration), each above the sizes of its bins.

    >>> from trueval.calibration.predictions import read_predictions
    >>> from trueval.calibration.reliability import reliability
    >>> p, y = [0.8] * 5 + [0.2] * 5, [1, 1, 1, 0, 0] + [1, 0, 0, 0, 0]
    >>> chart = reliability_chart({"as given": reliability(read_predictions(pl.DataFrame({"p": p, "y": y})), bins=2)})
    >>> chart.data.select("n", "predicted", "observed").rows()
    [(5, 0.2, 0.2), (5, 0.8, 0.6)]
    """
    data = pl.concat([own.table().select(pl.lit(name).alias("side"), pl.all()) for name, own in sides.items()])
    errors = "; ".join(
        f"{name}: expected calibration error {number(own.ece)} over {len(own.bin)} bins, where chance alone gives "
        f"{number(own.ece_by_chance)} to right predictions, largest gap {number(own.mce)}"
        for name, own in sides.items()
    )
    description = (
        f"{errors[:1].upper()}{errors[1:]}. On the dashed line predictions are right; above it they are too low, below "
        "it too high. Vertical lines are Wilson's 95 % intervals of the observed shares, bars the rows of each bin."
    )
    names = " and ".join(sides)
    title = "Predicted and observed shares" + (f", {names}" if len(sides) > 1 else "")
    return Chart("reliability", title, description, data, _draw)


def _draw(data: pl.DataFrame) -> Any:
    alt = altair()
    columns = [_diagram(data, name) for name in in_order(data, "side")]
    return columns[0] if len(columns) == 1 else alt.hconcat(*columns, spacing=30)


def _diagram(data: pl.DataFrame, name: str) -> Any:
    """One diagram with the sizes of its bins below, on the same axis. Both sides have the same scales."""
    alt = altair()
    top = float(data.select(pl.max_horizontal("predicted", "observed_high").max()).item())
    end = min(1.0, 1.04 * top) if 0 < top < 0.7 else 1.0  # clicks are rare: their diagram would be all in one corner
    own = data.filter(pl.col("side") == name).with_columns(high=pl.min_horizontal("high", pl.lit(end)))
    several = data["side"].n_unique() > 1
    scale = alt.Scale(domain=[0, end], nice=False, clamp=False)
    x = alt.X(
        "predicted:Q", title=None, scale=scale, axis=alt.Axis(format="~%", tickCount=5, labels=False, ticks=False)
    )
    y = alt.Y("observed:Q", title="observed", scale=scale, axis=alt.Axis(format="~%", tickCount=5, grid=True))
    right = alt.Chart(pl.DataFrame({"predicted": [0.0, end], "observed": [0.0, end]}))
    base = alt.Chart(own).encode(x=x)
    marks = alt.layer(
        right.mark_line(strokeDash=[4, 3], color=INK, strokeWidth=1).encode(x=x, y=y),
        base.mark_rule(strokeWidth=2, color=GOOD).encode(
            y=alt.Y("observed_low:Q", title="observed", scale=scale), y2="observed_high:Q"
        ),
        base.mark_line(strokeWidth=1, color=GOOD, opacity=0.6).encode(y=y),
        base.mark_point(filled=True, size=60, opacity=1, color=GOOD).encode(y=y),
    ).properties(width=_SIDE, height=_SIDE, **({"title": _headed(name)} if several else {}))
    most = float(data["n"].max())  # type: ignore[arg-type]
    bars = alt.Chart(own).mark_bar(color=CALM, opacity=0.7, size=7).encode(
        x=alt.X("predicted:Q", title="predicted", scale=scale, axis=alt.Axis(format="~%", tickCount=5)),
        y=alt.Y("n:Q", title="rows", scale=alt.Scale(domain=[0, most]), axis=alt.Axis(tickCount=2, format="~s")),
    )  # fmt: skip
    return alt.vconcat(marks, bars.properties(width=_SIDE, height=_BARS), spacing=6)


def _headed(name: str) -> Any:
    return altair().Title(name, anchor="start", color=INK, fontSize=13)
