"""A metric over its cutoffs: does the order of the systems depend on how long a list people see?"""

from __future__ import annotations

from typing import Any

import polars as pl

from trueval.charts.altair import WIDTH, altair
from trueval.charts.chart import Chart
from trueval.charts.series import in_order, series_of, span
from trueval.errors import DefinitionError, suggest
from trueval.evaluation.outcome import Evaluation
from trueval.render.numbers import level_percent, number

_STEP = 0.011  # of the axis, between the intervals of two systems, which would hide each other


def cutoffs_chart(evaluation: Evaluation, *, metric: str | None = None) -> Chart:
    """One metric at several cutoffs, a line per system; `metric` is its name without one (default: the first).

    >>> import trueval as tv
    >>> test = pl.DataFrame({"user": [1, 2], "item": ["a", "b"]})
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": ["a", "b"] * 2, "rank": [1, 2] * 2})
    >>> result = tv.evaluate_run(recs, test, metrics="hit@1,hit@2,rr", interval="none")
    >>> cutoffs_chart(result.evaluation).data.select("cutoff", "value").rows()
    [(1, 0.5), (2, 1.0)]
    """
    family = _chosen(families(evaluation), metric)
    rows = [
        {"system": name, "cutoff": k, "value": e.value, "low": e.low, "high": e.high, "n": e.n}
        for name, system in evaluation.systems.items()
        for k, label in family[1].items()
        for e in (system.estimates[label],)
    ]
    data = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("value", "low", "high").fill_nan(None))
    ks = list(family[1])
    title = f"{family[0]} at cutoffs {ks[0]} to {ks[-1]}"
    return Chart(
        "cutoffs",
        title,
        _description(data, family[0], family[1][ks[0]], evaluation),
        data,
        lambda frame: _draw(frame, family[0]),
    )


def families(evaluation: Evaluation) -> dict[str, dict[int, str]]:
    """Metrics that were measured at several cutoffs: by name, the label at each of them, ascending."""
    found: dict[str, dict[int, str]] = {}
    for label, spec in evaluation.specs.items():
        if spec.k:
            found.setdefault(label.replace(f"@{spec.k}", "", 1), {})[spec.k] = label
    return {name: dict(sorted(own.items())) for name, own in found.items() if len(own) > 1}


def _chosen(known: dict[str, dict[int, str]], metric: str | None) -> tuple[str, dict[int, str]]:
    if not known:
        raise DefinitionError(
            "the chart of cutoffs needs a metric at several cutoffs",
            found="none was measured at more than one",
            do='evaluate for example metrics=["ndcg@5", "ndcg@10", "ndcg@20"]',
        )
    name = next(iter(known)) if metric is None else metric.partition("@")[0]
    if name not in known:
        raise DefinitionError(f"{metric!r} was not measured at several cutoffs", do=suggest(name, known))
    return name, known[name]


def _description(data: pl.DataFrame, name: str, label: str, evaluation: Evaluation) -> str:
    parts, lower = [], evaluation.specs[label].better == "lower"
    for k, own in data.group_by("cutoff", maintain_order=True):
        known = own.drop_nulls("value")
        if len(known):
            best = float(known["value"].min() if lower else known["value"].max())  # type: ignore[arg-type]
            names = known.filter(pl.col("value") == best)["system"].to_list()
            who = names[0] if len(names) == 1 else f"{len(names)} systems alike"
            parts.append(f"{who} at {k[0]} ({number(best)})")
    level = evaluation.manifest.get("level")
    has = bool(data["low"].is_not_null().any())
    ends = f" Vertical lines are {level_percent(level)} confidence intervals." if level and has else ""
    return f"{'Lowest' if lower else 'Highest'} {name}: {', '.join(parts) or 'nowhere defined'}.{ends}"


def _draw(data: pl.DataFrame, name: str) -> Any:
    alt = altair()
    systems, ks = in_order(data, "system"), sorted(set(data["cutoff"]))
    width = (ks[-1] / ks[0]) ** _STEP
    place = {name: width ** (i - (len(systems) - 1) / 2) for i, name in enumerate(systems)}
    beside = data["system"].replace_strict(place, return_dtype=pl.Float64)
    seen = data.with_columns(at=pl.col("cutoff") * beside)
    ends = [ks[0] / width ** (len(systems) / 2 + 2), ks[-1] * width ** (len(systems) / 2 + 2)]
    x = alt.X(
        "at:Q", title="cutoff", scale=alt.Scale(type="log", domain=ends, nice=False),
        axis=alt.Axis(values=ks, format="d", grid=False),
    )  # fmt: skip
    values = [v for column in ("value", "low", "high") for v in seen[column].to_list()]
    y = alt.Y(
        "value:Q", title=name, scale=alt.Scale(domain=span(values), nice=False), axis=alt.Axis(format="~g", grid=True)
    )
    look = series_of(systems)
    base = alt.Chart(seen).encode(x=x, color=look.colour)
    lines = base.mark_line(strokeWidth=1.5).encode(y=y, strokeDash=look.dash)
    whiskers = base.mark_rule(strokeWidth=1.5, opacity=0.75).encode(y=alt.Y("low:Q"), y2="high:Q")
    points = base.mark_point(filled=True, size=55, opacity=1).encode(y=y, shape=look.shape)
    return alt.layer(whiskers, lines, points).properties(width=WIDTH, height=300)
