"""Sparsity as text: sizes and densities, then values by removed ratings and by size of the target sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trueval.errors import visible
from trueval.render.numbers import decimal, percent, rounded
from trueval.render.terminal import plain_table, printed

if TYPE_CHECKING:
    from trueval.audit.sparsity import Sparsity


def sparsity_text(found: Sparsity) -> str:
    """All of it."""
    parts = ["\n".join(visible(line) for line in sparsity_lines(found))]
    if found.unjudged:
        rows = [[name, percent(share)] for name, share in found.unjudged.items()]
        parts.append(printed(plain_table(["system", f"unjudged@{found.k}"], rows, align="lr")))
    for metric in found.fewer["metric"].unique(maintain_order=True):
        head = [f"{metric}, test ratings removed", *_ats(found.fewer, metric, "removed")]
        parts.append(_grid(found.fewer, metric, "removed", head))
    if found.larger is not None:
        for metric in found.larger["metric"].unique(maintain_order=True):
            head = [f"1R {metric}, size of target sets", *_ats(found.larger, metric, "targets")]
            parts.append(_grid(found.larger, metric, "targets", head))
    return "\n".join([*parts, *map(visible, found.notes)]).rstrip("\n")


def sparsity_lines(found: Sparsity) -> list[str]:
    """Sizes and densities: σ, t, δ, ρ, and precision by chance."""
    unit = "relevant items of users" if found.design == "1R" else "users"
    lines = [f"{found.design}: {found.units:,} {unit}"]
    if found.sigma is not None:
        lines.append(f"share of ratings in test: σ = {percent(found.sigma)}")
    if found.targets and found.t is not None:
        s = found.targets
        lines.append(
            f"target sets: {s['min']:,.0f} to {s['max']:,.0f} items, median {s['median']:,.6g}; t = {found.t:,.1f} "
            "(1/t is the mean of 1/|T_u|)"
        )
    if found.delta is not None:
        lines.append(f"density of known relevance: δ = {_small(found.delta)}")
    if found.rho is not None and found.chance_precision is not None:
        lines.append(
            f"relevant share of the target sets: ρ = {_small(found.rho)}; precision@{found.k} by chance: "
            f"{_small(found.chance_precision)}"
        )
    return lines


def _small(value: float) -> str:
    return f"{value:.4g}"


def _ats(frame: pl.DataFrame, metric: str, column: str) -> list[str]:
    ats = frame.filter(pl.col("metric") == metric)[column].unique(maintain_order=True).to_list()
    return [f"{at:,}" if column == "targets" else percent(at, 0) for at in sorted(ats)]


def _grid(frame: pl.DataFrame, metric: str, column: str, head: list[str]) -> str:
    own = frame.filter(pl.col("metric") == metric).sort(column, maintain_order=True)
    rows = [
        [str(name), *(decimal(value) for value in own.filter(pl.col("system") == name)["value"])]
        for name in own["system"].unique(maintain_order=True)
    ]
    firsts = own.group_by(column, maintain_order=True).first()
    rows.append(["by chance", *(decimal(value) for value in firsts["by_chance"])])
    if "tau" in own.columns and not firsts["tau"].is_nan().all():
        cells = ["–" if value != value else rounded(value) for value in firsts["tau"]]
        rows.append(["τ with the order of all ratings", *cells])
    return printed(plain_table(head, rows, align="lr"))
