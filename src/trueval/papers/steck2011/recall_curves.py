"""Figures 1 and 2: recall over k, without popular items, and stratified by popularity."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl

from trueval.papers.drawing import Axis, Panels, line_chart, point_chart
from trueval.papers.record import Figure, Statement, claim, not_comparable
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.papers.steck2011.evaluation import (
    BEST,
    BETAS,
    MF,
    SVD,
    allrank,
    liked_counts,
    parts_of,
    recalls,
    recalls_without_head,
)
from trueval.papers.steck2011.tuning import chosen_parameters
from trueval.render.numbers import percent

_FIRST, _SECOND = "Recall of all items, and without the most-rated tenth", "Recall stratified by popularity"
_ALL, _TAIL = "a) all items", "b) without the 10 % most-rated"


def _names(setting: Setting) -> list[str]:
    """Systems that are drawn: AllRank with several weights, MF-RMSE, SVD, bestseller."""
    return [*map(allrank, chosen_parameters(setting).weights), MF, SVD, BEST]


def _place(names: list[str]) -> pl.Expr:
    """The order of the systems in a legend."""
    return pl.col("system").replace_strict({name: place for place, name in enumerate(names)}, return_dtype=pl.Int64)


@figure("1", _FIRST)
def recall_curves(setting: Setting) -> Figure:
    """Recall@k, and the same where the most-rated tenth of the items does not count."""
    names = _names(setting)
    whole = recalls(setting).filter(beta=0.0).select(pl.lit(_ALL).alias("panel"), "system", "k", "value")
    tail = recalls_without_head(setting).select(pl.lit(_TAIL).alias("panel"), "system", "k", "value")
    table = pl.concat([whole, tail])
    shown = table.filter(pl.col("system").is_in(names)).sort("panel", _place(names), "k")
    chart = line_chart(
        "steck2011-1", _FIRST,
        "Pooled over users, with 1,000 further items for each. AllRank is followed by its w_m. " + _firsts(shown),
        shown, Panels(Axis("k", "k"), Axis("value", "recall@k", zero=True), panel="panel"),
    )  # fmt: skip
    statements = tuple(_head_claims(shown, setting))
    return Figure("1", _FIRST, {"steck2011-1": table}, {"steck2011-1": chart}, statements)


def _firsts(shown: pl.DataFrame) -> str:
    last = shown.filter(k=20).sort("value", descending=True)
    parts = [f"{panel}: {own['system'][0]} is first ({own['value'][0]:.3f})"
             for (panel,), own in last.group_by("panel", maintain_order=True)]  # fmt: skip
    return "Recall@20, " + "; ".join(sorted(parts)) + "."


def _head_claims(shown: pl.DataFrame, setting: Setting) -> list[Statement]:
    at = {(panel, system): value for panel, system, k, value in shown.iter_rows() if k == 20}
    ranks = list(map(allrank, chosen_parameters(setting).weights))
    best = {panel: max(ranks, key=lambda name: at[panel, name]) for panel in (_ALL, _TAIL)}
    others = {panel: max((MF, SVD, BEST), key=lambda name: at[panel, name]) for panel in (_ALL, _TAIL)}
    wins = all(at[panel, best[panel]] > at[panel, others[panel]] for panel in best)
    lost = {name: 1 - at[_TAIL, name] / at[_ALL, name] for name in (best[_ALL], MF, SVD, BEST)}
    lead = {panel: at[panel, best[panel]] / at[panel, MF] for panel in best}
    ahead = {panel: at[panel, best[panel]] - at[panel, MF] for panel in best}
    share = _head_share(setting)
    return [
        claim("1", "AllRank has the largest recall@20, with and without popular items", holds=wins,
              evidence="; ".join(f"{panel}: {best[panel]} {at[panel, best[panel]]:.3f}, {others[panel]} "
                                 f"{at[panel, others[panel]]:.3f}" for panel in best)),
        claim("1", "without popular items a smaller w_m is best", holds=_weight(best[_TAIL]) < _weight(best[_ALL]),
              evidence=f"best w_m {_weight(best[_ALL]):g} with all items, {_weight(best[_TAIL]):g} without the head"),
        claim("1", "the advantage over MF-RMSE is smaller without popular items, as a difference",
              holds=ahead[_TAIL] < ahead[_ALL],
              evidence=f"recall of AllRank less that of MF-RMSE: {ahead[_ALL]:.3f}, without the head "
              f"{ahead[_TAIL]:.3f}"),
        claim("1", "the advantage over MF-RMSE is smaller without popular items, as a ratio",
              holds=lead[_TAIL] < lead[_ALL],
              evidence=f"recall of AllRank over that of MF-RMSE: {lead[_ALL]:.2f}, without the head {lead[_TAIL]:.2f}"),
        claim("1", "SVD and the bestseller list lose most when popular items do not count",
              holds=min(lost[SVD], lost[BEST]) > max(lost[best[_ALL]], lost[MF]),
              evidence="recall lost: " + ", ".join(f"{name} {percent(x, 0)}" for name, x in lost.items())),
        claim("1", "SVD and the bestseller list are surprisingly good with all items",
              holds=min(at[_ALL, SVD], at[_ALL, BEST]) > at[_ALL, MF],
              evidence=f"recall@20 of SVD {at[_ALL, SVD]:.3f}, bestseller {at[_ALL, BEST]:.3f}, MF-RMSE "
              f"{at[_ALL, MF]:.3f}"),
        not_comparable("1", "share of the ratings on the 10 % most-rated items", published="over 75 %",
                       here=percent(share, 0), note="of Netflix in the paper"),
    ]  # fmt: skip


def _weight(name: str) -> float:
    return float(name.split()[-1])


def _head_share(setting: Setting) -> float:
    counts = np.sort(setting.log.frame.group_by("item").len()["len"].to_numpy())[::-1]
    return float(counts[: round(0.1 * len(counts))].sum() / counts.sum())


@figure("2", _SECOND)
def stratified_recall(setting: Setting) -> Figure:
    """Relevant ratings by popularity rank, and recall@k stratified by β = 0.5 and 1."""
    names = _names(setting)
    found = recalls(setting).filter(pl.col("system").is_in(names))
    curves = found.filter(pl.col("beta").is_in([0.5, 1.0])).sort("beta", _place(names), "k")
    curves = curves.with_columns(panel=pl.format("β = {}", pl.col("beta")))
    law = liked_counts(parts_of(setting)).filter(pl.col("liked") > 0)
    law = law.select("rank", "liked").with_columns(series=pl.lit("items"))
    charts = {
        "steck2011-2a": point_chart(
            "steck2011-2a", "Relevant ratings per item in the train part", "Items by popularity rank, both axes "
            f"logarithmic; {len(law):,} items have a relevant rating.", _thinned(law),
            Panels(Axis("rank", "popularity rank", format="~s", log=True),
                   Axis("liked", "relevant ratings", format="~s", log=True), series="series"),
        ),
        "steck2011-2": line_chart(
            "steck2011-2", _SECOND, "Relevant items weigh (number of relevant ratings)^-β.",
            curves.select("panel", "system", "k", "value"),
            Panels(Axis("k", "k"), Axis("value", "recall(β)@k", zero=True), panel="panel"),
        ),
    }  # fmt: skip
    tables = {"steck2011-2": found, "steck2011-2a": law.drop("series")}
    return Figure("2", _SECOND, tables, charts, tuple(_beta_claims(found, law, setting)))


def _thinned(law: pl.DataFrame) -> pl.DataFrame:
    """The first hundred items, and of the others as many as the eye can tell apart."""
    ranks = np.unique(np.geomspace(1, len(law), 250).round().astype(int))
    return law.filter(pl.col("rank").is_in(ranks.tolist()))


def _beta_claims(found: pl.DataFrame, law: pl.DataFrame, setting: Setting) -> list[Statement]:
    at = {(system, beta): value for system, k, beta, value in found.iter_rows() if k == 20}
    ranks = list(map(allrank, chosen_parameters(setting).weights))
    best = {beta: max(ranks, key=lambda name: at[name, beta]) for beta in BETAS}
    weights = [_weight(best[beta]) for beta in BETAS]
    ratio = [at[best[beta], beta] / at[MF, beta] for beta in BETAS]
    kept = {name: at[name, 1.0] / at[name, 0.0] for name in (best[0.0], MF, SVD, BEST)}
    steps = list(itertools.pairwise(BETAS))
    falls = all(at[name, one] >= at[name, other] for name in (*ranks, MF, SVD, BEST) for one, other in steps)
    logs = np.log(law["rank"].to_numpy()), np.log(law["liked"].to_numpy())
    straight = float(np.corrcoef(*logs)[0, 1] ** 2)
    told = ", ".join(f"{name} {percent(x, 0)}" for name, x in kept.items())
    return [
        claim("2", "relevant ratings per item are close to a power law", holds=straight > 0.9,
              evidence=f"a straight line in logarithms explains {percent(straight, 0)} (close: above 90 %)",
              note="the curve of MovieLens 1M bends down at its end" if straight <= 0.9 else ""),
        claim("2", "recall falls for all systems as β grows", holds=falls,
              evidence=f"from β = 0 to 1 remain: {told}"),
        claim("2", "AllRank is above MF-RMSE for all β", holds=min(ratio) > 1,
              evidence=f"recall@20 over that of MF-RMSE: {ratio[0]:.2f} at β = 0, {ratio[-1]:.2f} at β = 1, at least "
              f"{min(ratio):.2f}"),
        claim("2", "the best w_m falls as β grows, and stays positive",
              holds=weights == sorted(weights, reverse=True) and weights[-1] < weights[0] and weights[-1] > 0,
              evidence="best w_m for β = 0, 0.1, …, 1: " + ", ".join(f"{w:g}" for w in weights)),
        claim("2", "SVD and the bestseller list fall most as β grows",
              holds=max(kept[SVD], kept[BEST]) < min(kept[best[0.0]], kept[MF]),
              evidence=f"recall@20 at β = 1 over that at β = 0: {told}"),
    ]  # fmt: skip
