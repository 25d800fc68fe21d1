"""Figure 3: 1RP@10 lies inside the bounds of the lemma."""

from __future__ import annotations

import polars as pl

from trueval.audit.fewer_ratings import removal_chances, without_rows
from trueval.facts.one_relevant_bounds import one_relevant_bounds
from trueval.papers.bellogin2017.evaluation import HOLDOUT, bound_designs, evaluated, target_size
from trueval.papers.drawing import Axis, Panels, band_chart
from trueval.papers.record import Figure, Statement, claim
from trueval.papers.registry import figure
from trueval.papers.setting import Setting

_TITLE = "1RP@10 and its bounds by the lemma"
_SYSTEMS = ("pLSA", "kNN")
_REMOVED = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9)
_ROUNDING = 1e-12


@figure("3", _TITLE)
def bounds(setting: Setting) -> Figure:
    """The value between its bounds, by removed test ratings and by the size of the target sets."""
    points = setting.step("bounds", _bounds)
    by = ["changed", "system", "at"]
    table = points.group_by(by, maintain_order=True).agg(pl.col("lower", "value", "upper").mean(), splits=pl.len())
    panel = pl.format("{}, {}", pl.col("system"), pl.col("changed"))
    size = target_size(setting.log)
    made = {}
    for changed, axis in (("removed", Axis("at", "test ratings removed", format=".0%")),
                          ("targets", Axis("at", "|T| in 1R", format=",d"))):  # fmt: skip
        own = table.filter(changed=changed).with_columns(panel=pl.col("system"))
        name = f"bellogin2017-3-{changed}"
        words = "test ratings are removed" if changed == "removed" else "target sets grow"
        made[name] = band_chart(
            name, f"{_TITLE}, as {words}", f"The line is 1RP@10, the shades reach to the bounds. {_described(own)}",
            own.select("panel", "at", "lower", "value", "upper"), Panels(axis, Axis("value", "1RP@10", zero=True),
            series="panel", panel="panel"),
        )  # fmt: skip
    tables = {"bellogin2017-3": table.with_columns(panel=panel), "bellogin2017-3-points": points}
    return Figure("3", _TITLE, tables, made, tuple(_claims(points, table)), (
        f"All from one ranking of each system per split and size: |T| = {size} on the left.",
    ))  # fmt: skip


def _bounds(setting: Setting) -> pl.DataFrame:
    """Bounds and value in every split, from the facts of AR designs with one sample per user."""
    found, sizes = evaluated(setting, HOLDOUT), bound_designs(setting.log)
    rows = []
    for size, design in sizes.items():
        result = found[design]
        for repeat, evaluation in (result.repeats or {"one split": result.evaluation}).items():
            for system in _SYSTEMS:
                facts = evaluation.facts[system]
                rows.append(("targets", system, repeat, float(size), *one_relevant_bounds(facts, 10)))
                if size != target_size(setting.log):
                    continue
                for share in _REMOVED:
                    left = without_rows(facts, removal_chances(facts, seed=setting.seed) >= share) if share else facts
                    rows.append(("removed", system, repeat, share, *one_relevant_bounds(left, 10)))
    columns = ("changed", "system", "split", "at", "lower", "value", "upper")
    return pl.DataFrame(rows, schema=columns, orient="row").sort("changed", "system", "split", "at")


def _described(own: pl.DataFrame) -> str:
    parts = [
        f"{system}: the interval goes from {_width(rows, 0):.4f} to {_width(rows, -1):.4f}"
        for (system,), rows in own.group_by("system", maintain_order=True)
    ]
    return "; ".join(parts) + "."


def _width(rows: pl.DataFrame, place: int) -> float:
    return float(rows["upper"][place] - rows["lower"][place])


def _claims(points: pl.DataFrame, table: pl.DataFrame) -> list[Statement]:
    inside = points.filter(
        (pl.col("lower") <= pl.col("value") + _ROUNDING) & (pl.col("value") <= pl.col("upper") + _ROUNDING)
    )
    shrinks = all(_width(own, -1) < _width(own, 0) for _, own in table.sort("at").group_by("changed", "system"))
    rates = {
        changed: [_width(own, -1) / _width(own, 0) for _, own in table.filter(changed=changed).group_by("system")]
        for changed in ("removed", "targets")
    }
    told = "; ".join(f"{name}: {', '.join(f'{x:.2f}' for x in sorted(xs))}" for name, xs in rates.items())
    return [
        claim("3", "the lemma's bounds hold at every point", holds=len(inside) == len(points),
              evidence=f"{len(inside):,} of {len(points):,} points: systems, splits, removals, sizes"),
        claim("3", "the interval narrows as |T| grows, and as test ratings are removed", holds=shrinks,
              evidence=f"last width over first width, {told}"),
        claim("3", "the interval narrows faster with sparsity than with |T|",
              holds=max(rates["removed"]) < min(rates["targets"]),
              evidence=f"last width over first width, {told}"),
    ]  # fmt: skip
