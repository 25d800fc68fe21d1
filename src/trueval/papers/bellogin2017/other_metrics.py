"""Figure 9: bpref, infAP and stratified recall in the settings of figure 2."""

from __future__ import annotations

import polars as pl

from trueval.papers.bellogin2017.evaluation import SYSTEMS, design_values, means, value
from trueval.papers.bellogin2017.implicit_world import temporal_values
from trueval.papers.bellogin2017.settings_compared import ordered, settings_of
from trueval.papers.drawing import Axis, Panels, bar_chart
from trueval.papers.record import Figure, Statement, claim, not_comparable
from trueval.papers.registry import figure
from trueval.papers.setting import Setting

_TITLE = "bpref, infAP and stratified recall"
_METRICS = {"bpref": "bpref", "infap": "infAP", "recall@10[gamma=1]": "stratified recall@10, γ = 1"}
_AR, _1R = "AR TI-AN", "1R TI-NN"


@figure("9", _TITLE)
def other_metrics(setting: Setting) -> Figure:
    """Bars of three metrics, a panel for each of them, in the settings of figure 2; bpref has no meaning in 1R."""
    names = settings_of(setting)
    chosen = pl.col("metric").is_in(list(_METRICS))
    values = means(_with_infap(design_values(setting)))
    values = values.filter(pl.col("design").is_in(list(names.values())), chosen)
    here = values.with_columns(setting=pl.col("design").replace({v: k for k, v in names.items()}))
    plays = means(_with_infap(temporal_values(setting))).filter(chosen)
    plays = plays.with_columns(setting=pl.format("plays, {}", pl.col("design").str.slice(0, 2)))
    columns = ["metric", "setting", "system", "value", "spread", "by_chance", "splits"]
    table = pl.concat([here.select(columns), plays.select(columns)])
    table = table.with_columns(pl.col("metric").replace(_METRICS))
    order = pl.col("metric").replace_strict({name: place for place, name in enumerate(_METRICS.values())})
    shown = table.filter(pl.col("system").is_in(SYSTEMS)).sort(order, maintain_order=True)
    chart = bar_chart(
        "bellogin2017-9", _TITLE, "Means over the splits. " + _described(shown),
        shown.select("metric", "setting", "system", "value"),
        Panels(Axis("setting", ""), Axis("value", "", zero=True), panel="metric", columns=1, height=170),
    )  # fmt: skip
    return Figure("9", _TITLE, {"bellogin2017-9": table}, {"bellogin2017-9": chart}, tuple(_claims(table)), _TEXT)


_TEXT = (
    "In 1R no item of a target set is judged but the relevant one at rank k, so that infAP is (1 + 1/k) / 2 there: the "
    "reciprocal rank on another scale. bpref would be 1 for every system.",
)


def _with_infap(values: pl.DataFrame) -> pl.DataFrame:
    """The values with infAP in 1R, where nothing above the relevant item is judged: it follows from the rank."""
    alone = values.filter(pl.col("design").str.starts_with("1R"), metric="rr")
    alone = alone.with_columns(pl.col("value", "by_chance") / 2 + 0.5, metric=pl.lit("infap"))
    return pl.concat([values, alone.select(values.columns)])


def _described(shown: pl.DataFrame) -> str:
    parts = [f"{metric}: {' > '.join(ordered(shown, metric=metric, setting=_AR))}" for metric in _METRICS.values()]
    return f"Order of the systems in {_AR}. {'; '.join(parts)}."


def _claims(table: pl.DataFrame) -> list[Statement]:
    bpref, infap, recall = _METRICS.values()
    order = {(m, s): ordered(table, metric=m, setting=s) for m in (infap, recall) for s in (_AR, _1R)}
    order[bpref, _AR] = ordered(table, metric=bpref, setting=_AR)
    of_ar = "; ".join(f"{metric}: {' > '.join(order[metric, _AR])}" for metric in (bpref, infap))
    lead = value(table, metric=infap, setting=_1R, system="popularity") > value(
        table, metric=infap, setting=_1R, system="MF")  # fmt: skip
    recalls = "; ".join(f"{s}: {' > '.join(order[recall, s])}" for s in (_AR, _1R))
    world = {m: ordered(table, metric=m, setting="plays, AR") for m in _METRICS.values()}
    note = "a generated world of plays stands in for Last.fm"
    judged = table.filter(metric=bpref, setting="plays, AR")["value"]
    return [
        claim("9", "bpref and infAP counter the popularity bias in AR",
              holds=all(order[metric, _AR].index("popularity") >= 2 for metric in (bpref, infap)), evidence=of_ar),
        claim("9", "bpref and infAP drag pLSA down along with popularity",
              holds=all(order[metric, _AR].index("pLSA") >= 2 for metric in (bpref, infap)), evidence=of_ar),
        claim("9", "in 1R, infAP favours popularity as P@10 does", holds=lead and order[infap, _1R][0] == "pLSA",
              evidence=" > ".join(order[infap, _1R])),
        claim("9", "by stratified recall (γ = 1) popularity remains second",
              holds=all(order[recall, s][1] == "popularity" for s in (_AR, _1R)), evidence=recalls),
        not_comparable("9", "Last.fm, AR: popularity and random are first by bpref", published="yes",
                       here=", ".join(sorted({f"{one:.4f}" for one in judged})), note=f"{note}; systems here score "
                       "every item, so that bpref is 1 for all where nothing is disliked"),
        not_comparable("9", "Last.fm, AR: popularity is first by infAP, random third", published="yes",
                       here=" > ".join(world[infap]), note=note),
        not_comparable("9", "Last.fm, AR: random is first by stratified recall", published="yes",
                       here=" > ".join(world[recall]), note=note),
    ]  # fmt: skip
