"""Designs and metrics in a world like the reader's: how near each comes to the true order of systems."""

from __future__ import annotations

import math

import polars as pl

from trueval.audit.simulated_designs import SimulatedDesigns
from trueval.charts.chart import Chart
from trueval.charts.forest import draw_forest
from trueval.render.numbers import rounded

_MOST = 20  # settings


def simulated_designs_chart(found: SimulatedDesigns) -> Chart:
    """Kendall's τ with the true order for each design and metric, the reader's first, then the nearest ones.

    >>> import trueval as tv
    >>> log = tv.simulate("world", users=80, items=60, ratings=1500, seed=1).log
    >>> found = tv.audit(tv.split(log, "holdout"), ["popularity"], threshold=4, simulate=2)
    >>> chart = simulated_designs_chart(found.measured["simulated_designs"])
    >>> chart.data["setting"][0]
    'AR-TI-AN ndcg@10 (yours)'
    """
    rows = []
    for one in [found.own, *(other for other in found.by_order if other.name != found.own.name)][:_MOST]:
        low, high = one.tau_interval
        mean = one.mean_tau
        ends = (mean, mean) if math.isnan(low) else (max(low, -1.0), min(high, 1.0))
        mine = one.name == found.own.name
        rows.append((f"{one.name} (yours)" if mine else one.name, mean, *ends, _verdict(found, one.name)))
    schema = {"setting": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "verdict": pl.String}
    data = pl.DataFrame(rows, schema=schema, orient="row").fill_nan(None)
    best = found.by_order[0]
    text = (
        f"Kendall's τ with the true order by {found.order_by}: {rounded(found.own.mean_tau)} under {found.own.name}, "
        f"and {rounded(best.mean_tau)} under {best.name}, the highest of {len(found.settings)} settings. Lines are 95 % "
        "intervals over logs; colours tell whether a setting is shown to be nearer to the true order than yours."
    )
    title = "Which design and metric comes nearest to the true order?"
    return Chart("simulated_designs", title, text, data, lambda frame: draw_forest(frame, row="setting", title="τ"))


def _verdict(found: SimulatedDesigns, name: str) -> str:
    if name == found.own.name:
        return "no verdict"
    one = next(one for one in found.settings if one.name == name)
    _, low, high = found.nearer(one)
    return "higher" if low > 0 else "lower" if high < 0 else "no significant difference"
