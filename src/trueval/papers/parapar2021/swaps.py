"""Figure 1: αβ-nDCG falls as items from the bottom change places with items from the top."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.metrics.aspects.several_rankings import abndcg_of_several
from trueval.metrics.grammar import parse
from trueval.papers.drawing import Axis, Panels, line_chart
from trueval.papers.parapar2021.constants import BETAS, DEPTH
from trueval.papers.parapar2021.simulated_systems import ground_truth
from trueval.papers.record import Figure, claim
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import rounded
from trueval.simulation.judged_rankings import judged_facts
from trueval.simulation.perturbed_rankings import swapped_ends

_TITLE = "αβ-nDCG@10 by the number of bottom-to-top swaps"
_SWAPS, _CUTOFF = 20, 10


@figure("1", _TITLE)
def swaps(setting: Setting) -> Figure:
    """The metric with several β, over the first twenty swaps."""
    table = setting.step("swaps", _measure, betas=BETAS, swaps=_SWAPS)
    chart = line_chart(
        "parapar2021-1",
        _TITLE,
        "Mean over users of αβ-nDCG@10 (α = 0.005) of the ideal ranking (0 swaps) and of rankings in which the first s "
        "items have changed places with the last s. After ten swaps nothing among the first ten is left to change.",
        table.with_columns(system=pl.format("β = {}", pl.col("beta"))).select("swaps", "value", "system"),
        Panels(Axis("swaps", "swaps", format="d"), Axis("value", "αβ-nDCG@10"), "system"),
    )
    first = table.filter(pl.col("swaps") <= _CUTOFF).sort("beta", "swaps")
    changes = first.select(pl.col("value").diff().over("beta")).drop_nulls().to_series()
    falls = claim(
        "1",
        "swapping items from the bottom to the top gradually reduces αβ-nDCG@10, whatever its parameters",
        holds=bool((changes < 0).all()),
        evidence="; ".join(
            f"β = {beta:g}: {rounded(own['value'][0])}, after 1, 5 and 10 swaps {', '.join(_at(own, (1, 5, 10)))}"
            for (beta,), own in table.group_by("beta", maintain_order=True)
        ),
    )
    return Figure("1", _TITLE, {"parapar2021-1": table}, {"parapar2021-1": chart}, (falls,))


def _at(table: pl.DataFrame, swaps: tuple[int, ...]) -> list[str]:
    return [rounded(table.filter(swaps=number)["value"].item()) for number in swaps]


def _measure(setting: Setting, *, betas: tuple[float, ...], swaps: int) -> pl.DataFrame:
    ideal, inputs = ground_truth(setting)
    lists = np.stack([ideal.item, *swapped_ends(ideal, swaps, depth=DEPTH)])
    facts, rows = judged_facts(ideal), []
    for beta in betas:
        spec = parse(f"abndcg@{_CUTOFF}[alpha=0.005,beta={beta},profile=test]")
        means = np.nanmean(abndcg_of_several(facts, lists, spec, inputs, cutoffs=[_CUTOFF])[:, 0], axis=1)
        rows += [(beta, number, value) for number, value in enumerate(means.tolist())]
    return pl.DataFrame(rows, schema={"beta": pl.Float64, "swaps": pl.Int64, "value": pl.Float64}, orient="row")
