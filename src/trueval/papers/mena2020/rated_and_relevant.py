"""Figure 7 and Table 2: what is rated more is liked more, and the size of the data."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.audit.rank_correlation import kendall, pearson
from trueval.papers.drawing import Axis, Panels, point_chart
from trueval.papers.mena2020.constants import MOVIELENS, UNBIASED
from trueval.papers.mena2020.data import one_survey, threshold_of
from trueval.papers.mena2020.statements import printed
from trueval.papers.record import Figure, claim
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import rounded
from trueval.splits.row_hashing import chain, coin

_TITLE = "Probability of a rating against probability of relevance"
_SIZES = "Details of the data sets"
_DRAWN = 400


@figure("7", _TITLE)
def rated_and_relevant(setting: Setting) -> Figure:
    """Of each item, the share of users with a biased rating, and the share of random ratings that are relevant."""
    log = setting.logs[UNBIASED]
    users = log.n_users
    rated = log.frame.filter("biased").group_by("item").agg(rated=pl.len() / users)
    liked = log.frame.filter("random").group_by("item").agg(relevant=(pl.col("value") >= threshold_of(setting)).mean())
    table = liked.join(rated, on="item", how="left", maintain_order="left").with_columns(pl.col("rated").fill_null(0.0))
    table = table.sort("item").select("item", "rated", "relevant")
    one, other = table["rated"].to_numpy(), table["relevant"].to_numpy()
    r, tau = pearson(one, other), kendall(one, other)
    some = np.argsort(coin(chain(setting.seed, "items in pictures", np.arange(len(table)))), kind="stable")[:_DRAWN]
    chart = point_chart(
        "mena2020-7",
        f"{_TITLE}: r = {rounded(r)}",
        f"{min(_DRAWN, len(table))} items, drawn at random: the share of users who rated it by themselves, and the "
        f"share of randomly asked users who like it. Pearson's r of all {len(table):,} items is {rounded(r)}, "
        f"Kendall's τ-b {rounded(tau)}.",
        table[np.sort(some).tolist()].with_columns(of=pl.lit("item")).drop("item"),
        Panels(Axis("relevant", "p(rel|i)"), Axis("rated", "p(rated|i)"), "of", height=300),
    )
    high = claim(
        "7", "the correlation of rating and relevance is high", holds=r > 0.5,
        evidence=f"Pearson's r {rounded(r)}, τ-b {rounded(tau)} (high: r above 0.5)",
    )  # fmt: skip
    return Figure("7", _TITLE, {"mena2020-7": table}, {"mena2020-7": chart}, (high,))


@figure("table2", _SIZES)
def sizes(setting: Setting) -> Figure:
    """Users, items and ratings."""
    rows = []
    for slot, log in setting.logs.items():
        biased = int(log.frame["biased"].sum()) if slot == UNBIASED else len(log)
        rows.append((log.name, log.n_users, log.n_items, len(log), biased, len(log) - biased))
    kinds = {"data": pl.String, **dict.fromkeys(("users", "items", "ratings", "biased", "others"), pl.Int64)}
    table = pl.DataFrame(rows, schema=kinds, orient="row")
    film = {"users": 6040, "items": 3706, "ratings": 1_000_209}
    survey = one_survey(setting.logs[UNBIASED])
    music = {"users": 1054, "items": 1084, "ratings": 103_584, "biased": 11_594, "others": 91_990} if survey else {
        "users": 5400, "items": 1000, "ratings": 183_179, "biased": 129_179, "others": 54_000}  # fmt: skip
    called = {"biased": "ratings of familiar music", "others": "ratings of unfamiliar music"} if survey else {
        "biased": "train ratings", "others": "test ratings"}  # fmt: skip
    statements = [
        printed(setting, slot, "table2", f"{name}: {called.get(what, what)}", published=value,
                here=table[what][place], tolerance=0, digits=0)
        for place, (slot, name, own) in enumerate(
            ((MOVIELENS, "MovieLens 1M", film), (UNBIASED, "CM100k" if survey else "Yahoo! R3", music)))
        for what, value in own.items()
    ]  # fmt: skip
    return Figure("table2", _SIZES, {"mena2020-table2": table}, {}, tuple(statements))
