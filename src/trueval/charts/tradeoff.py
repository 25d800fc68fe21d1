"""Accuracy against something beyond it: what does a system pay for being novel, diverse or broad?"""

from __future__ import annotations

import polars as pl

from trueval.charts.chart import Chart
from trueval.charts.scatter import draw_scatter, points_of
from trueval.comparison.comparison import label_of
from trueval.errors import DefinitionError
from trueval.evaluation.outcome import Evaluation
from trueval.metrics.spec import Spec
from trueval.render.marks import ARROWS
from trueval.render.numbers import level_percent, number


def tradeoff_chart(evaluation: Evaluation, *, accuracy: str | None = None, beyond: str | None = None) -> Chart:
    """Systems by an accuracy metric and one beyond accuracy (default: the first of each that was measured).

    >>> import trueval as tv
    >>> test = pl.DataFrame({"user": range(8), "item": range(8)})
    >>> runs = {name: test.with_columns(item=pl.col("item") // n, rank=1) for name, n in (("a", 1), ("b", 2))}
    >>> result = tv.evaluate_run(runs, test, metrics="hit@1,coverage@1", interval="none")
    >>> tradeoff_chart(result.evaluation).data.select("system", "hit@1", "coverage@1").rows()
    [('a', 1.0, 1.0), ('b', 0.125, 0.5)]
    """
    x = _label(evaluation, accuracy, "accuracy", "an accuracy metric", "ndcg@10")
    y = _label(evaluation, beyond, "beyond", "a metric beyond accuracy", "coverage@10")
    if x == y:
        raise DefinitionError("a trade-off is between two metrics", found=f"{x} twice", do="name two different ones")
    points = points_of(evaluation, x, y)
    names = {"x": x, "y": y}
    data = points.rename({f"{axis}{end}": f"{names[axis]}{end}" for axis in names for end in ("", "_low", "_high")})
    heads = {axis: label + ARROWS[evaluation.specs[label].better] for axis, label in names.items()}
    return Chart(
        "tradeoff", f"{x} against {y}", _description(points, names, evaluation), data,
        lambda frame: draw_scatter(_points(frame), x=heads["x"], y=heads["y"]),
    )  # fmt: skip


def _points(data: pl.DataFrame) -> pl.DataFrame:
    """The table with the names of axes instead of metrics."""
    return data.rename(dict(zip(data.columns, ("system", "x", "x_low", "x_high", "y", "y_low", "y_high"))))


def _label(evaluation: Evaluation, metric: str | None, side: str, what: str, example: str) -> str:
    if metric is not None:
        return label_of(metric, evaluation.specs)
    for label, spec in evaluation.specs.items():
        if spec.metric.measures == side:
            return label
    raise DefinitionError(
        f"the chart of trade-offs needs {what}",
        found=", ".join(evaluation.specs),
        do=f"evaluate one, such as {example}, or name two metrics: accuracy=…, beyond=…",
    )


def _description(points: pl.DataFrame, names: dict[str, str], evaluation: Evaluation) -> str:
    known = points.drop_nulls(["x", "y"])
    bests = [
        f"best {label}: {_best(known, axis, evaluation.specs[label])}" for axis, label in names.items() if len(known)
    ]
    front = undominated(known, *(evaluation.specs[label] for label in names.values()))
    text = f"{'; '.join(bests) or 'Nothing is defined'}. "
    if front:
        text += f"Systems that no other equals or beats on both: {', '.join(front)}. "
    level = evaluation.manifest.get("level")
    has = any(points[f"{axis}_low"].is_not_null().any() for axis in names)
    return (
        text[:1].upper()
        + text[1:]
        + (f"Lines are {level_percent(level)} confidence intervals." if level and has else "")
    )


def _best(points: pl.DataFrame, axis: str, spec: Spec) -> str:
    row = points.sort(axis, descending=spec.better != "lower", maintain_order=True).row(0, named=True)
    return f"{row['system']} ({number(row[axis])})"


def undominated(points: pl.DataFrame, x: Spec, y: Spec) -> list[str]:
    """Systems that no other one equals or beats on both metrics; none where a metric has no better side.

    >>> from trueval.metrics.grammar import parse
    >>> table = pl.DataFrame({"system": ["a", "b", "c"], "x": [0.3, 0.2, 0.1], "y": [0.1, 0.2, 0.1]})
    >>> undominated(table, parse("ndcg@10"), parse("coverage@10"))
    ['a', 'b']
    """
    signs = [{"higher": 1, "lower": -1}.get(spec.better, 0) for spec in (x, y)]
    if 0 in signs:
        return []
    scored = [(name, signs[0] * a, signs[1] * b) for name, a, b in points.select("system", "x", "y").iter_rows()]
    return [name for name, a, b in scored if not any(c >= a and d >= b and (c, d) != (a, b) for _, c, d in scored)]
