"""How a metric is spread over users: a mean hides whether everybody gets a little or a few get all."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from trueval.charts.altair import WIDTH, altair
from trueval.charts.chart import Chart
from trueval.charts.series import in_order, listed, series_of, span
from trueval.comparison.comparison import label_of
from trueval.errors import DefinitionError
from trueval.evaluation.outcome import Evaluation
from trueval.render.numbers import number, short_percent

STEPS = 40  # so many quantiles of every system are drawn: no height is off by more than 1/40


def users_chart(evaluation: Evaluation, *, metric: str | None = None) -> Chart:
    """The empirical distribution over users of one metric (default: the first with values of users), by system.

    >>> import trueval as tv
    >>> test = pl.DataFrame({"user": range(4), "item": range(4)})
    >>> recs = pl.DataFrame({"user": range(4), "item": [0, 1, 2, 0], "rank": 1})
    >>> result = tv.evaluate_run(recs, test, metrics="hit@1", interval="none")
    >>> users_chart(result.evaluation).data.select("value", "users_at_most").rows()
    [(0.0, 0.25), (1.0, 1.0)]
    """
    parts = list(evaluation.repeats.values()) or [evaluation]
    label = _metric(evaluation, parts, metric)
    steps, masses, units = [], [], 0
    for name in evaluation.systems:
        values = np.concatenate([part.systems[name].values[label] for part in parts])
        values = values[~np.isnan(values)]
        if not len(values):
            continue
        found = distribution(values)
        units = max(units, len(values))
        steps.append(found.select(pl.lit(name).alias("system"), pl.all()))
        zero, top = (float((values == edge).mean()) for edge in (0, values.max()))
        masses.append(f"{name}: mean {number(float(values.mean()))}, {_masses(zero, top, float(values.max()))}")
    if not steps:
        raise DefinitionError(f"{label} is undefined for every user", do="choose another metric")
    what = "relevant items" if next(iter(parts[0].systems.values())).unit_item is not None else "users"
    over = f" of {len(parts)} repeats together" if len(parts) > 1 else ""
    description = (
        f"Share of {what}{over} with at most that value of {label}; a step is a share with exactly that value. "
        f"{listed(masses)}."
    )
    title = f"{label} over {units:,} {what}"
    return Chart("users", title, description, pl.concat(steps), lambda frame: _draw(frame, label, what))


def _masses(zero: float, top: float, highest: float) -> str:
    parts = [f"{short_percent(zero)} at 0"]
    return ", ".join(parts if highest == 0 else [*parts, f"{short_percent(top)} at the highest value, {highest:.4g}"])


def distribution(values: np.ndarray, steps: int = STEPS) -> pl.DataFrame:
    """Exact shares of users with at most so much: at every value if they are few, else at quantiles, and at both ends.

    >>> distribution(np.array([0.0, 0.0, 0.5, 1.0])).rows()
    [(0.0, 0.5), (0.5, 0.75), (1.0, 1.0)]
    >>> len(distribution(np.random.default_rng(0).random(100_000))) <= STEPS + 1
    True
    """
    counted = pl.DataFrame({"value": values}).group_by("value").len().sort("value")
    shares = counted.select("value", users_at_most=pl.col("len").cum_sum() / len(values))
    if len(shares) <= steps + 1:
        return shares
    at = np.searchsorted(shares["users_at_most"].to_numpy(), np.arange(1, steps + 1) / steps * (1 - 1e-12))
    return shares[np.unique([0, *np.minimum(at, len(shares) - 1)])]


def _metric(evaluation: Evaluation, parts: list[Evaluation], metric: str | None) -> str:
    first = next(iter(parts[0].systems.values()))
    known = [label for label in evaluation.specs if label in first.values]
    label = label_of(metric, evaluation.specs) if metric is not None else next(iter(known), "")
    if label not in known:
        raise DefinitionError(
            f"{label} has one value for a whole system, and none for a user"
            if label
            else "no metric has users' values",
            do=f"choose one of {', '.join(known)}" if known else "evaluate a metric of users, such as ndcg@10",
        )
    return label


def _draw(data: pl.DataFrame, label: str, what: str) -> Any:
    alt = altair()
    systems = in_order(data, "system")
    low, high = span([*data["value"]], also=(0.0,), pad=0.02)
    # A curve begins on the axis and ends at the right edge, whatever its first and last value are.
    ends = [
        frame
        for (name,), own in data.group_by("system", maintain_order=True)
        for frame in (
            pl.DataFrame({"system": [name], "value": [low], "users_at_most": [0.0]}),
            own,
            pl.DataFrame({"system": [name], "value": [high], "users_at_most": [1.0]}),
        )
    ]
    look = series_of(systems, lines=True)
    x = alt.X("value:Q", title=label, scale=alt.Scale(domain=[low, high], nice=False), axis=alt.Axis(format="~g"))
    y = alt.Y(
        "users_at_most:Q", title=f"share of {what} with at most this",
        scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%", grid=True),
    )  # fmt: skip
    made = alt.Chart(pl.concat(ends)).mark_line(interpolate="step-after", strokeWidth=1.8)
    return made.encode(x=x, y=y, color=look.colour, strokeDash=look.dash).properties(width=WIDTH, height=300)
