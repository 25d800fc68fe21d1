"""Figure 4 (Experiment 3): does αβ-nDCG rank systems alike when ratings are missing?"""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.audit.self_correlation import self_correlation
from trueval.metrics.grammar import parse
from trueval.papers.drawing import Axis, Panels, line_chart
from trueval.papers.parapar2021.constants import CUTOFFS
from trueval.papers.parapar2021.simulated_systems import ground_truth
from trueval.papers.record import Figure, Statement, claim
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import rounded
from trueval.simulation.perturbed_rankings import shuffled_rankings

_TITLE = "Experiment 3: correlation of αβ-nDCG with itself while ratings are removed"
_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
_BETAS = (0.1, 0.5, 0.9)
_AT_ONCE = 5  # removals of one step
_HIGH, _HALF = 0.7, 0.5
_OWN, _ALIKE = "each user shuffled", "all users shuffled alike"
_TEXT = (
    "The paper does not say whether a random shuffle is drawn for every user or for all of them. Drawn for every user, "
    "systems differ by chance alone, and their means over thousands of users are close together; drawn once, a system "
    "places what is good for users at the same places for all of them. Both are shown. What is removed stays in the "
    "lists, unrated; it weighs α.",
)


@figure("4", _TITLE)
def incompleteness(setting: Setting) -> Figure:
    """τ of the order of shuffled rankings, with all ratings and with fewer."""
    systems, removals, shares = (10, 3, (0.1, 0.5, 0.9)) if setting.quick else (50, 50, _SHARES)
    table = _correlations(setting, systems=systems, removals=removals, shares=shares, betas=_BETAS)
    data = table.with_columns(
        panel=pl.format("@{}, {}", "cutoff", "systems"), series=pl.format("β = {}", "beta"),
        removed=pl.col("removed") * 100,
    ).sort("systems", "cutoff", "beta", "removed", descending=[False, True, False, False])  # fmt: skip
    chart = line_chart(
        "parapar2021-4",
        _TITLE,
        f"Kendall's τ-b between the orders of {systems} random shuffles of the ideal rankings by αβ-nDCG "
        f"(α = 0.005) with all test ratings and with fewer, the mean of {removals} removals, which take "
        f"ratings in proportion to genres.",
        data.select("removed", "tau", "series", "panel"),
        Panels(Axis("removed", "ratings removed, %", format="d"), Axis("tau", "τ-b with all ratings", zero=True),
               "series", "panel", own_scale=False),
    )  # fmt: skip
    return Figure("4", _TITLE, {"parapar2021-4": table}, {"parapar2021-4": chart}, tuple(_statements(table)), _TEXT)


def _correlations(
    setting: Setting, *, systems: int, removals: int, shares: tuple[float, ...], betas: tuple[float, ...]
) -> pl.DataFrame:
    """Means over removals, a few of which are one step of the work."""
    parts = [
        setting.step("self-correlation", _measure, first=first, last=min(first + _AT_ONCE, removals), systems=systems,
                     shares=shares, betas=betas)
        for first in range(0, removals, _AT_ONCE)
    ]  # fmt: skip
    return pl.concat(parts).group_by("systems", "beta", "cutoff", "removed", maintain_order=True).agg(
        pl.col("tau").mean(), spread=pl.col("tau").std(), removals=pl.len(), users=pl.col("users").mean())  # fmt: skip


def _measure(
    setting: Setting, *, first: int, last: int, systems: int, shares: tuple[float, ...], betas: tuple[float, ...]
) -> pl.DataFrame:
    ideal, inputs = ground_truth(setting)
    lists = {
        name: np.stack([shuffled_rankings(ideal, seed=setting.seed + n, alike=name == _ALIKE) for n in range(systems)])
        for name in (_ALIKE, _OWN)
    }
    specs = {str(beta): parse(f"abndcg@10[alpha=0.005,beta={beta},profile=test]") for beta in betas}
    found = self_correlation(
        ideal, lists, specs, inputs, shares=shares, removals=range(first, last), cutoffs=CUTOFFS, seed=setting.seed
    )
    return found.select("systems", pl.col("metric").cast(pl.Float64).alias("beta"), pl.exclude("systems", "metric"))


def _statements(table: pl.DataFrame) -> list[Statement]:
    made = []
    for name in (_ALIKE, _OWN):
        own = table.filter(systems=name)
        half, ordered = own.filter(removed=_HALF), own.filter(cutoff=100).sort("removed", "beta")
        told = {k: ", ".join(map(rounded, half.filter(cutoff=k).sort("beta")["tau"])) for k in CUTOFFS}
        changes = ordered.select(pl.col("tau").diff().over("removed")).drop_nulls().to_series()
        made += [
            claim("4",
                  "αβ-nDCG still correlates highly with itself when a significant proportion of ratings is missing "
                  f"({name})", holds=float(half["tau"].min()) >= _HIGH,  # type: ignore[arg-type]
                  evidence=f"half of the ratings removed, by β from low to high: {told[100]} at cutoff 100, {told[10]} "
                  f"at cutoff 10 (highly: from {_HIGH:g} on)"),
            claim("4", f"at cutoff 100, the lower β, the higher the correlation ({name})",
                  holds=bool((changes < 0).all()),
                  evidence="τ by β from low to high (falling at every share needed): " + "; ".join(
                      f"{100 * removed:.0f} % removed: {', '.join(map(rounded, taus['tau']))}"
                      for (removed,), taus in ordered.group_by("removed", maintain_order=True))),
        ]  # fmt: skip
    return made
