"""Figure 2 (Experiment 1): do metrics rank spoilt systems by how much they are spoilt?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from trueval.comparison.tau import taus
from trueval.papers.drawing import Axis, Panels, bar_chart
from trueval.papers.parapar2021.constants import AB_NDCG, ASPECTS, ENDS, METRICS, REDUNDANT, SUBTOPIC
from trueval.papers.parapar2021.simulated_systems import measured_systems
from trueval.papers.record import Figure, Statement, claim
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import rounded

_TITLE = "Experiment 1: correlation of each metric's order of systems with the true order"
_PERFECT = 0.99  # from here on a τ is called perfect
_GOOD = 0.9
# How users without so many aspects are averaged, by the column of values.
_READINGS = {
    "value": "all users", "value_with_step": "users who have the step",
    "value_with_all_steps": "users who have all steps",
}  # fmt: skip
_WEIGHTED = ("EU", "RBU", AB_NDCG)
_TEXT = (
    "τ-b is between the value of a metric and how little the ranking was spoilt, over the systems of a scenario "
    "without the ideal; 1 is the true order. At cutoff 10 all systems beyond the tenth swap are equal, and equals "
    "lower τ-b: the highest that can be reached is about 0.6. Verdicts are therefore about cutoff 100, and about "
    "cutoff 10 for S-Recall, which cannot change at 100 when rated items change places among themselves.",
    "In the third scenario the paper does not say what becomes of users who have rated fewer aspects than the step "
    "asks for. Left with the ideal ranking, they make the later systems better again; they can also be left out of the "
    "step, or of the scenario. All three are shown; verdicts are about users who have all steps, where nothing but the "
    "step changes.",
)


def correlations(table: pl.DataFrame) -> pl.DataFrame:
    """τ-b by scenario, metric, cutoff and way of averaging, over the systems but the ideal."""
    rows = []
    for (scenario, metric, cutoff), own in table.filter(pl.col("step") > 0).group_by(
        "scenario", "metric", "cutoff", maintain_order=True
    ):
        true = -own["step"].to_numpy().astype(np.float64)[None]
        for column, users in _READINGS.items():
            if scenario == ASPECTS or column == "value":
                tau = float(taus(true, own[column].to_numpy()[None])[0][0])
                rows.append((scenario, metric, cutoff, users, tau))
    kinds = {"scenario": pl.String, "metric": pl.String, "cutoff": pl.Int64, "users": pl.String, "tau": pl.Float64}
    return pl.DataFrame(rows, schema=kinds, orient="row")


@figure("2", _TITLE)
def rank_correlation(setting: Setting) -> Figure:
    """Kendall's τ of seven metrics in three scenarios."""
    measured = measured_systems(setting)
    table = correlations(measured)
    shown = table.filter((pl.col("scenario") != ASPECTS) | (pl.col("users") == _READINGS["value_with_all_steps"]))
    bars = shown.with_columns(
        series=pl.when(cutoff=0).then(pl.lit("no cutoff")).otherwise(pl.format("@{}", "cutoff")),
        tau=pl.col("tau").fill_nan(None),
    )
    chart = bar_chart(
        "parapar2021-2",
        _TITLE,
        "Kendall's τ-b with the true order: rankings with items of the bottom at the top (first), with an aspect "
        "repeated (second), with a first item of a less preferred aspect (third, users who have all steps). No bar: "
        "all systems are equal.",
        bars.select("scenario", "metric", "series", "tau"),
        Panels(
            Axis("metric", ""), Axis("tau", "τ-b with the true order", ends=(-1, 1)), "series", "scenario", columns=1
        ),
    )
    return Figure(
        "2", _TITLE, {"parapar2021-2": table, "parapar2021-2-values": measured}, {"parapar2021-2": chart},
        tuple(_statements(_Taus(table))), _TEXT,
    )  # fmt: skip


class _Taus:
    """Look-ups in the table of correlations."""

    def __init__(self, table: pl.DataFrame) -> None:
        self._known = {(s, m, k, u): tau for s, m, k, u, tau in table.iter_rows()}

    def at(self, scenario: str, metric: str, *, users: str = "", cutoff: int = 100) -> float:
        """τ of one metric, at the cutoff that verdicts are about."""
        who = users or _READINGS["value_with_all_steps" if scenario == ASPECTS else "value"]
        k = 0 if metric == "NRBP" else 10 if metric == "S-Recall" else cutoff
        return self._known[scenario, metric, k, who]

    def words(self, scenario: str, metrics: Sequence[str], *, users: str = "") -> str:
        """Metrics with their τ."""
        return ", ".join(f"{name} {_told(self.at(scenario, name, users=users))}" for name in metrics)


def _told(tau: float) -> str:
    return "undefined" if np.isnan(tau) else rounded(tau)


def _statements(tau: _Taus) -> list[Statement]:
    names = [form.name for form in METRICS]
    perfect = ("RBU", "NRBP", "EU", AB_NDCG)
    by_users = "; ".join(
        f"{users}: {tau.words(ASPECTS, ('NRBP', *_WEIGHTED), users=users)}" for users in _READINGS.values()
    )
    return [
        claim("2", "S-Recall and S-RR are negatively correlated with the true order under relevance swaps",
              holds=all(tau.at(ENDS, name) < 0 for name in SUBTOPIC), evidence=tau.words(ENDS, SUBTOPIC),
              note="here the top of the ideal ranking covers aspects sooner than the bottom: it is balanced by "
              "aspects, and of equally rated items those with more aspects come first. The paper used MovieLens 20M"),
        claim("2", "RBU, NRBP, EU and αβ-nDCG are perfectly correlated under relevance swaps",
              holds=all(tau.at(ENDS, name) >= _PERFECT for name in perfect),
              evidence=f"{tau.words(ENDS, perfect)} (perfect: from {_PERFECT:g} on)"),
        claim("2", "under redundancy, RBU and EU perform more poorly than αβ-nDCG",
              holds=max(tau.at(REDUNDANT, name) for name in ("RBU", "EU")) < tau.at(REDUNDANT, AB_NDCG),
              evidence=tau.words(REDUNDANT, names),
              note="the paper does not say where displaced items go; here they change places with the item taken"),
        claim("2", "under swapped aspects, NRBP behaves worse than the metrics that weigh aspects (EU, RBU, αβ-nDCG)",
              holds=tau.at(ASPECTS, "NRBP") < min(tau.at(ASPECTS, name) for name in _WEIGHTED),
              evidence=by_users, note="larger steps also lower the rating of the first item, which NRBP sees"),
        claim("2", "correlations under swapped aspects are imperfect because not all users rated items of 10 aspects",
              holds=all(tau.at(ASPECTS, name) >= _PERFECT for name in _WEIGHTED)
              and any(tau.at(ASPECTS, name, users=_READINGS["value"]) < _PERFECT for name in _WEIGHTED),
              evidence=by_users),
        *(one for users in (_READINGS["value_with_all_steps"], _READINGS["value"]) for one in _unified(tau, users)),
    ]  # fmt: skip


def _unified(tau: _Taus, users: str) -> list[Statement]:
    """Whether αβ-nDCG, and only it, ranks systems well everywhere, by how users of the third scenario are averaged."""

    def least(metric: str) -> float:
        return min(tau.at(ENDS, metric), tau.at(REDUNDANT, metric), tau.at(ASPECTS, metric, users=users))

    own = ", ".join(_told(tau.at(scenario, AB_NDCG)) for scenario in (ENDS, REDUNDANT))
    third = _told(tau.at(ASPECTS, AB_NDCG, users=users))
    also = [form.name for form in METRICS if form.name != AB_NDCG and least(form.name) >= _GOOD]
    good = least(AB_NDCG) >= _GOOD
    others = f"{', '.join(also)} {'does' if len(also) == 1 else 'do'}" if also else "no other metric does"
    return [
        claim("2", f"αβ-nDCG ranks systems well in all three scenarios (third: {users})", holds=good,
              evidence=f"{own} and {third} (well: from {_GOOD:g} on)"),
        claim("2", f"αβ-nDCG is the only metric that ranks them well in all three (third: {users})",
              holds=good and not also,
              evidence=others + " as well" * bool(also) if good else f"αβ-nDCG does not; {others}"),
    ]  # fmt: skip
