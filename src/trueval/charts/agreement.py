"""How far rankings agree: Kendall's τ between every two of them, as a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from trueval.charts.altair import BAD, GOOD, INK, altair
from trueval.charts.chart import Chart
from trueval.charts.series import in_order
from trueval.comparison.agreement import Agreement
from trueval.errors import DefinitionError, suggest
from trueval.render.numbers import level_percent, rounded

KINDS = ("tau", "top")


def agreement_chart(found: Agreement, *, kind: str = "tau") -> Chart:
    """The matrix of τ-b (`kind="tau"`) or of the top-weighted τ (`"top"`), numbers in the cells.

    >>> import trueval as tv
    >>> test = pl.DataFrame({"user": range(30), "item": [0] * 30})
    >>> runs = {
    ...     name: pl.DataFrame({"user": range(30), "item": [0 if u < hits else 1 for u in range(30)], "rank": 1})
    ...     for name, hits in (("a", 25), ("b", 15), ("c", 5))
    ... }
    >>> chart = agreement_chart(tv.evaluate_run(runs, test, metrics="hit@1,precision@1").agreement())
    >>> chart.data.select("one", "other", "tau").rows()[1]
    ('hit@1', 'precision@1', 1.0)
    """
    if kind not in KINDS:
        raise DefinitionError(f"there is no kind of τ {kind!r}", do=suggest(kind, KINDS))
    matrix = found.tau if kind == "tau" else found.top
    rows = [
        {"one": one, "other": other, "tau": float(matrix.value[i, j]), "low": float(matrix.low[i, j]),
         "high": float(matrix.high[i, j]), "observed": float(matrix.observed[i, j])}
        for i, one in enumerate(found.labels)
        for j, other in enumerate(found.labels)
    ]  # fmt: skip
    data = pl.DataFrame(rows).with_columns(pl.col(pl.Float64).fill_nan(None))
    name = "Kendall's τ" if kind == "tau" else "Top-weighted τ"
    title = f"{name} between {len(found.labels)} rankings of {len(found.systems)} systems"
    return Chart("agreement", title, _description(data, found), data, draw_matrix)


def _description(data: pl.DataFrame, found: Agreement) -> str:
    place = {label: i for i, label in enumerate(found.labels)}
    pairs = [row for row in data.drop_nulls("tau").iter_rows(named=True) if place[row["one"]] < place[row["other"]]]
    if not pairs:
        return "No τ is defined: in some ranking all systems are equal."
    least, most = min(pairs, key=lambda row: row["tau"]), max(pairs, key=lambda row: row["tau"])
    text = f"Least alike: {_pair(least)}. Most alike: {_pair(most)}. " if len(pairs) > 1 else f"{_pair(least)}. "
    return text + (
        "1: the same order, 0: none in common, −1: the opposite. Estimates for the true values, with "
        f"{level_percent(found.level)} intervals in the table."
    )


def _pair(row: dict[str, Any]) -> str:
    return f"{row['one']} and {row['other']} ({rounded(row['tau'])})"


def draw_matrix(data: pl.DataFrame) -> Any:
    """Cells of `one` by `other`, coloured by `tau`, with its number."""
    alt = altair()
    labels = in_order(data, "one")
    side = int(np.clip(520 / len(labels), 34, 64))
    shown = data.with_columns(
        text=pl.col("tau").map_elements(rounded, return_dtype=pl.String).fill_null("–"),
        strength=pl.col("tau").abs().fill_null(0.0) * 0.75,
        sign=pl.when(pl.col("tau") < 0).then(pl.lit("below 0")).otherwise(pl.lit("0 or more")),
    )
    base = alt.Chart(shown).encode(
        x=alt.X("other:N", title=None, sort=labels, axis=alt.Axis(labelAngle=-45, ticks=False, domain=False)),
        y=alt.Y("one:N", title=None, sort=labels, axis=alt.Axis(ticks=False, domain=False)),
    )
    cells = base.mark_rect().encode(
        color=alt.Color("sign:N", legend=None, scale=alt.Scale(domain=["0 or more", "below 0"], range=[GOOD, BAD])),
        opacity=alt.Opacity("strength:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0, 1])),
    )
    numbers = base.mark_text(color=INK, fontSize=12 if side > 38 else 10).encode(text="text:N")
    return alt.layer(cells, numbers).properties(width=alt.Step(side), height=alt.Step(min(side, 34)))
