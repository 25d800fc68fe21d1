"""Figures 4 and 5: how popular the recommended items are, and how many different ones there are."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.audit.rank_correlation import kendall
from trueval.papers.drawing import Axis, Panels, line_chart, point_chart
from trueval.papers.record import Figure, Statement, claim, not_comparable
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.papers.steck2011.evaluation import (
    MF,
    WEIGHTS,
    beta_ws,
    liked_counts,
    list_facts,
    list_values,
    parts_of,
    pop,
)
from trueval.papers.steck2011.tuning import chosen_parameters
from trueval.render.numbers import percent

_FOURTH, _FIFTH = "Popularity rank and coverage of the first k", "Recommendations by popularity rank"
_CELL = 100  # items that a point stands for
_WELL_BELOW = 0.8
_NETFLIX = "of the 17,770 movies of Netflix in the paper"
_TEXT = (
    "The paper's increasing weights are w_m(i) ∝ (N+)^β_w. Items without a relevant train rating would have the weight "
    "0: nothing would keep their predictions low, and they would be recommended often as soon as β_w > 0. Netflix has "
    "hardly any such items, MovieLens has many. Here, 1 is added to N+, as the paper does in decreasing weights.",
)


def _names(setting: Setting, kind: str, wanted: tuple[float, ...]) -> dict[str, str]:
    """Systems that are drawn: what they are called, by system."""
    chosen, known = chosen_parameters(setting), (0.0, *beta_ws(setting))
    drawn = [beta for beta in wanted if beta in known] or [known[-1]]
    return {MF: MF, **{pop(kind, beta, chosen): f"AllRank-Pop, β_w = {beta:g}" for beta in drawn}}


@figure("4", _FOURTH)
def popularity_and_coverage(setting: Setting) -> Figure:
    """Median popularity rank and catalogue coverage of the first k recommendations of all users."""
    table = list_values(setting)
    charts, statements = {}, _common_claims(setting, table)
    for kind in WEIGHTS:
        names = _names(setting, kind, (0.0, 0.5, 0.9, 1.0))
        own = table.filter(pl.col("system").is_in(list(names))).with_columns(pl.col("system").replace(names))
        shown = pl.concat([
            own.select(pl.lit(panel).alias("panel"), "system", "k", value=column)
            for panel, column in (("median popularity rank", "median_rank"), ("catalogue coverage", "coverage"))
        ])  # fmt: skip
        last = [
            f"{row['system']} rank {row['median_rank']:,.0f}, coverage {percent(row['coverage'], 0)}"
            for row in own.filter(k=20).iter_rows(named=True)
        ]
        name = f"steck2011-4-{kind}"
        charts[name] = line_chart(
            name, f"{_FOURTH}, {kind} weights", f"Of all users' first k. At k = 20: {'; '.join(last)}.", shown,
            Panels(Axis("k", "k"), Axis("value", "", zero=True), panel="panel"),
        )  # fmt: skip
        statements += _list_claims(setting, table, kind)
    return Figure("4", _FOURTH, {"steck2011-4": table}, charts, tuple(statements), _TEXT)


def _at_twenty(setting: Setting, table: pl.DataFrame, kind: str, column: str) -> dict[float, float]:
    """A column at k = 20 by β_w."""
    at = dict(table.filter(k=20).select("system", column).iter_rows())
    chosen = chosen_parameters(setting)
    return {beta: at[pop(kind, beta, chosen)] for beta in (0.0, *beta_ws(setting))}


def _list_claims(setting: Setting, table: pl.DataFrame, kind: str) -> list[Statement]:
    """What is claimed of AllRank-Pop, for one of its variants."""
    ranks, covered = (_at_twenty(setting, table, kind, column) for column in ("median_rank", "coverage"))
    mf = float(table.filter(system=MF, k=20)["coverage"].item())
    small = next(beta for beta in covered if beta > 0)
    largest, wide = max(covered), [beta for beta, share in covered.items() if mf < _WELL_BELOW * share]
    drawn = [covered[beta] for beta in (0.0, 0.5, 0.9, 1.0) if beta in covered]
    told = f"MF-RMSE {percent(mf, 0)}; " + ", ".join(f"β_w {beta:g}: {percent(x, 0)}" for beta, x in covered.items())
    return [
        claim("4", f"the median popularity rank of the first 20 grows with β_w ({kind})",
              holds=list(ranks.values()) == sorted(ranks.values()),
              evidence=", ".join(f"β_w {beta:g}: {rank:,.0f}" for beta, rank in ranks.items())),
        not_comparable("4", f"median popularity rank of the first 20, β_w = 0 to 1 ({kind})",
                       published="a few hundred to over 2,500", here=f"{ranks[0.0]:,.0f} to {ranks[largest]:,.0f}",
                       note=_NETFLIX),
        claim("4", f"the coverage of MF-RMSE is well below that of AllRank-Pop with some β_w ({kind})",
              holds=bool(wide), evidence=f"{told} (well below: under four fifths of it)"),
        claim("4", f"MF-RMSE covers well less than AllRank-Pop already for small β_w ({kind})", holds=small in wide,
              evidence=f"{percent(covered[small], 0)} at β_w = {small:g}; "
              + (f"MF-RMSE is well below from β_w = {min(wide):g} on" if wide else "never well below")),
        claim("4", f"the coverage of the first 20 grows with β_w = 0, 0.5, 0.9, 1 ({kind})",
              holds=drawn == sorted(drawn), evidence=", ".join(percent(x, 0) for x in drawn)),
        not_comparable("4", f"coverage of AllRank-Pop for small β_w ({kind})", published="over 90 %",
                       here=f"{percent(covered[small], 0)} at β_w = {small:g}, "
                       f"{percent(covered[largest], 0)} at {largest:g}",
                       note=f"{_NETFLIX}, with 80 times as many users to cover them"),
    ]  # fmt: skip


def _common_claims(setting: Setting, table: pl.DataFrame) -> list[Statement]:
    """What is claimed of MF-RMSE."""
    parts = parts_of(setting)
    seen = parts.train.frame.join(liked_counts(parts), on="item")["rank"].median()
    assert isinstance(seen, float)
    mf = table.filter(system=MF, k=20).row(0, named=True)
    plain = _at_twenty(setting, table, WEIGHTS[0], "median_rank")[0.0]
    return [
        not_comparable("4", "median popularity rank of the first 20 of MF-RMSE", published="slightly below 1,000",
                       here=f"{mf['median_rank']:,.0f}", note=_NETFLIX),
        not_comparable("4", "median popularity rank of the train ratings", published="426", here=f"{seen:,.0f}",
                       note=_NETFLIX),
        *(claim("4", f"MF-RMSE recommends from further down the tail than {what}", holds=mf["median_rank"] > rank,
                evidence=f"median rank {mf['median_rank']:,.0f}; {name} {rank:,.0f}")
          for what, name, rank in (("AllRank", "AllRank", plain), ("what people rate", "train ratings", seen))),
        not_comparable("4", "coverage of the first 20 of MF-RMSE", published="slightly above 60 %",
                       here=percent(mf['coverage'], 0), note=_NETFLIX),
    ]  # fmt: skip


@figure("5", _FIFTH)
def shown_by_rank(setting: Setting) -> Figure:
    """How often items are among the first 20, by popularity rank; each point is the sum over 100 items."""
    names = {kind: _names(setting, kind, (0.5, 1.0)) for kind in WEIGHTS}
    systems = list(dict.fromkeys(name for own in names.values() for name in own))
    table = setting.step("shown", _shown, systems=systems)
    rated = table.filter(system=MF).select(
        pl.lit("train ratings").alias("system"), "rank", recommended=pl.col("liked").cast(float)
    ).filter(pl.col("recommended") > 0)  # fmt: skip
    charts, statements = {}, []
    for kind, own in names.items():
        shown = table.filter(pl.col("system").is_in(list(own)), pl.col("recommended") > 0)
        shown = shown.with_columns(pl.col("system").replace(own), pl.col("recommended").cast(float))
        name = f"steck2011-5-{kind}"
        charts[name] = point_chart(
            name, f"{_FIFTH}, {kind} weights",
            f"Each point stands for {_cell(setting)} items, at their mean popularity rank; the vertical axis is "
            "logarithmic. Relevant train ratings are shown for comparison.",
            pl.concat([shown.select("system", "rank", "recommended"), rated]),
            Panels(Axis("rank", "popularity rank", format=",d"),
                   Axis("recommended", "times recommended", format="~s", log=True)),
        )  # fmt: skip
        statements += _rank_claims(table, own, kind)
    return Figure("5", _FIFTH, {"steck2011-5": table}, charts, (*statements, _never(table)))


def _cell(setting: Setting) -> int:
    return min(_CELL, max(10, setting.log.n_items // 30))


def _shown(setting: Setting, systems: list[str]) -> pl.DataFrame:
    """Per system and cell of popularity ranks: how often its items are among the first 20, how many are ever."""
    counts = liked_counts(parts_of(setting))
    facts = list_facts(setting, systems)
    frames = []
    for system in systems:
        own = facts[system]
        places = np.bincount(own.list_item[own.place <= 20], minlength=len(own.items))
        shown = pl.DataFrame({"item": own.items.values, "recommended": places})
        cells = counts.join(shown, on="item", how="left").fill_null(0).sort("rank")
        cells = cells.with_columns(cell=(pl.col("rank") - 1) // _cell(setting))
        frames.append(
            cells.group_by("cell", maintain_order=True)
            .agg(pl.col("rank").mean(), pl.col("recommended").sum(), pl.col("liked").sum(),
                 ever=(pl.col("recommended") > 0).sum(), items=pl.len())
            .with_columns(system=pl.lit(system))
        )  # fmt: skip
    return pl.concat(frames).drop("cell")


def _rank_claims(table: pl.DataFrame, names: dict[str, str], kind: str) -> list[Statement]:
    aligned = {
        label: kendall(own["rank"].to_numpy(), own["recommended"].to_numpy().astype(float))
        for name, label in names.items()
        for own in (table.filter(system=name),)
    }
    pops = [label for label in aligned if label != MF]
    told = "τ of rank and frequency over cells: " + ", ".join(f"{label} {tau:.2f}" for label, tau in aligned.items())
    often = [table.filter(system=name)["recommended"].to_numpy() for name in names if name != MF]
    middle = [float(np.average(np.arange(len(one)), weights=one)) for one in often]
    return [
        *(claim("5", f"recommendations of {label} drop off steadily with popularity ({kind})",
                holds=aligned[label] < -0.8, evidence=f"{told}; below -0.8 is steady") for label in pops),
        *(claim("5", f"those of MF-RMSE are less well aligned with popularity than those of {label} ({kind})",
                holds=aligned[MF] > aligned[label], evidence=told) for label in pops),
        claim("5", f"a larger β_w shifts the recommendations to less popular items ({kind})",
              holds=len(middle) < 2 or middle == sorted(middle),
              evidence=f"mean cell of popularity: {', '.join(f'{m:.1f}' for m in middle)}"),
    ]  # fmt: skip


def _never(table: pl.DataFrame) -> Statement:
    own = table.filter(system=MF)
    never = 1 - float(own["ever"].sum()) / float(own["items"].sum())
    return not_comparable("5", "items that MF-RMSE never recommends among the first 20", published="almost 40 %",
                          here=percent(never, 0), note=_NETFLIX)  # fmt: skip
