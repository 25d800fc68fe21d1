"""Figure 8: designs that take the advantage of popularity away."""

from __future__ import annotations

import polars as pl

from trueval.papers.bellogin2017.evaluation import (
    OTHER_METRICS,
    SYSTEMS,
    ar_sample,
    design_values,
    means,
    one_relevant_design,
    target_size,
    value,
)
from trueval.papers.bellogin2017.implicit_world import uniform_values
from trueval.papers.bellogin2017.settings_compared import ordered, same_trends
from trueval.papers.drawing import Axis, Panels, bar_chart
from trueval.papers.record import Figure, Statement, claim
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import percent

_TITLE = "Designs against popularity bias"
_P, _N = "precision@10", "ndcg@10"
_HEAD = "1R -10 % head"
_NEAR = 0.2  # of the lead that popularity has over random under 1R: at most so much is left where it is "at random"


def _names(setting: Setting) -> dict[str, str]:
    """The settings of the figure: design by name."""
    one, sample = one_relevant_design(setting.log), target_size(setting.log) - 1
    return {
        "1R": one, "U1R": f"U1R-TI-NN{sample}", "P1R": f"P1R10-TI-NN{sample}", _HEAD: f"{one}-head10",
        "AR": f"AR-TI-NN{ar_sample(setting.log)}", "UAR": "UAR", "AI-UAR": "UAR-AI-AN",
    }  # fmt: skip


@figure("8", _TITLE)
def remedies(setting: Setting) -> Figure:
    """P@10 and nDCG@10 under 1R, U1R, P1R, without the head, AR, UAR and AI-UAR."""
    names = _names(setting)
    found = means(design_values(setting)).filter(
        pl.col("design").is_in(list(names.values())), pl.col("metric").is_in([_P, *OTHER_METRICS])
    )
    by_name = {design: name for name, design in names.items()}
    table = found.with_columns(setting=pl.col("design").replace(by_name)).select(
        "setting", "design", "metric", "system", "value", "spread", "by_chance", "splits"
    )
    order = pl.Series(list(names))
    shown = table.filter(pl.col("system").is_in(SYSTEMS), pl.col("metric").is_in([_P, _N])).sort(
        pl.col("metric").replace_strict({_P: 0, _N: 1}), pl.col("setting").replace_strict(order, range(len(order))),
        maintain_order=True,
    )  # fmt: skip
    charts = {}
    for family, members in (("1R", list(names)[:4]), ("AR", list(names)[4:])):
        own = shown.filter(pl.col("setting").is_in(members))
        name = f"bellogin2017-8-{family}"
        charts[name] = bar_chart(
            name, f"{_TITLE}: {family} and its variants", f"Means over the splits. {_described(own)}",
            own.select("metric", "setting", "system", "value"),
            Panels(Axis("setting", ""), Axis("value", "", zero=True), panel="metric", columns=1, height=170),
        )  # fmt: skip
    return Figure("8", _TITLE, {"bellogin2017-8": table}, charts, tuple(_claims(table, setting)))


def _described(own: pl.DataFrame) -> str:
    own = own.filter(metric=_P)
    parts = [
        f"{name}: popularity {value(own, setting=name, system='popularity'):.4f}, random "
        f"{value(own, setting=name, system='random'):.4f}"
        for name in own["setting"].unique(maintain_order=True)
    ]
    return f"P@10 of popularity beside random. {'; '.join(parts)}."


def _claims(table: pl.DataFrame, setting: Setting) -> list[Statement]:
    own = table.filter(metric=_P)
    names = list(_names(setting))

    def at(name: str, system: str) -> float:
        return value(own, setting=name, system=system)

    def chance(name: str) -> float:
        return float(own.filter(setting=name)["by_chance"][0])

    def left(name: str, whole: str) -> float:
        """Of the lead of popularity over random, as a multiple of random, what a setting leaves."""
        return (at(name, "popularity") / chance(name) - 1) / (at(whole, "popularity") / chance(whole) - 1)

    orders = {name: ordered(own, setting=name) for name in names}
    told = "; ".join(f"{name}: {' > '.join(order)}" for name, order in orders.items())
    lead = {name: left(name, "1R") for name in names[1:4]}
    leads = ", ".join(f"{name} {percent(x, 0)}" for name, x in lead.items())
    ratio = {name: at(name, "popularity") / chance(name) for name in names}
    statements = [
        claim("8", f"{name} puts popularity at the level of random", holds=lead[name] <= _NEAR,
              evidence=f"popularity {at(name, 'popularity'):.4f}, random {chance(name):.4f}: {percent(lead[name], 0)} "
              f"of its lead under 1R is left (at most {percent(_NEAR, 0)} counts as random)")
        for name in ("P1R", "U1R")
    ]  # fmt: skip
    statements += [
        claim("8", "pLSA stays first in all settings", holds=all(order[0] == "pLSA" for order in orders.values()),
              evidence=told),
        claim("8", "U1R keeps some popularity bias, more than P1R does", holds=lead["U1R"] > max(lead["P1R"], 0),
              evidence=f"of the lead over random under 1R is left: {leads}"),
        claim("8", "removing the head reduces popularity, but less than U1R and P1R",
              holds=1 > lead[_HEAD] > max(lead["U1R"], lead["P1R"]), evidence=f"left: {leads}"),
        claim("8", "UAR lowers popularity, which stays above kNN",
              holds=left("UAR", "AR") < 1 and at("UAR", "popularity") > at("UAR", "kNN"),
              evidence=f"popularity over random: AR {ratio['AR']:.1f}, UAR {ratio['UAR']:.1f}; kNN in UAR "
              f"{at('UAR', 'kNN'):.4f}, popularity {at('UAR', 'popularity'):.4f}"),
        claim("8", "without the TI policy (AI-UAR) more bias remains", holds=ratio["AI-UAR"] > ratio["UAR"],
              evidence=f"popularity over random: UAR {ratio['UAR']:.1f}, AI-UAR {ratio['AI-UAR']:.1f}"),
        _same_in_ndcg(table, names, orders),
        same_trends(table, names, "8", ("recall@10", "ap", "rr")),
        _constant_ratio(setting),
    ]  # fmt: skip
    return statements


def _same_in_ndcg(table: pl.DataFrame, names: list[str], orders: dict[str, list[str]]) -> Statement:
    by_gain = {name: ordered(table.filter(metric=_N), setting=name) for name in names}
    differ = [name for name in names if by_gain[name] != orders[name]]
    told = "; ".join(f"{name}: {' > '.join(by_gain[name])}" for name in differ)
    return claim("8", "nDCG@10 shows the same patterns as P@10", holds=not differ,
                 evidence=f"the same order of systems in {len(names) - len(differ)} of {len(names)} settings"
                 + (f"; nDCG@10 in {told}" if differ else ""))  # fmt: skip


def _constant_ratio(setting: Setting) -> Statement:
    """Where all ratings are positive, nothing of the bias is left in U1R."""
    world = means(uniform_values(setting)).filter(system="popularity")
    unseen, every = world.sort("design").iter_rows(named=True)
    popular, chance = unseen["value"], unseen["by_chance"]
    return claim("8", "where all ratings are positive (Last.fm), popularity drops to random in U1R",
                 holds=popular < 1.15 * chance, evidence=f"popularity {popular:.4f}, random {chance:.4f} on a "
                 "generated world of plays (15 % above random allowed)",
                 note=f"with the user's train items among the targets it is {every['value']:.4f} (random "
                 f"{every['by_chance']:.4f}): without them, the items to compare with are less popular than the one "
                 "that is tested")  # fmt: skip
