"""Values by group: who is served well, and who is not?"""

from __future__ import annotations

from typing import Any

import polars as pl

from trueval.charts.altair import WIDTH, altair
from trueval.charts.chart import Chart
from trueval.charts.series import in_order, listed, series_of, span
from trueval.comparison.comparison import label_of
from trueval.errors import DefinitionError
from trueval.evaluation.outcome import Evaluation
from trueval.render.numbers import level_percent, number


def groups_chart(evaluation: Evaluation, *, by: str | None = None, metric: str | None = None) -> Chart:
    """One metric (default: the first) in every group of one column (default: the first), by system.

    >>> import trueval as tv
    >>> recs = pl.DataFrame({"user": [1, 2, 3], "item": ["a", "a", "b"], "rank": 1})
    >>> test = pl.DataFrame({"user": [1, 2, 3], "item": ["a", "a", "a"]})
    >>> users = pl.DataFrame({"user": [1, 2, 3], "gender": ["f", "f", "m"]})
    >>> result = tv.evaluate_run(recs, test, users=users, by="gender", metrics="hit@1", min_group=1)
    >>> groups_chart(result.evaluation).data.select("group", "users", "value").rows()
    [('f', 2, 1.0), ('m', 1, 0.0)]
    """
    first = next(iter(evaluation.systems.values()))
    if not first.groups:
        raise DefinitionError(
            "the chart of groups needs an evaluation by group",
            found="no groups",
            do='evaluate with by="activity", or by a column of users=… or items=…',
        )
    column = next(iter(first.groups)) if by is None else by
    found = first.by(column)
    label = _metric(evaluation, list(next(iter(found.estimates.values()))), metric, column)
    rows = [
        {"system": name, "group": group, "users": own.users[group], "value": e[label].value, "low": e[label].low,
         "high": e[label].high, "n": e[label].n}
        for name, system in evaluation.systems.items()
        for own in (system.by(column),)
        for group, e in own.estimates.items()
    ]  # fmt: skip
    data = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("value", "low", "high").fill_nan(None))
    title = f"{label} by {column}"
    return Chart("groups", title, _description(data, label, evaluation), data, lambda frame: _draw(frame, label))


def _metric(evaluation: Evaluation, known: list[str], metric: str | None, column: str) -> str:
    label = next(iter(known), "") if metric is None else label_of(metric, evaluation.specs)
    if label not in known:
        raise DefinitionError(
            f"{label or 'no metric'} has no values by {column}",
            do=f"choose one of {', '.join(known)}" if known else "evaluate a metric of users, such as ndcg@10",
        )
    return label


def _description(data: pl.DataFrame, label: str, evaluation: Evaluation) -> str:
    parts = []
    for (name,), own in data.drop_nulls("value").group_by("system", maintain_order=True):
        ordered = own.sort("value", maintain_order=True)
        low, high = ordered.row(0, named=True), ordered.row(-1, named=True)
        parts.append(
            f"{name} from {number(low['value'])} ({low['group']}) to {number(high['value'])} ({high['group']})"
        )
    level = evaluation.manifest.get("level")
    has = bool(data["low"].is_not_null().any())
    ends = f" Lines are {level_percent(level)} confidence intervals." if level and has else ""
    return f"{label}: {listed(parts) or 'defined in no group'}.{ends}"


def _draw(data: pl.DataFrame, label: str) -> Any:
    alt = altair()
    systems, groups = in_order(data, "system"), in_order(data, "group")
    users = dict(data.group_by("group").agg(pl.col("users").max()).iter_rows())
    named = {group: f"{group} ({_users(users[group])})" for group in groups}
    seen = data.with_columns(shown=pl.col("group").replace_strict(named, return_dtype=pl.String))
    values = [v for column in ("value", "low", "high") for v in seen[column].to_list()]
    x = alt.X(
        "value:Q",
        title=label,
        scale=alt.Scale(domain=span(values), nice=False),
        axis=alt.Axis(format="~g", tickCount=8),
    )
    look = series_of(systems)
    step = 16 if len(systems) > 1 else 26
    bands = alt.Scale(paddingInner=0.25, paddingOuter=0.15)
    base = alt.Chart(seen).encode(
        y=alt.Y("shown:N", title=None, sort=list(named.values()), scale=bands),
        yOffset=alt.YOffset("system:N", sort=systems), color=look.colour,
    )  # fmt: skip
    lines = base.mark_rule(strokeWidth=2, opacity=0.75).encode(x=alt.X("low:Q", title=label), x2="high:Q")
    points = base.mark_point(filled=True, size=60, opacity=1).encode(x=x, shape=look.shape)
    return alt.layer(lines, points).properties(width=WIDTH, height=alt.Step(step, **{"for": "offset"}))


def _users(number: int) -> str:
    return "1 user" if number == 1 else f"{number:,} users"
