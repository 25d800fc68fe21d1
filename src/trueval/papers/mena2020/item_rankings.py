"""Table 1 and Figures 3 and 4: the optimal rankings of observed precision and antiprecision, item by item."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.audit.item_pair_counts import Scores, scores_of, share_steepest
from trueval.audit.item_pairs import ItemPairs, item_pairs
from trueval.audit.item_ratings import item_ratings
from trueval.charts.item_pairs import item_pairs_chart
from trueval.data.interactions import Interactions
from trueval.papers.drawing import Axis, Panels, line_chart, point_chart
from trueval.papers.mena2020.constants import FOLDS, LIKED, MOVIELENS
from trueval.papers.mena2020.statements import printed
from trueval.papers.record import Figure, claim
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import percent, rounded
from trueval.splits import split
from trueval.splits.row_hashing import chain, coin

_TABLE, _CURVES = "Agreement and steepness over pairs of items", "Popularity and average rating; the optimal rankings"
_COMPONENTS = "Optimal ranking functions against popularity and average rating"
_SHARES = (52.6, 8.6, 29.8, 9.0)
_CASES = (
    "popularity agrees with p(rel) and is steeper than p(¬rel): disagree",
    "popularity agrees with p(rel) and is less steep than p(¬rel): agree",
    "popularity agrees with p(¬rel) and is steeper than p(rel): disagree",
    "popularity agrees with p(¬rel) and is less steep than p(rel): agree",
)
_DRAWN = 400  # items in pictures of one panel
_PEARSON = {
    ("phi_p", "popularity"): 0.94, ("phi_p", "average"): 0.40,
    ("phi_antip", "popularity"): -0.87, ("phi_antip", "average"): -0.10,
}  # fmt: skip
_NAMES = {"phi_p": "φ_P", "phi_antip": "φ_antiP", "popularity": "p(train|i)", "average": "p(rel|train,i)"}


def _train(setting: Setting) -> Interactions:
    """The train part of the first fold."""
    made = split(setting.logs[MOVIELENS], "kfold", n=FOLDS, seed=setting.seed)
    assert isinstance(made, list)
    return made[0].train


def _scores(log: Interactions) -> Scores:
    return scores_of(item_ratings(log, threshold=LIKED).rated())


@figure("table1", _TABLE)
def pairs(setting: Setting) -> Figure:
    """Shares of the four cases over all pairs of items of all ratings."""
    log = setting.logs[MOVIELENS]
    found = item_pairs(log, threshold=LIKED)
    steepest, of_odds = (100 * share_steepest(_scores(log), odds=odds) for odds in (False, True))
    in_train = 100 * share_steepest(_scores(_train(setting)), odds=False)
    tied = f"pairs with equal popularity or average, {percent(found.tied.share)}, are in the last row"
    statements = [
        printed(setting, MOVIELENS, "table1", f"{case}, % of item pairs", published=value, here=100 * share,
                tolerance=0.2, digits=1, note=tied if case == _CASES[-1] else "")
        for case, value, share in zip(_CASES, _SHARES, found.table()["share"])
    ]  # fmt: skip
    statements += [
        printed(setting, MOVIELENS, "table1", "optimal rankings disagree, % of item pairs", published=82.4,
                here=100 * found.disagree.share, tolerance=0.2, digits=1),
        printed(setting, MOVIELENS, "table1", "popularity is steeper than both p(rel) and p(¬rel), % of item pairs",
                published=63.3, here=steepest, tolerance=0.2, digits=1,
                note=f"p(train|i) of all ratings, as in the rest of the table; {in_train:.1f} on the train part of "
                f"one fold, {of_odds:.1f} with the odds of p(train|i)"),
        claim("table1", "the two optimal rankings disagree where the lemma says so", holds=_lemma(found),
              evidence=f"{int(found.counts.sum()):,} pairs; none of a case is ordered against the lemma"),
    ]  # fmt: skip
    return Figure(
        "table1", _TABLE, {"mena2020-table1": found.table()}, {"mena2020-table1": item_pairs_chart(found)},
        tuple(statements),
    )  # fmt: skip


def _lemma(found: ItemPairs) -> bool:
    """Whether no pair of the cases that should disagree agrees, nor the other way round (ties aside)."""
    counts = found.counts
    return not (counts[0, 1] or counts[2, 1] or counts[1, 0] or counts[3, 0])


@figure("3", _CURVES)
def curves(setting: Setting) -> Figure:
    """Left: sorted popularity and average rating. Right: each item's rank in both optimal rankings."""
    train = _train(setting)
    scores, tau = _scores(train), item_pairs(train, threshold=LIKED).tau
    size = len(scores.popularity)
    ranks = np.unique(np.linspace(1, size, min(size, 150)).round().astype(int))
    left = pl.concat([
        pl.DataFrame({"rank": ranks, "share": np.sort(column)[::-1][ranks - 1], "of": [name] * len(ranks)})
        for name, column in (("p(train|i)", scores.popularity), ("p(rel|train,i)", scores.average))
    ])  # fmt: skip
    places = pl.DataFrame({
        "rank_by_phi_p": _ranks(scores.phi_p), "rank_by_phi_antip": _ranks(scores.phi_antip), "of": ["item"] * size,
    })  # fmt: skip
    some = np.argsort(coin(chain(setting.seed, "items in pictures", np.arange(size))), kind="stable")[:_DRAWN]
    slopes = [float(column.max() / max(np.median(column), 1e-9)) for column in (scores.popularity, scores.average)]
    charts = {
        "mena2020-3-left": line_chart(
            "mena2020-3-left", "Popularity falls steeply, the average rating does not",
            "Share of users who rated an item, and share of its ratings that are relevant, each in its own descending "
            f"order. The highest popularity is {slopes[0]:.0f} times the median, the highest average "
            f"{slopes[1]:.1f} times.", left,
            Panels(Axis("rank", "items, in the order of each curve", format=",d"), Axis("share", "probability",
                   zero=True),
                   "of", points=False)),
        "mena2020-3-right": point_chart(
            "mena2020-3-right", f"The two optimal rankings oppose each other: τ = {rounded(tau)}",
            f"Ranks of {min(size, _DRAWN)} items, drawn at random, in the optimal rankings for observed precision and "
            f"antiprecision. Kendall's τ-b of all {size:,} items is {rounded(tau)}.", places[np.sort(some).tolist()],
            Panels(Axis("rank_by_phi_p", "rank by φ_P", format=",d"), Axis("rank_by_phi_antip", "rank by φ_antiP",
                   format=",d"), "of", height=300)),
    }  # fmt: skip
    statements = (
        printed(setting, MOVIELENS, "3", "τ of the optimal rankings for observed precision and antiprecision",
                published=-0.64, here=tau, tolerance=0.02, note="recomputed from the authors' data: −0.63 to −0.65"),
        claim("3", "the optimal rankings are quite in opposition", holds=tau < -0.3,
              evidence=f"τ {rounded(tau)} (below −0.3 needed)"),
        claim("3", "popularity decreases much more aggressively than the average rating",
              holds=slopes[0] > 2 * slopes[1],
              evidence=f"highest to median: {slopes[0]:.1f} against {slopes[1]:.1f} (twice as much needed)"),
    )  # fmt: skip
    return Figure("3", _CURVES, {"mena2020-3-left": left, "mena2020-3-right": places.drop("of")}, charts, statements)


def _ranks(scores: np.ndarray) -> np.ndarray:
    return pl.Series(-scores).rank("average").to_numpy()


@figure("4", _COMPONENTS)
def components(setting: Setting) -> Figure:
    """The two ranking functions of every item, against its popularity and its average rating."""
    train = _train(setting)
    scores, found = _scores(train), item_pairs(train, threshold=LIKED).correlations
    every = pl.DataFrame({name: getattr(scores, name) for name in _NAMES})
    some = np.argsort(coin(chain(setting.seed, "items in pictures", np.arange(len(every)))), kind="stable")[
        : _DRAWN // 2
    ]
    drawn = every[np.sort(some).tolist()]
    shown = pl.concat([
        drawn.select(
            pl.lit(f"{_NAMES[one]}, {other}: r = {rounded(found[one, other])}").alias("panel"),
            pl.col(other).alias("component"), pl.col(one).alias("score"), pl.lit("item").alias("of"),
        )
        for one, other in _PEARSON
    ])  # fmt: skip
    chart = point_chart(
        "mena2020-4",
        _COMPONENTS,
        f"{len(drawn)} items, drawn at random; Pearson's r is of all {len(every):,}. Both functions follow popularity, "
        f"φ_P upwards and φ_antiP downwards, and hardly the average rating.",
        shown,
        Panels(Axis("component", "popularity (left), average rating (right)"), Axis("score", "ranking function"), "of",
               "panel", height=190),
    )  # fmt: skip
    numbers = [
        printed(setting, MOVIELENS, "4", f"Pearson's r of {_NAMES[one]} and {_NAMES[other]}", published=value,
                here=found[one, other], tolerance=0.015, digits=2)
        for (one, other), value in _PEARSON.items()
    ]  # fmt: skip
    stronger = all(abs(found[one, "popularity"]) > 2 * abs(found[one, "average"]) for one in ("phi_p", "phi_antip"))
    follows = claim(
        "4", "φ_P grows and φ_antiP falls with popularity; the average rating has little effect in comparison",
        holds=stronger and found["phi_p", "popularity"] > 0 > found["phi_antip", "popularity"],
        evidence=", ".join(f"{_NAMES[a]} and {_NAMES[b]} {rounded(r)}" for (a, b), r in found.items())
        + " (little: less than half)",
    )  # fmt: skip
    return Figure("4", _COMPONENTS, {"mena2020-4": every}, {"mena2020-4": chart}, (*numbers, follows))
