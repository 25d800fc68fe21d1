"""Figure 2: precision of five systems in three settings, and on data without ratings under a temporal split."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import polars as pl

from trueval.evaluation.outcome import SystemResult
from trueval.papers.bellogin2017.evaluation import (
    HOLDOUT,
    OTHER_METRICS,
    SYSTEMS,
    design_values,
    evaluated,
    means,
    one_relevant_design,
    other_data,
    value,
)
from trueval.papers.bellogin2017.implicit_world import temporal_values
from trueval.papers.drawing import Axis, Panels, bar_chart
from trueval.papers.record import Figure, Statement, claim, not_comparable, number
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import percent
from trueval.statistics.significance_tests import signed_ranks

_TITLE = "P@10 of five systems in AR and 1R"
_P = "precision@10"
_ALMOST, _THEORY = 0.02, 0.1  # relative differences that count as none
_SIGNIFICANT = 0.001
_SIMILAR = 0.9  # of the pairs of systems


def settings_of(setting: Setting) -> dict[str, str]:
    """The three settings of figures 2 and 9: design by name."""
    return {"AR TI-AN": "AR-TI-AN", "AR AI-AN": "AR-AI-AN", "1R TI-NN": one_relevant_design(setting.log)}


@figure("2", _TITLE)
def settings_compared(setting: Setting) -> Figure:
    """Bars of P@10, a panel for each data set and design."""
    names = settings_of(setting)
    found = means(design_values(setting)).filter(pl.col("design").is_in(list(names.values())))
    every = found.with_columns(setting=pl.col("design").replace({v: k for k, v in names.items()}))
    here = every.filter(metric=_P)
    listened = means(temporal_values(setting)).filter(metric=_P)
    listened = listened.with_columns(setting=pl.format("implicit, temporal, {}", pl.col("design").str.slice(0, 2)))
    columns = ["setting", "system", "value", "spread", "by_chance", "splits"]
    table = pl.concat([here.select(columns), listened.select(columns)])
    shown = table.filter(pl.col("system").is_in(SYSTEMS))
    chart = bar_chart(
        "bellogin2017-2",
        _TITLE,
        "Mean P@10 over the splits; every panel has an axis of its own. " + _described(shown),
        shown.select("setting", "system", "value"),
        Panels(Axis("system", ""), Axis("value", "P@10", zero=True), panel="setting", columns=3, height=190),
    )
    tested = setting.step("pairs tested", _tested_pairs)
    statements = [
        *_claims(here, names, other_data(setting)), _significant(tested),
        same_trends(every, list(names), "2", ("ndcg@10", "ap", "rr")), *_world_claims(listened),
    ]  # fmt: skip
    tables = {"bellogin2017-2": table, "bellogin2017-2-pairs": tested}
    return Figure("2", _TITLE, tables, {"bellogin2017-2": chart}, tuple(statements), _text(setting))


def _text(setting: Setting) -> tuple[str, ...]:
    factors = 20 if setting.quick else 50
    return (
        f"The paper does not give the parameters of the systems. Here pLSA has {factors} topics and MF {factors} "
        "factors; kNN predicts a rating, as the weighted mean of 100 neighbours, for only that stays near random in "
        "figure 5. A kNN that sums over its neighbours (summed_kNN in the tables) is another system.",
    )


def _described(shown: pl.DataFrame) -> str:
    firsts = [
        f"{name}: {own['system'][0]} is first ({own['value'][0]:.4f})"
        for (name,), own in shown.sort("value", descending=True).group_by("setting", maintain_order=True)
    ]
    return "; ".join(sorted(firsts)) + "."


def ordered(table: pl.DataFrame, **where: str) -> list[str]:
    """The five systems of the paper in one place of a table, best first."""
    own = table.filter(pl.col("system").is_in(SYSTEMS), **where)
    return own.sort("value", descending=True)["system"].to_list()


def _claims(here: pl.DataFrame, names: dict[str, str], apart: str) -> list[Statement]:
    orders = {name: ordered(here, setting=name) for name in names}
    told = "; ".join(f"{name}: {' > '.join(order)}" for name, order in orders.items())
    firsts = sum(order[0] == "pLSA" for order in orders.values())
    second = all(order[:2] == ["pLSA", "popularity"] for order in orders.values())
    better = sum(order.index("MF") < order.index("kNN") for order in orders.values())
    at = {(s, name): value(here, setting=name, system=s) for s in (*SYSTEMS, "summed_kNN") for name in names}
    gap = {s: abs(at[s, "AR TI-AN"] / at[s, "AR AI-AN"] - 1) for s in SYSTEMS}
    chance = {name: float(here.filter(setting=name)["by_chance"][0]) for name in names}
    off = max(abs(at["random", name] / chance[name] - 1) for name in names)
    summed = ", ".join(f"{at['summed_kNN', name]:.4f} in {name}" for name in names)
    return [
        claim("2", "pLSA is first in most settings", holds=firsts > len(orders) / 2, evidence=told,
              note=f"A kNN that sums over its neighbours would be first: {summed}"
              if at["summed_kNN", "AR TI-AN"] > at["pLSA", "AR TI-AN"] else ""),
        claim("2", "popularity follows pLSA closely", holds=second,
              evidence="P@10 of popularity over that of pLSA: " + ", ".join(
                  f"{name} {percent(at['popularity', name] / at['pLSA', name], 0)}" for name in names)
              + " (closely: it is the next in all settings)"),
        claim("2", "MF is generally superior to kNN", holds=better > len(orders) / 2, evidence=told),
        claim("2", "TI and AI give almost the same results", holds=max(gap.values()) < _ALMOST,
              evidence=f"they differ by {', '.join(f'{percent(x, 2)} ({s})' for s, x in gap.items())}; "
              f"{percent(_ALMOST, 0)} allowed",
              note="all items are more than those with a test rating: less of what is ranked is relevant. The order of "
              f"the systems is {'the same' if orders['AR TI-AN'] == orders['AR AI-AN'] else 'another one'}"),
        claim("2", "the precision of random recommendation is that of theory: σδ in AR, 1/t in 1R", holds=off < _THEORY,
              evidence=", ".join(f"{name} {at['random', name]:.5f}, expected {chance[name]:.5f}" for name in names)
              + f" ({percent(_THEORY, 0)} allowed)"),
        number("2", "P@10 of popularity in AR", published=0.08, here=at["popularity", "AR TI-AN"], tolerance=0.01,
               digits=3, apart=apart),
        claim("2", "P@10 is at most 1/10 in 1R", holds=max(at[s, "1R TI-NN"] for s in SYSTEMS) <= 0.1,
              evidence=f"the highest is {max(at[s, '1R TI-NN'] for s in SYSTEMS):.4f}"),
    ]  # fmt: skip


def _tested_pairs(setting: Setting) -> pl.DataFrame:
    """Wilcoxon's test of every two systems in 1R on the first split, over users: system, other, p, users."""
    result = evaluated(setting, HOLDOUT)[one_relevant_design(setting.log)]
    first = next(iter(result.repeats.values())) if result.repeats else result.evaluation
    by_user = {name: _user_means(first.systems[name]) for name in SYSTEMS}
    rows = [
        (one, other, signed_ranks(by_user[one] - by_user[other]), len(by_user[one]))
        for one, other in itertools.combinations(SYSTEMS, 2)
    ]
    return pl.DataFrame(rows, schema=("system", "other", "p", "users"), orient="row")


def _user_means(system: SystemResult) -> np.ndarray:
    """Mean P@10 of every user over the relevant items."""
    (values,) = (own for label, own in system.values.items() if label.partition("|")[0] == _P)
    users, place = np.unique(system.unit_user, return_inverse=True)
    found: np.ndarray = np.bincount(place, values, len(users)) / np.bincount(place, minlength=len(users))
    return found


def _significant(tested: pl.DataFrame) -> Statement:
    below = tested.filter(pl.col("p") < _SIGNIFICANT)
    rest = [f"{one} and {other} {p:.2g}" for one, other, p, _ in tested.sort("p").iter_rows() if p >= _SIGNIFICANT]
    return claim(
        "2", "in 1R all pairwise differences are significant (Wilcoxon, p ≪ 0.001)", holds=len(below) == len(tested),
        evidence=f"p below {_SIGNIFICANT:g} for {len(below)} of {len(tested)} pairs, over the "
        f"{tested['users'][0]:,} users of the first split" + (f"; not {', '.join(rest)}" if rest else ""),
    )  # fmt: skip


def same_trends(every: pl.DataFrame, settings: Sequence[str], figure: str, labels: Sequence[str]) -> Statement:
    """Whether other metrics rank the systems much as P@10 does: by pairs of systems over all settings."""
    alike, pairs, differ = 0, 0, []
    for label, name in itertools.product(labels, settings):
        own, main = (ordered(every, metric=metric, setting=name) for metric in (label, _P))
        same = [
            (own.index(a) < own.index(b)) == (main.index(a) < main.index(b))
            for a, b in itertools.combinations(SYSTEMS, 2)
        ]
        alike, pairs = alike + sum(same), pairs + len(same)
        differ += [] if all(same) else [f"{OTHER_METRICS[label]} in {name}: {' > '.join(own)}"]
    share = alike / pairs
    words = f"{percent(share, 0)} of the pairs of systems are in the same order ({percent(_SIMILAR, 0)} needed)"
    return claim(figure, f"{', '.join(OTHER_METRICS[label] for label in labels)} show similar trends as P@10",
                 holds=share >= _SIMILAR, evidence="; ".join([words, *differ]))  # fmt: skip


def _world_claims(listened: pl.DataFrame) -> list[Statement]:
    orders = {name: ordered(listened, setting=name) for name in listened["setting"].unique(maintain_order=True)}
    first, *_ = orders
    note = "not rerun on the Last.fm extract; a generated world of plays stands in"
    popular = value(listened, setting=first, system="popularity")
    disagree = sum(
        (one.index(a) < one.index(b)) != (other.index(a) < other.index(b))
        for one, other in itertools.combinations(orders.values(), 2)
        for a, b in itertools.combinations(SYSTEMS, 2)
    )
    return [
        not_comparable("2", "Last.fm, AR: popularity is the best", published="0.35", here=f"{popular:.4f}",
                       note=note, evidence=f"order here: {' > '.join(orders[first])}"),
        not_comparable("2", "Last.fm: AR and 1R disagree on some pairs of systems", published="yes",
                       here=f"{disagree} of 10 pairs", note=note),
    ]  # fmt: skip
