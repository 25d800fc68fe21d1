"""Pairs of items: how often popularity and relevance make true and false positives disagree."""

from __future__ import annotations

from typing import Any

import polars as pl

from trueval.audit.item_pairs import ItemPairs
from trueval.audit.render_item_pairs import share_text
from trueval.charts.altair import BAD, GOOD, INK, WIDTH, altair
from trueval.charts.chart import Chart
from trueval.charts.series import in_order
from trueval.render.numbers import level_percent, percent, rounded

_CASES = tuple(f"liked {how}; {what} steeper" for how in ("more", "less") for what in ("popularity", "relevance"))
_COLOURS = {"disagree": BAD, "agree": GOOD}


def item_pairs_chart(found: ItemPairs) -> Chart:
    """Shares of the four cases, coloured by whether the optimal rankings of precision and antiprecision agree.

    >>> from trueval.audit.item_pairs import item_pairs
    >>> from trueval.data.interactions import Interactions
    >>> rows = {"user": [0, 1, 2, 3, 4, 0, 1, 9], "item": list("aaaaabbc"), "value": [5, 5, 5, 1, 1, 5, 1, 5]}
    >>> item_pairs_chart(item_pairs(Interactions.of(pl.DataFrame(rows)), threshold=4)).data["pairs"].to_list()
    [1, 0, 2, 0]
    """
    table = found.table()
    data = table.select(
        pl.Series("the_more_popular_item_is", _CASES, pl.String), "share", "low", "high", "pairs", "optimal_rankings"
    )
    title = f"Optimal rankings by precision and antiprecision disagree on {share_text(found.disagree)} of item pairs"
    return Chart("item_pairs", title, _description(found), data, _draw)


def _description(found: ItemPairs) -> str:
    how = f"All {found.pairs:,} pairs" if found.drawn is None else f"{found.drawn:,} pairs drawn at random"
    tau = "undefined" if found.tau != found.tau else rounded(found.tau)
    level = "" if found.drawn is None else f" Lines are {level_percent(found.level)} intervals for the draw."
    return (
        f"{how} of {found.items:,} items. The more popular item of a pair is liked more, or less, than the other. "
        "Where the odds of popularity are steeper than the share of dislikes (or likes) that they disagree with, it is "
        "the better item by precision and the worse one by antiprecision. Pairs that are equal in one of them "
        f"({percent(found.tied.share)}) are in the last row. Kendall's τ of the two "
        f"optimal rankings is {tau}.{level}"
    )


def _draw(data: pl.DataFrame) -> Any:
    alt = altair()
    seen = data.with_columns(text=pl.col("share").map_elements(percent, return_dtype=pl.String))
    field = "the_more_popular_item_is"
    above = alt.Axis(titleAngle=0, titleAlign="right", titleBaseline="bottom", titleX=-9, titleY=-2)
    y = alt.Y(f"{field}:N", title=field.replace("_", " "), sort=in_order(data, field), axis=above)
    top = max(0.05, 1.15 * float(data["high"].max()))  # type: ignore[arg-type]
    x = alt.X(
        "share:Q", title="share of item pairs", scale=alt.Scale(domain=[0, top], nice=False),
        axis=alt.Axis(format=".0%", grid=True, tickCount=6),
    )  # fmt: skip
    names = list(_COLOURS)
    scale = alt.Scale(domain=names, range=list(_COLOURS.values()))
    legend = alt.Legend(title="optimal rankings", orient="bottom", titleOrient="left")
    base = alt.Chart(seen).encode(y=y)
    bars = base.mark_bar(height=18).encode(x=x, color=alt.Color("optimal_rankings:N", scale=scale, legend=legend))
    ends = base.mark_rule(color=INK, strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q")
    texts = base.mark_text(align="left", dx=6, color=INK, fontSize=12).encode(x="high:Q", text="text:N")
    return alt.layer(bars, ends, texts).properties(width=WIDTH - 120, height=alt.Step(30))
