"""Figure 7: popular items are liked more."""

from __future__ import annotations

import polars as pl

from trueval.audit.popularity_curve import popularity_curve
from trueval.papers.bellogin2017.evaluation import LIKED
from trueval.papers.drawing import Axis, Panels, line_chart
from trueval.papers.record import Figure, claim
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import rounded

_TITLE = "Ratio of positive ratings by popularity rank"


@figure("7", _TITLE)
def liked_ratio(setting: Setting) -> Figure:
    """Items by popularity in 100 segments, and the share of their ratings that are positive."""
    found = popularity_curve(setting.log, threshold=LIKED, segments=100)
    assert found.liked is not None  # the data were checked
    table = found.liked.with_columns(series=pl.lit("liked ratio"))
    chart = line_chart(
        "bellogin2017-7",
        _TITLE,
        f"Mean share of ratings of {LIKED:g} in 100 segments of items, most popular first: from "
        f"{rounded(table['ratio'][0])} to {rounded(table['ratio'][-1])}; τ of popularity and ratio is "
        f"{rounded(found.liked_tau)} over items.",
        table.select("last_rank", "ratio", "series"),
        Panels(Axis("last_rank", "popularity rank of the item", format=",d"),
               Axis("ratio", "|PR(i)| / |R(i)|", zero=True), "series", points=False),
    )  # fmt: skip
    head, tail = table["ratio"].head(10).mean(), table["ratio"].tail(10).mean()
    assert isinstance(head, float)
    assert isinstance(tail, float)
    grows = claim(
        "7", "the ratio of positive ratings grows with popularity", holds=found.liked_tau > 0 and head > tail,
        evidence=f"τ {rounded(found.liked_tau)} over items; mean ratio {rounded(head)} in the most popular tenth, "
        f"{rounded(tail)} in the least popular",
    )  # fmt: skip
    return Figure("7", _TITLE, {"bellogin2017-7": table.drop("series")}, {"bellogin2017-7": chart}, (grows,))
