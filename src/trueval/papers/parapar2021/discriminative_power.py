"""Figure 3 (Experiment 2): how soon a test sees that a system is not better than the ideal."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.papers.drawing import Axis, Panels, line_chart
from trueval.papers.parapar2021.constants import AB_NDCG, ASPECTS, ENDS, METRICS, REDUNDANT, SUBTOPIC
from trueval.papers.parapar2021.simulated_systems import measured_systems
from trueval.papers.record import Figure, Statement, claim
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import rounded

_TITLE = "Experiment 2: p-values of systems that are worse and worse than the ideal"
_SURE = 0.95
_SLACK = 0.01  # by which a mean p may fall and still count as rising
_FAST = f"fast: {_SURE:g} by the middle; falls of up to {_SLACK:g} count as none"
_TEXT = (
    "One-sided Wilcoxon tests of the users' values; the alternative is that the spoilt system is better than the "
    "ideal, so that p rises to 1 as a metric sees what was spoilt. With all users p is 1 from the first steps on for "
    "most metrics, which tells nothing apart: the curves are means over 20 samples of 100 users, the table has both.",
)


@figure("3", _TITLE)
def discriminative_power(setting: Setting) -> Figure:
    """p-values by step in the three scenarios, at the cutoff that Figure 2 takes for each metric."""
    table = _main(measured_systems(setting))
    chart = line_chart(
        "parapar2021-3",
        _TITLE,
        "Mean p-value, over 20 samples of 100 users, of the test whether the spoilt system is better than the ideal. A "
        "curve that rises fast and stays at 1 is that of a metric that tells the systems apart.",
        table.select("step", "p_of_100_users", "metric", "scenario"),
        Panels(Axis("step", "step", format="d"), Axis("p_of_100_users", "p of 100 users", ends=(0, 1.02)),
               "metric", "scenario", columns=1, points=False),
    )  # fmt: skip
    return Figure("3", _TITLE, {"parapar2021-3": table}, {"parapar2021-3": chart}, tuple(_statements(table)), _TEXT)


def _main(measured: pl.DataFrame) -> pl.DataFrame:
    cutoff = pl.when(metric="NRBP").then(0).when(metric="S-Recall").then(10).otherwise(100)
    kept = measured.filter((pl.col("step") > 0) & (pl.col("cutoff") == cutoff))
    return kept.select("scenario", "metric", "cutoff", "step", "p", "p_of_100_users", "worse", "better", "users")


def _curve(table: pl.DataFrame, scenario: str, metric: str) -> np.ndarray:
    return table.filter(scenario=scenario, metric=metric).sort("step")["p_of_100_users"].to_numpy()


def _words(table: pl.DataFrame, scenario: str, metrics: tuple[str, ...]) -> str:
    """The first, the least and the last p of each metric."""
    parts = []
    for name in metrics:
        own = _curve(table, scenario, name)
        parts.append(f"{name} {rounded(float(own[0]))} at step 1, {rounded(float(own[-1]))} at step {len(own)}")
    return "; ".join(parts)


def _statements(table: pl.DataFrame) -> list[Statement]:
    good = (AB_NDCG, "RBU", "NRBP", "EU")
    others = tuple(form.name for form in METRICS if form.name not in SUBTOPIC)
    means = {
        (scenario, form.name): float(_curve(table, scenario, form.name).mean())
        for scenario in (ENDS, REDUNDANT, ASPECTS) for form in METRICS
    }  # fmt: skip
    worse = all(
        max(means[scenario, name] for name in SUBTOPIC) < min(means[scenario, name] for name in others)
        for scenario in (ENDS, REDUNDANT, ASPECTS)
    )
    ends = {name: _curve(table, scenario, name)[-1] for scenario in (ENDS, REDUNDANT) for name in good}
    rising = [name for name in others if _rises(_curve(table, ASPECTS, name))]
    hardest = min((ENDS, REDUNDANT, ASPECTS), key=lambda scenario: np.mean([means[scenario, n] for n in others]))
    return [
        claim("3", "in general the subtopic metrics behave worse than the others", holds=worse,
              evidence="mean p over all steps: " + "; ".join(
                  f"{scenario}: " + ", ".join(f"{name} {rounded(means[scenario, name])}" for name in (*SUBTOPIC,
                                              *others))
                  for scenario in (ENDS, REDUNDANT, ASPECTS))),
        claim("3", "αβ-nDCG, RBU, NRBP and EU perform well on swapped and on redundant items",
              holds=min(ends.values()) >= _SURE,
              evidence=f"{_words(table, ENDS, good)}. Redundant: {_words(table, REDUNDANT, good)} "
              f"(well: from {_SURE:g} on at the last step)"),
        claim("3", "swapped aspects are the most challenging scenario", holds=hardest == ASPECTS,
              evidence="mean p of the metrics but S-Recall and S-RR: " + ", ".join(
                  f"{scenario} {rounded(float(np.mean([means[scenario, n] for n in others])))}"
                  for scenario in (ENDS, REDUNDANT, ASPECTS))),
        claim("3", "under swapped aspects αβ-nDCG rises fast and without falling",
              holds=AB_NDCG in rising, evidence=f"{_words(table, ASPECTS, (AB_NDCG,))} ({_FAST})"),
        claim("3", "αβ-nDCG is the only metric that rises so under swapped aspects; the others are erratic",
              holds=rising == [AB_NDCG],
              evidence=f"fast, without falling: {', '.join(rising) or 'none'}; {_words(table, ASPECTS, others[:-1])}"),
    ]  # fmt: skip


def _rises(curve: np.ndarray) -> bool:
    """Whether a curve is high by its middle and never falls by more than a little."""
    return bool(curve[len(curve) // 2] >= _SURE and (np.diff(curve) > -_SLACK).all())
