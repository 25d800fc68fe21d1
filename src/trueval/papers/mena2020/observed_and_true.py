"""Figures 5, 6 and 8: precision and antiprecision on biased and on unbiased test data."""

from __future__ import annotations

import polars as pl

from trueval.audit.item_pairs import item_pairs
from trueval.papers.labelled_points import Sides, labelled_chart
from trueval.papers.mena2020.constants import (
    ANTIP,
    FALLOUT,
    METRICS,
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
from trueval.papers.mena2020.data import one_survey, threshold_of
from trueval.papers.mena2020.statements import beside, panel, printed
from trueval.papers.mena2020.values import OBSERVED, TRUE, movielens_values, tau_of, unbiased_values
from trueval.papers.record import Figure, Statement, claim
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import percent, rounded

_BOTH = "Precision and antiprecision, observed and true"
_AGREE = "Observed against true values of each metric"
_AGAINST = "Observed against true values where popularity opposes relevance"
# Of the authors' released results over 16 systems.
_THEIRS = {P: 0.8, ANTIP: -0.417, RECALL: 0.817, FALLOUT: -0.417}
_OPPOSED = {P: -0.467, ANTIP: 0.912}
_OPTIMAL = {
    OBSERVED: {P: 0.0156, ANTIP: 0.0049, RECALL: 0.0926, FALLOUT: 0.0336},
    TRUE: {P: 0.0126, ANTIP: 0.0062, RECALL: 0.0268, FALLOUT: 0.0043},
}
_NOTE = "other folds than the authors'"


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
    statements = [*_observed(sides, taus), *_popularity(setting), *_values(setting, unbiased)]
    return Figure("5", _BOTH, {"mena2020-5": unbiased}, {"mena2020-5": chart}, tuple(statements))


def _observed(sides: dict[str, pl.DataFrame], taus: dict[str, float]) -> list[Statement]:
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
    return [
        claim("5", "observed precision and antiprecision disagree (positive correlation) in all data sets",
              holds=min(tau for label, tau in taus.items() if label != true_name) > 0, evidence=shown),
        claim("5", "true precision and antiprecision strongly agree (negative correlation)",
              holds=taus[true_name] < -0.5,
              evidence=shown),
        beside("5", "τ of observed antiP and P on the unbiased data set", published=0.65,
               here=taus[observed], note=OTHER_THAN_THEIRS),
        beside("5", "τ of true antiP and P", published=-0.9, here=taus[true_name], note=OTHER_THAN_THEIRS),
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
        claim("5", "on CM100k collaborative filtering does not improve over popularity",
              holds=best[observed] <= music["Pop"][0],
              evidence=f"best P@10 {best[observed]:.4f}, popularity {music['Pop'][0]:.4f}"),
    ]  # fmt: skip


def _popularity(setting: Setting) -> list[Statement]:
    """Why the optimal rankings disagree on the unbiased data set as well."""
    log = setting.logs[UNBIASED]
    found = item_pairs(log.keep(log.frame.filter("biased")), threshold=threshold_of(setting))
    shares = f"{percent(found.aligned.share)} of pairs aligned, {percent(found.opposed.share)} opposed"
    return [
        claim("5", f"popularity agrees with the average rating for most item pairs ({log.name})",
              holds=found.aligned.share > 0.5, evidence=f"{shares}, {percent(found.tied.share)} equal in one of them",
              note="all biased ratings"),
        claim("5", f"the optimal rankings for observed precision and antiprecision disagree on most pairs ({log.name})",
              holds=found.disagree.share > 0.5, evidence=f"{percent(found.disagree.share)}; τ {rounded(found.tau)}"),
    ]  # fmt: skip


def _places(table: pl.DataFrame, metric: str) -> dict[str, int]:
    """Place of each system by a metric of which less is better."""
    return {name: place for place, name in enumerate(table.sort(metric, "system")["system"], 1)}


def _values(setting: Setting, table: pl.DataFrame) -> list[Statement]:
    made = []
    for side, values in _OPTIMAL.items():
        own = table.row(by_predicate=(pl.col("side") == side) & (pl.col("system") == OPTIMAL_P), named=True)
        made += [
            printed(setting, UNBIASED, "5", f"{side} {SHORT[metric]} of the optimal ranking for observed P",
                    published=value, here=own[metric], tolerance=(0.25 if setting.quick else 0.1) * value, digits=4,
                    note=_NOTE)
            for metric, value in values.items()
        ]  # fmt: skip
    return made


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
        *(beside("6", f"τ of observed and true {SHORT[metric]}", published=_THEIRS[metric], here=tau,
          note=OTHER_THAN_THEIRS)
          for metric, tau in taus.items()),
        claim("6", "observed precision and recall are quite consistent with the true ones",
              holds=min(taus[P], taus[RECALL]) > 0.5, evidence=f"τ {rounded(taus[P])} and {rounded(taus[RECALL])}"),
        claim("6", "observed antiprecision and fallout almost reverse the comparison of systems",
              holds=max(taus[ANTIP], taus[FALLOUT]) < 0,
              evidence=f"τ {rounded(taus[ANTIP])} and {rounded(taus[FALLOUT])}"),
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
          for metric, value in _OPPOSED.items()),
        claim("8", "antiprecision finds clear agreement between observed and true values", holds=taus[ANTIP] > 0.5,
              evidence=f"τ {rounded(taus[ANTIP])}"),
        claim("8", "precision becomes misleading", holds=taus[P] < 0, evidence=f"τ {rounded(taus[P])}"),
        claim("8", "the best systems in observed P@10 are among the worst in true P@10", holds=lower == best,
              evidence=", ".join(f"{name} observed {seen[name]:.4f}, true {true[name]:.4f}" for name in best)
              + f"; random is true {true['Rnd']:.4f}"),
        claim("8", "all personalised systems but SVD++, and two others to a negligible extent, are worse than random "
              "in true P@10", holds=not above and len(worse) >= len(personal) - 3,
              evidence=f"{len(worse)} of {len(personal)} are worse: {', '.join(worse)}; more than 5 % better, SVD++ "
              f"aside: {', '.join(f'{name} {true[name]:.4f}' for name in above) or 'none'} (random {true['Rnd']:.4f})"),
    ]  # fmt: skip
    return Figure("8", _AGAINST, {"mena2020-8": both}, {"mena2020-8": chart}, tuple(statements))
