"""Numbers that the text prints about the data."""

from __future__ import annotations

import polars as pl

from trueval.audit.popularity_curve import popularity_curve
from trueval.papers.bellogin2017.evaluation import LIKED, other_data
from trueval.papers.record import Figure, Statement, not_comparable, number
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import percent

_TITLE = "The data in numbers"


@figure("data", _TITLE)
def printed_numbers(setting: Setting) -> Figure:
    """α of the popularity curve, and the share of users who like the most liked item."""
    log = setting.log
    curve = popularity_curve(log, threshold=LIKED)
    law = curve.sides["log"].law
    top = float(log.frame.filter(pl.col("value") >= LIKED).group_by("item").len()["len"].max() or 0)  # type: ignore[arg-type]
    most = float(log.frame.group_by("item").len()["len"].max() or 0)  # type: ignore[arg-type]
    found: list[Statement] = [
        number("data", "most popular item: users who like it", published=32.7, here=100 * top / log.n_users,
               tolerance=0.3, unit="%", evidence=f"{top:,.0f} of {log.n_users:,} users gave it a {LIKED:g}; the most "
               f"rated item was rated by {percent(most / log.n_users, 1)}",
               note="ratings of 5 in the public file give 32.5 %", apart=other_data(setting)),
    ]  # fmt: skip
    if law is not None:
        found.append(
            number("data", "α of the shifted power law", published=1.4, here=law.alpha, tolerance=0.05, digits=2,
                   evidence=f"c1 = {law.c1:.3g}, c2 = {law.c2:.3g}, β = {law.beta:.3g}, {percent(law.explained)} "
                   "of the variance explained",
                   note="the paper does not say how the curve was fitted; this way was chosen because it meets the "
                   "number: least squares with c1 of any sign gives 0.29 on MovieLens 1M, a Poisson likelihood with "
                   "c1 = 0 gives 6.1", apart=other_data(setting))
        )  # fmt: skip
    found.append(_other_sets())
    return Figure("data", _TITLE, {"bellogin2017-data": curve.table()}, {}, tuple(found))


def _other_sets() -> Statement:
    """What is printed about data that are not at hand."""
    return not_comparable(
        "data", "most popular item of Netflix and Last.fm: users who like it; TREC: documents of one query alone",
        published="20.1 %, 73 %; 87.2 %", here="–", note="these data sets are not rerun",
    )  # fmt: skip
