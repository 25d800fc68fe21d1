"""How unevenly ratings fall on items, the curve fitted to that, and whether popular items are liked more."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from trueval.audit.popularity_curve import Popularity, PopularityCurve
from trueval.charts.altair import GOOD, INK, altair
from trueval.charts.chart import Chart
from trueval.charts.popularity import by_rank, lorenz_points
from trueval.charts.series import in_order, series_of, span
from trueval.render.numbers import percent, rounded

_LORENZ, _RANKS, _FITTED, _LIKED = "share of items", "popularity rank", "fitted curve", "liked ratio"
_SIDE = 255


def popularity_curve_chart(found: PopularityCurve) -> Chart:
    """Lorenz curves, the share of one item by its popularity rank with the fitted curve, and the liked ratio.

    >>> from trueval.audit.popularity_curve import popularity_curve
    >>> from trueval.data.interactions import Interactions
    >>> log = Interactions.of(pl.DataFrame({"user": [1, 2, 3, 1], "item": list("aaab")}))
    >>> popularity_curve_chart(popularity_curve(log)).data.filter(by="share of items").select("at", "share").rows()
    [(0.0, 0.0), (0.5, 0.25), (1.0, 1.0)]
    """
    frames = []
    for name, side in found.sides.items():
        if not side.counts.sum():
            continue
        frames.append(lorenz_points(side.counts).select(*_named(name, _LORENZ), pl.all()))
        ranks = by_rank(side.counts.astype(np.float64), side.counts)
        frames.append(ranks.select(*_named(name, _RANKS), pl.all()))
        frames += _fitted(name, side)
    if found.liked is not None:
        middle = (pl.col("first_rank") + pl.col("last_rank")).cast(pl.Float64) / 2
        liked = found.liked.select(*_named(None, _LIKED), middle.alias("at"), pl.col("ratio").alias("share"))
        frames.append(liked)
    title = "How ratings are spread over items"
    return Chart("popularity_curve", title, _description(found), pl.concat(frames), _draw)


def _named(name: str | None, panel: str) -> list[pl.Expr]:
    return [pl.lit(name, pl.String).alias("of"), pl.lit(panel).alias("by")]


def _fitted(name: str, side: Popularity) -> list[pl.DataFrame]:
    """The fitted curve at ranks spread evenly over the logarithmic axis, as a share of all ratings."""
    if side.law is None:
        return []
    at = np.unique(np.geomspace(1, len(side.counts), 40).round())
    share = side.law(at) / side.counts.sum()
    return [pl.DataFrame({"at": at, "share": share}).select(*_named(name, _FITTED), pl.all())]


def _description(found: PopularityCurve) -> str:
    parts = []
    for name, side in found.sides.items():
        law = "" if side.law is None else f", α of the fitted curve {rounded(side.law.alpha)}"
        head = percent(side.heads[0.1], 0)
        parts.append(f"{name}: Gini {rounded(side.gini)}, {head} of the ratings on the first 10 % of items{law}")
    text = "; ".join(parts)
    text = f"{text[:1].upper()}{text[1:]}. Dashed: c1 + β·(c2 + rank)^(−α), by least squares."
    if found.liked is None:
        return f"{text} All ratings are relevant, or none: there is no liked ratio."
    tau = "undefined" if found.liked_tau != found.liked_tau else rounded(found.liked_tau)
    return (
        f"{text} On the right, the share of an item's ratings that are relevant, mean over items of segments of "
        f"popularity ranks; Kendall's τ of number of ratings and that share is {tau}."
    )


def _draw(data: pl.DataFrame) -> Any:
    alt = altair()
    look = series_of(in_order(data.filter(pl.col("by") == _LORENZ), "of"), field="of")
    panels = [_lorenz(data, look), _ranks(data, look)]
    liked = data.filter(pl.col("by") == _LIKED)
    return alt.hconcat(*panels, *([_liked(liked)] if len(liked) else []), spacing=24)


def _lorenz(data: pl.DataFrame, look: Any) -> Any:
    alt = altair()
    ticks = alt.Axis(format=".0%", grid=True, values=[0, 0.25, 0.5, 0.75, 1])
    x = alt.X("at:Q", title="share of items, least popular first", scale=alt.Scale(domain=[0, 1]), axis=ticks)
    y = alt.Y("share:Q", title="share of ratings", scale=alt.Scale(domain=[0, 1]), axis=ticks)
    diagonal = alt.Chart(pl.DataFrame({"at": [0.0, 1.0], "share": [0.0, 1.0]}))
    curves = alt.Chart(data.filter(pl.col("by") == _LORENZ)).mark_line(strokeWidth=1.8)
    return alt.layer(
        diagonal.mark_line(strokeDash=[4, 3], color=INK, strokeWidth=1).encode(x=x, y=y),
        curves.encode(x=x, y=y, color=look.colour, strokeDash=look.dash),
    ).properties(width=_SIDE, height=_SIDE)


def _ranks(data: pl.DataFrame, look: Any) -> Any:
    """Shares by popularity rank as points, the fitted curve as a line, both axes logarithmic."""
    alt = altair()
    own = data.filter(pl.col("by").is_in([_RANKS, _FITTED]) & (pl.col("share") > 0))
    widest, least = float(own["at"].max()), float(own.filter(pl.col("by") == _RANKS)["share"].min())  # type: ignore[arg-type]
    x = alt.X(
        "at:Q", title="popularity rank", scale=alt.Scale(type="log", domain=[0.9, max(2.0, widest * 1.2)]),
        axis=alt.Axis(values=[10**n for n in range(8)], format="~s", grid=True),
    )  # fmt: skip
    most = float(own["share"].max())  # type: ignore[arg-type]
    y = alt.Y(
        "share:Q", title="share of one item", scale=alt.Scale(type="log", domain=[least / 2, most * 1.5], nice=False),
        axis=alt.Axis(values=[10.0**n for n in range(-9, 1)], format="~%", grid=True),
    )  # fmt: skip
    points = alt.Chart(own.filter(pl.col("by") == _RANKS)).mark_point(filled=True, size=40, opacity=1)
    fitted = alt.Chart(own.filter((pl.col("by") == _FITTED) & (pl.col("share") >= least / 2)))
    return alt.layer(
        fitted.mark_line(strokeWidth=1.2, strokeDash=[4, 3]).encode(x=x, y=y, color=look.colour),
        points.encode(x=x, y=y, color=look.colour),
    ).properties(width=_SIDE, height=_SIDE)


def _liked(data: pl.DataFrame) -> Any:
    alt = altair()
    x = alt.X("at:Q", title="popularity rank", axis=alt.Axis(format=",d", grid=False, tickCount=4))
    scale = alt.Scale(domain=span(data["share"].to_list(), also=[0.0]), nice=False)
    y = alt.Y("share:Q", title="liked ratio", scale=scale, axis=alt.Axis(format=".0%", grid=True, tickCount=6))
    points = alt.Chart(data).mark_point(filled=True, size=22, opacity=0.9, color=GOOD)
    return points.encode(x=x, y=y).properties(width=_SIDE, height=_SIDE)
