"""Figures 4 and 5: how popular the recommended items are, and how many different ones there are."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.audit.rank_correlation import kendall
from trueval.papers.drawing import Axis, Panels, line_chart, point_chart
from trueval.papers.record import Figure, Statement, claim, not_comparable
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.papers.steck2011.evaluation import FULL, MF, beta_ws, evaluated, liked_counts, list_values, parts_of, pop
from trueval.papers.steck2011.tuning import chosen_parameters

_FOURTH, _FIFTH = "Popularity rank and coverage of the first k", "Recommendations by popularity rank"
_CELL = 100  # items that a point stands for
_KIND = "increasing"
_NETFLIX = "of the 17,770 movies of Netflix in the paper"


def _names(setting: Setting, wanted: tuple[float, ...]) -> dict[str, str]:
    """Systems that are drawn: what they are called, by system."""
    chosen, known = chosen_parameters(setting), (0.0, *beta_ws(setting))
    drawn = [beta for beta in wanted if beta in known] or [known[-1]]
    return {MF: MF, **{pop(_KIND, beta, chosen): f"AllRank-Pop, β_w = {beta:g}" for beta in drawn}}


@figure("4", _FOURTH)
def popularity_and_coverage(setting: Setting) -> Figure:
    """Median popularity rank and catalogue coverage of the first k recommendations of all users."""
    names = _names(setting, (0.0, 0.5, 0.9, 1.0))
    table = list_values(setting)
    own = table.filter(pl.col("system").is_in(list(names))).with_columns(pl.col("system").replace(names))
    shown = pl.concat([
        own.select(pl.lit(panel).alias("panel"), "system", "k", value=column)
        for panel, column in (("median popularity rank", "median_rank"), ("catalogue coverage", "coverage"))
    ])  # fmt: skip
    last = [
        f"{row['system']} rank {row['median_rank']:,.0f}, coverage {row['coverage']:.0%}"
        for row in own.filter(k=20).iter_rows(named=True)
    ]
    chart = line_chart(
        "steck2011-4", _FOURTH, f"Of all users' first k. At k = 20: {'; '.join(last)}.",
        shown, Panels(Axis("k", "k"), Axis("value", "", zero=True), panel="panel"),
    )  # fmt: skip
    statements = tuple(_list_claims(setting, table, names))
    return Figure("4", _FOURTH, {"steck2011-4": table}, {"steck2011-4": chart}, statements)


def _list_claims(setting: Setting, table: pl.DataFrame, names: dict[str, str]) -> list[Statement]:
    at = {row["system"]: row for row in table.filter(k=20).iter_rows(named=True)}
    steps = (0.0, *beta_ws(setting))
    chosen = chosen_parameters(setting)
    ranks = [at[pop(_KIND, beta, chosen)]["median_rank"] for beta in steps]
    covered = [at[pop(_KIND, beta, chosen)]["coverage"] for beta in steps]
    mf = at[MF]
    counts = liked_counts(parts_of(setting))
    seen = parts_of(setting).train.frame.join(counts, on="item")["rank"].median()
    assert isinstance(seen, float)
    well_below = mf["coverage"] < 0.8 * max(covered)
    path = ", ".join(f"β_w {beta:g}: {rank:,.0f}" for beta, rank in zip(steps, ranks))
    return [
        claim("4", "the median popularity rank of the first 20 grows with β_w", holds=ranks == sorted(ranks),
              evidence=path),
        not_comparable("4", "median popularity rank of the first 20, β_w = 0 to 1", published="a few hundred to over "
                       "2,500", here=f"{ranks[0]:,.0f} to {ranks[-1]:,.0f}", note=_NETFLIX),
        not_comparable("4", "median popularity rank of the first 20 of MF-RMSE", published="slightly below 1,000",
                       here=f"{mf['median_rank']:,.0f}", note=_NETFLIX),
        not_comparable("4", "median popularity rank of the train ratings", published="426", here=f"{seen:,.0f}",
                       note=_NETFLIX),
        claim("4", "MF-RMSE recommends from further down the tail than AllRank, and than what people rate",
              holds=mf["median_rank"] > max(ranks[0], seen),
              evidence=f"median rank {mf['median_rank']:,.0f}; AllRank {ranks[0]:,.0f}, train ratings {seen:,.0f}"),
        claim("4", "the coverage of MF-RMSE is well below that of AllRank-Pop", holds=well_below,
              evidence=f"MF-RMSE {mf['coverage']:.0%}; "
              + ", ".join(f"β_w {beta:g}: {share:.0%}" for beta, share in zip(steps, covered))),
        not_comparable("4", "coverage of the first 20: MF-RMSE, AllRank-Pop already for small β_w",
                       published="slightly above 60 %, over 90 %",
                       here=f"{mf['coverage']:.0%}, {covered[1]:.0%} at β_w = {steps[1]:g}, {covered[-1]:.0%} at "
                       f"{steps[-1]:g}", note=f"{_NETFLIX}, with 80 times as many users to cover them"),
    ]  # fmt: skip


@figure("5", _FIFTH)
def shown_by_rank(setting: Setting) -> Figure:
    """How often items are among the first 20, by popularity rank; each point is the sum over 100 items."""
    names = _names(setting, (0.5, 1.0))
    table = setting.step("shown", _shown, systems=list(names))
    shown = table.with_columns(pl.col("system").replace(names)).filter(pl.col("recommended") > 0)
    rated = (
        table.filter(system=MF)
        .select(pl.lit("train ratings").alias("system"), "rank", recommended=pl.col("liked").cast(float))
        .filter(pl.col("recommended") > 0)
    )
    chart = point_chart(
        "steck2011-5", _FIFTH,
        f"Each point stands for {_cell(setting)} items, at their mean popularity rank; the vertical axis is "
        "logarithmic. Items' relevant train ratings are shown for comparison.",
        pl.concat([shown.select("system", "rank", pl.col("recommended").cast(float)), rated]),
        Panels(Axis("rank", "popularity rank", format=",d"),
               Axis("recommended", "times recommended", format="~s", log=True)),
    )  # fmt: skip
    return Figure("5", _FIFTH, {"steck2011-5": table}, {"steck2011-5": chart}, tuple(_rank_claims(table, names)))


def _cell(setting: Setting) -> int:
    return min(_CELL, max(10, setting.log.n_items // 30))


def _shown(setting: Setting, systems: list[str]) -> pl.DataFrame:
    """Per system and cell of popularity ranks: how often its items are among the first 20, how many are ever."""
    counts = liked_counts(parts_of(setting))
    facts = evaluated(setting)[FULL].facts
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


def _rank_claims(table: pl.DataFrame, names: dict[str, str]) -> list[Statement]:
    aligned = {
        label: kendall(own["rank"].to_numpy(), own["recommended"].to_numpy().astype(float))
        for name, label in names.items()
        for own in (table.filter(system=name),)
    }
    pops = [label for label in aligned if label != MF]
    told = ", ".join(f"{label} {tau:.2f}" for label, tau in aligned.items())
    ends = [table.filter(system=name)["recommended"].to_numpy() for name in names if name != MF]
    middle = [float(np.average(np.arange(len(one)), weights=one)) for one in ends]
    own = table.filter(system=MF)
    never = 1 - float(own["ever"].sum()) / float(own["items"].sum())
    return [
        claim("5", "recommendations of AllRank-Pop drop off steadily with popularity",
              holds=all(aligned[label] < -0.8 for label in pops),
              evidence=f"τ of rank and frequency over cells: {told}"),
        claim("5", "those of MF-RMSE are less well aligned with popularity",
              holds=all(aligned[MF] > aligned[label] for label in pops),
              evidence=f"τ of rank and frequency over cells: {told}"),
        claim("5", "a larger β_w shifts the recommendations to less popular items",
              holds=len(middle) < 2 or middle == sorted(middle),
              evidence=f"mean cell of popularity: {', '.join(f'{m:.1f}' for m in middle)}"),
        not_comparable("5", "items that MF-RMSE never recommends among the first 20", published="almost 40 %",
                       here=f"{never:.0%}", note=_NETFLIX),
    ]  # fmt: skip
