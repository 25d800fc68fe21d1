"""Figures 5, 6 and 8: precision and antiprecision on biased and on unbiased test data."""

from __future__ import annotations

import polars as pl

from trueval.papers.labelled_points import Sides, labelled_chart
from trueval.papers.mena2020.authors import OPPOSED, authors_of
from trueval.papers.mena2020.constants import (
    ANTIP,
    FALLOUT,
    METRICS,
    OPTIMAL,
    OPTIMAL_ANTIP,
    OPTIMAL_P,
    OPTIMAL_TRUE,
    OTHER_THAN_THEIRS,
    PERSONAL,
    RECALL,
    SHORT,
    UNBIASED,
    P,
)
from trueval.papers.mena2020.data import one_survey
from trueval.papers.mena2020.optimal_rankings import optimal_values, popularity_and_average
from trueval.papers.mena2020.statements import beside, panel, significant
from trueval.papers.mena2020.values import OBSERVED, TRUE, movielens_values, significance_of, tau_of, unbiased_values
from trueval.papers.record import Figure, Statement, claim
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import rounded

_BOTH = "Precision and antiprecision, observed and true"
_AGREE = "Observed against true values of each metric"
_AGAINST = "Observed against true values where popularity opposes relevance"


@figure("5", _BOTH)
def both_sides(setting: Setting) -> Figure:
    """Observed values of both data sets, and true ones where items were drawn at random."""
    movielens, unbiased = movielens_values(setting).filter(ranking="full"), unbiased_values(setting)
    name = setting.logs[UNBIASED].name.removeprefix("a ")[:16]
    sides = {
        "MovieLens, observed": movielens, f"{name}, observed": unbiased.filter(side=OBSERVED),
        f"{name}, true": unbiased.filter(side=TRUE),
    }  # fmt: skip
    taus = {label: tau_of(own, P, ANTIP) for label, own in sides.items()}
    frames, panels = [], {}
    for label, own in sides.items():
        shown = own if "true" in label else own.filter(pl.col("system") != OPTIMAL_TRUE)
        frames.append(panel(shown, label, P, ANTIP))
        panels[label] = Sides("P@10", "antiP@10", f"{label}: τ = {rounded(taus[label])}")
    chart = labelled_chart(
        "mena2020-5",
        _BOTH,
        "Each point is a system. On biased test data, better precision goes with worse antiprecision (positive τ, "
        "which is over systems without the optimal rankings); on unbiased test data the two agree (negative τ).",
        pl.concat(frames),
        panels,
    )
    p = [significance_of(own, P, ANTIP) for own in sides.values()]
    statements = [
        *_observed(setting, sides, taus), significant("5", p, len(unbiased.filter(side=TRUE)) - len(OPTIMAL)),
        *popularity_and_average(setting), *optimal_values(setting, unbiased),
    ]  # fmt: skip
    return Figure("5", _BOTH, {"mena2020-5": unbiased}, {"mena2020-5": chart}, tuple(statements))


def _observed(setting: Setting, sides: dict[str, pl.DataFrame], taus: dict[str, float]) -> list[Statement]:
    movielens, observed, true_name = sides
    shown = ", ".join(f"{label} {rounded(tau)}" for label, tau in taus.items())
    value = {label: dict(zip(own["system"], own.select(P, ANTIP).rows())) for label, own in sides.items()}
    simple = ("Pop", "Avg", "Rnd")
    bounds = all(
        max(own[name][0] for name in simple) <= 1.05 * own[OPTIMAL_P][0]
        and min(own[name][1] for name in simple) >= 0.95 * own[OPTIMAL_ANTIP][1]
        for label, own in value.items() if label != true_name
    )  # fmt: skip
    told = "; ".join(
        f"{label}: P {', '.join(f'{name} {own[name][0]:.4f}' for name in (*simple, OPTIMAL_P))}, antiP "
        f"{', '.join(f'{name} {own[name][1]:.4f}' for name in (*simple, OPTIMAL_ANTIP))}"
        for label, own in value.items() if label != true_name
    )  # fmt: skip
    best = {label: max(own.filter(pl.col("system").is_in(PERSONAL))[P]) for label, own in sides.items()}
    film, music = value[movielens], value[observed]
    worst = {label: _places(own, ANTIP) for label, own in sides.items()}
    theirs = authors_of(setting)
    return [
        claim("5", "observed precision and antiprecision disagree (positive correlation) in all data sets",
              holds=min(tau for label, tau in taus.items() if label != true_name) > 0, evidence=shown),
        claim("5", "true precision and antiprecision strongly agree (negative correlation)",
              holds=taus[true_name] < -0.5, evidence=f"{shown} (strongly: below −0.5)"),
        beside("5", f"τ of observed antiP and P on {theirs.data}", published=theirs.agreement[OBSERVED],
               here=taus[observed], note=OTHER_THAN_THEIRS),
        beside("5", "τ of true antiP and P", published=theirs.agreement[TRUE], here=taus[true_name],
               note=OTHER_THAN_THEIRS),
        claim("5", "the optimal rankings bound the systems that are the same for everybody", holds=bounds,
              evidence=told,
              note="within 5 %. They are optimal in expectation and at cutoff 1; many items tie first in "
              "the optimal ranking for antiprecision, and equals are in an order by chance here, by LibRec's rule "
              "in the paper"),
        claim("5", "popularity is very close to the optimal ranking for P (within a tenth)",
              holds=all(own["Pop"][0] > 0.9 * own[OPTIMAL_P][0] for label, own in value.items() if label != true_name),
              evidence="; ".join(f"{label}: {own['Pop'][0]:.4f} and {own[OPTIMAL_P][0]:.4f}"
                                 for label, own in value.items() if label != true_name)),
        *(claim("5", f"popularity is among the worst in antiP, the last third ({label})",
                holds=3 * worst[label]["Pop"] > 2 * len(worst[label]),
                evidence=f"place {worst[label]['Pop']} of {len(worst[label])}, 1 is best")
          for label in (movielens, observed)),
        claim("5", "personalised systems can do better than the optimum for everybody on MovieLens",
              holds=best[movielens] > film[OPTIMAL_P][0],
              evidence=f"P@10 {best[movielens]:.4f} against {film[OPTIMAL_P][0]:.4f}"),
        *(_opposite(label, sides[label]) for label in (movielens, observed)),
        _filtering(setting, best[observed], music),
    ]  # fmt: skip


def _opposite(label: str, own: pl.DataFrame) -> Statement:
    """Places of the optimal rankings by the metric that they are not optimal for."""
    by_antip = _places(own, ANTIP)[OPTIMAL_P]
    by_p = _places(own.with_columns(-pl.col(P)), P)[OPTIMAL_ANTIP]
    return claim("5", f"the optimal ranking of each metric is the worst, or nearly, by the other: in the last third "
                 f"({label})", holds=3 * min(by_antip, by_p) > 2 * len(own),
                 evidence=f"optimal for P: place {by_antip} of {len(own)} by antiP; optimal for antiP: place {by_p} of "
                 f"{len(own)} by P")  # fmt: skip


def _filtering(setting: Setting, best: float, simple: dict[str, tuple[float, float]]) -> Statement:
    """What is said of personalised systems on the unbiased data set."""
    if one_survey(setting.logs[UNBIASED]):
        return claim("5", "on CM100k collaborative filtering does not improve over popularity",
                     holds=best <= simple["Pop"][0],
                     evidence=f"best P@10 {best:.4f}, popularity {simple['Pop'][0]:.4f}")  # fmt: skip
    return claim(
        "5",
        "personalised systems can do better than the optimum for everybody on Yahoo! R3",
        holds=best > simple[OPTIMAL_P][0],
        evidence=f"P@10 {best:.4f} against {simple[OPTIMAL_P][0]:.4f}",
    )


def _places(table: pl.DataFrame, metric: str) -> dict[str, int]:
    """Place of each system by a metric of which less is better."""
    return {name: place for place, name in enumerate(table.sort(metric, "system")["system"], 1)}


def _joined(table: pl.DataFrame) -> pl.DataFrame:
    """Observed and true values side by side."""
    true = table.filter(side=TRUE).select("system", *(pl.col(metric).alias(f"true {metric}") for metric in METRICS))
    return table.filter(side=OBSERVED).join(true, on="system", maintain_order="left").drop("side")


def _panels(both: pl.DataFrame, metrics: tuple[str, ...]) -> tuple[pl.DataFrame, dict[str, Sides], dict[str, float]]:
    taus = {metric: tau_of(both, metric, f"true {metric}") for metric in metrics}
    frames, panels = [], {}
    for metric in metrics:
        name = SHORT[metric]
        frames.append(panel(both, name, metric, f"true {metric}"))
        panels[name] = Sides(f"observed {name}", f"true {name}", f"{name}: τ = {rounded(taus[metric])}")
    return pl.concat(frames), panels, taus


@figure("6", _AGREE)
def agreement(setting: Setting) -> Figure:
    """Each metric on both test sets."""
    both = _joined(unbiased_values(setting).filter(pl.col("system") != OPTIMAL_TRUE))
    data, panels, taus = _panels(both, METRICS)
    theirs = authors_of(setting).observed_and_true
    chart = labelled_chart(
        "mena2020-6",
        _AGREE,
        "Each point is a system, its value on the biased test data across and on the unbiased ones upwards; τ is over "
        "systems without the optimal rankings. Observed precision and recall tell the better system, observed "
        "antiprecision and fallout do not.",
        data,
        panels,
    )
    statements = [
        *(beside("6", f"τ of observed and true {SHORT[metric]}", published=theirs[metric], here=tau,
          note=OTHER_THAN_THEIRS)
          for metric, tau in taus.items() if metric in theirs),
        significant("6", [significance_of(both, metric, f"true {metric}") for metric in METRICS],
                    len(both) - len(OPTIMAL) + 1),
        claim("6", "observed precision and recall are quite consistent with the true ones",
              holds=min(taus[P], taus[RECALL]) > 0.5,
              evidence=f"τ {rounded(taus[P])} and {rounded(taus[RECALL])} (quite: above 0.5)"),
        claim("6", "observed antiprecision and fallout almost reverse the comparison of systems",
              holds=max(taus[ANTIP], taus[FALLOUT]) < 0,
              evidence=f"τ {rounded(taus[ANTIP])} and {rounded(taus[FALLOUT])} (below 0 needed)"),
    ]  # fmt: skip
    return Figure("6", _AGREE, {"mena2020-6": both}, {"mena2020-6": chart}, tuple(statements))


@figure("8", _AGAINST)
def opposed(setting: Setting) -> Figure:
    """The same where the least liked items have the most biased ratings."""
    if not one_survey(setting.logs[UNBIASED]):
        why = "Needs biased ratings that are among the random ones, as in CM100k. The paper has it of CM100k alone."
        return Figure("8", _AGAINST, {}, {}, (), (why,))
    table = unbiased_values(setting, opposed=True)
    both = _joined(table.filter(pl.col("system") != OPTIMAL_TRUE))
    data, panels, taus = _panels(both, (P, ANTIP))
    chart = labelled_chart(
        "mena2020-8",
        _AGAINST,
        "Biased ratings were dealt anew among the random ones, most to the items that the fewest users like. Now "
        "observed antiprecision tells the better system, and observed precision the worse one.",
        data,
        panels,
    )
    true = dict(table.filter(side=TRUE).select("system", P).iter_rows())
    seen = dict(table.filter(side=OBSERVED).select("system", P).iter_rows())
    personal = [name for name in PERSONAL if name in true]
    worse = [name for name in personal if true[name] < true["Rnd"]]
    above = [name for name in personal if name != "SVD++" and true[name] > 1.05 * true["Rnd"]]
    best = sorted((name for name in true if not name.startswith("optimal")), key=lambda name: -seen[name])[:3]
    lower = [name for name in best if true[name] < sorted(true.values())[len(true) // 2]]
    statements = [
        *(beside("8", f"τ of observed and true {SHORT[metric]}", published=value, here=taus[metric],
                 note=OTHER_THAN_THEIRS)
          for metric, value in OPPOSED.items()),
        significant("8", [significance_of(both, metric, f"true {metric}") for metric in (P, ANTIP)],
                    len(both) - len(OPTIMAL) + 1),
        claim("8", "antiprecision finds clear agreement between observed and true values", holds=taus[ANTIP] > 0.5,
              evidence=f"τ {rounded(taus[ANTIP])} (clear: above 0.5)"),
        claim("8", "precision becomes misleading", holds=taus[P] < 0, evidence=f"τ {rounded(taus[P])} (below 0)"),
        claim("8", "the best systems in observed P@10 are among the worst in true P@10", holds=lower == best,
              evidence=", ".join(f"{name} observed {seen[name]:.4f}, true {true[name]:.4f}" for name in best)
              + f"; random is true {true['Rnd']:.4f} (among the worst: in the lower half)"),
        claim("8", "all personalised systems but SVD++, and two others to a negligible extent, are worse than random "
              "in true P@10", holds=not above and len(worse) >= len(personal) - 3,
              evidence=f"{len(worse)} of {len(personal)} are worse: {', '.join(worse)}; more than 5 % better, SVD++ "
              f"aside: {', '.join(f'{name} {true[name]:.4f}' for name in above) or 'none'} (random {true['Rnd']:.4f})"),
    ]  # fmt: skip
    return Figure("8", _AGAINST, {"mena2020-8": both}, {"mena2020-8": chart}, tuple(statements))
