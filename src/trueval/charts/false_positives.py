"""Precision against antiprecision: do what people like and what they dislike rank systems alike?"""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.charts.chart import Chart
from trueval.charts.scatter import draw_scatter, points_of
from trueval.comparison.tau import taus
from trueval.errors import DefinitionError
from trueval.evaluation.outcome import Evaluation
from trueval.metrics.spec import Spec
from trueval.render.numbers import rounded


def false_positives_chart(evaluation: Evaluation, *, k: int | None = None) -> Chart:
    """Precision and antiprecision of every system at one cutoff (default: the first that both have).

    τ is between the order by precision and the order by antiprecision, lower being better: 1 where avoiding what users
    dislike favours the same systems as finding what they like (Mena-Maldonado et al. 2020).

    >>> import trueval as tv
    >>> test = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "rating": [5, 1, 1, 5]})
    >>> runs = {
    ...     name: pl.DataFrame({"user": [1, 2], "item": items, "rank": 1})
    ...     for name, items in (("good", [1, 2]), ("half", [1, 1]), ("bad", [2, 1]))
    ... }
    >>> result = tv.evaluate_run(runs, test, threshold=4, metrics="precision@1,antiprecision@1", interval="none")
    >>> false_positives_chart(result.evaluation).title
    "precision@1 and antiprecision@1 rank 3 systems alike: Kendall's τ = 1.00"
    """
    pairs = _pairs(evaluation)
    if not pairs or (k is not None and k not in pairs):
        at = "the same cutoff" if k is None else f"the cutoff {k}"
        raise DefinitionError(
            f"the chart of false positives needs precision and antiprecision at {at}",
            found=", ".join(evaluation.specs),
            do=f'evaluate metrics=["precision@{k or 10}", "antiprecision@{k or 10}"], with ratings and a threshold',
        )
    x, y = pairs[k] if k is not None else next(iter(pairs.values()))
    points = points_of(evaluation, x, y)
    names = dict(zip(points.columns[1:], (x, f"{x}_low", f"{x}_high", y, f"{y}_low", f"{y}_high")))
    title, description = _words(points, x, y)
    return Chart(
        "false_positives", title, description, points.rename(names),
        lambda frame: draw_scatter(
            frame.rename({new: old for old, new in names.items()}),
            x=f"{x} (higher is better)",
            y=f"{y} (lower is better)",
        ),
    )  # fmt: skip


def _pairs(evaluation: Evaluation) -> dict[int, tuple[str, str]]:
    """By cutoff, the labels of both metrics."""
    liked: dict[int, str] = {}
    disliked: dict[int, str] = {}
    for label, spec in evaluation.specs.items():
        if spec.k and spec.metric.name == "precision" and not spec.transforms:
            liked.setdefault(spec.k, label)
        elif spec.k and _is_anti(spec):
            disliked.setdefault(spec.k, label)
    return {k: (liked[k], disliked[k]) for k in liked if k in disliked}


def _is_anti(spec: Spec) -> bool:
    return spec.metric.name == "antiprecision" or (spec.metric.name == "precision" and spec.transforms == ("anti",))


def _words(points: pl.DataFrame, x: str, y: str) -> tuple[str, str]:
    """Title and description, with Kendall's τ where there are three systems or more."""
    known = points.drop_nulls(["x", "y"])
    good, bad = known["x"].to_numpy(), -known["y"].to_numpy()
    tau = float(taus(good[None], bad[None])[0][0]) if len(known) > 2 else np.nan
    if np.isnan(tau):
        why = "fewer than three systems" if len(known) < 3 else "all systems are equal on one of them"
        return f"{x} against {y}", f"The orders of the systems by {x} and by {y} are not compared: {why}."
    alike = "alike" if tau > 0.99 else "partly alike" if tau > 0 else "differently"
    title = f"{x} and {y} rank {len(known)} systems {alike}: Kendall's τ = {rounded(tau)}"
    best = [str(known.sort(axis, descending=axis == "x", maintain_order=True)["system"][0]) for axis in ("x", "y")]
    return title, (
        f"Most items that users like: {best[0]}; fewest that they dislike: {best[1]}. Kendall's τ-b between both "
        f"orders is {rounded(tau)} (1: the same order, −1: the opposite one)."
    )
