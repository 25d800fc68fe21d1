"""Differences from a baseline with their intervals: the forest plot."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl

from trueval.charts.chart import Chart
from trueval.charts.forest import COLOURS, draw_forest
from trueval.comparison.comparison import Comparison
from trueval.render.marks import verdict_text
from trueval.render.numbers import level_percent


def differences_chart(comparisons: Sequence[Comparison], *, panels: int | None = None) -> Chart:
    """Each system minus the baseline, metric by metric, with the interval and the verdict.

    At most `panels` metrics are drawn, the first; the numbers of all are in the table.

    >>> import trueval as tv
    >>> test = pl.DataFrame({"user": range(8), "item": range(8)})
    >>> runs = {name: test.with_columns(item=pl.col("item") // n, rank=1) for name, n in (("a", 1), ("b", 2))}
    >>> chart = differences_chart(tv.evaluate_run(runs, test, metrics="hit@1", interval="t").compare("b"))
    >>> chart.title, chart.data.select("system", "difference", "verdict").rows()
    ('Differences from b', [('a', 0.875, 'better')])
    """
    rows = [
        {"metric": c.metric, "system": c.system, "difference": c.difference, "low": c.low, "high": c.high,
         "p": c.p_corrected, "verdict": verdict_text(c.verdict)}
        for c in comparisons
    ]  # fmt: skip
    data = pl.DataFrame(rows).with_columns(pl.col("difference", "low", "high").fill_nan(None))
    baseline, level = comparisons[0].baseline, level_percent(comparisons[0].level)
    about, metrics = _description(data, level), data["metric"].n_unique()
    if panels is not None and panels < metrics:
        about += f" Drawn are the first {panels} of {metrics} metrics."
    return Chart("differences", f"Differences from {baseline}", about, data, partial(_draw, panels=panels))


def _description(data: pl.DataFrame, level: str) -> str:
    counts = [(name, int((data["verdict"] == name).sum())) for name in COLOURS]
    parts = [f"{n} {name}" for name, n in counts if n]
    counted = f"Of {len(data)} comparisons: {', '.join(parts)}."
    if data["low"].is_null().all():
        return f"{counted} There are no confidence intervals: a difference may be due to chance."
    return (
        f"{counted} Lines are {level} confidence intervals; an interval that "
        "crosses the dashed line at 0 leaves open which is better."
    )


def _draw(data: pl.DataFrame, *, panels: int | None) -> Any:
    own = data.filter(pl.col("metric").is_in(data["metric"].unique(maintain_order=True)[:panels].implode()))
    return draw_forest(own.rename({"difference": "value"}), row="system", panel="metric")
