"""Popularity of items as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trueval.render.numbers import number, percent, rounded
from trueval.render.terminal import plain_table, printed

if TYPE_CHECKING:
    from trueval.audit.popularity_curve import Popularity, PopularityCurve


def popularity_curve_text(found: PopularityCurve) -> str:
    """A table of the sides, and what popularity has to do with likes."""
    table = printed(plain_table(["", *found.sides], _rows(list(found.sides.values())), align="lr"))
    return table + "\n" + "\n".join(_lines(found))


def _rows(sides: list[Popularity]) -> list[list[str]]:
    rows = [
        ["items", *(f"{len(side.counts):,}" for side in sides)],
        ["items without a rating", *(f"{int((side.counts == 0).sum()):,}" for side in sides)],
        ["ratings", *(f"{int(side.counts.sum()):,}" for side in sides)],
        ["Gini index", *(_number(side.gini) for side in sides)],
    ]
    for share in sides[0].heads:
        rows.append([f"first {100 * share:g} % of items", *(percent(side.heads[share]) for side in sides)])
    if any(side.train_heads is not None for side in sides):
        for share in sides[0].heads:
            cells = ["" if side.train_heads is None else percent(side.train_heads[share]) for side in sides]
            rows.append([f"first {100 * share:g} % of train", *cells])
    for name, letter in (
        ("alpha", "α"),
        ("beta", "β"),
        ("c1", "c1"),
        ("c2", "c2"),
        ("explained", "variance explained"),
    ):
        cells = ["–" if side.law is None else _number(getattr(side.law, name)) for side in sides]
        rows.append([f"power law: {letter}", *cells])
    return rows


def _number(value: float) -> str:
    if value != value:
        return "–"
    return f"{value:.3g}" if abs(value) >= 1e5 else number(value) if abs(value) >= 10 else rounded(value, 3)


def _lines(found: PopularityCurve) -> list[str]:
    lines = ["ratings by popularity rank k: c1 + β·(c2 + k)^(−α), by least squares"]
    if found.liked is None:
        return [*lines, "liked ratio: not known, for all ratings are relevant, or none"]
    ratio = found.liked["ratio"]
    tenth = max(1, round(len(ratio) / 10))
    means = [float(part.mean()) for part in (ratio.head(tenth), ratio.tail(tenth))]  # type: ignore[arg-type]
    over = "the first and the last tenth of items by popularity"
    lines.append(f"liked ratio in {over}: {percent(means[0])} and {percent(means[1])}")
    r, tau = ("undefined" if v != v else rounded(v) for v in (found.liked_r, found.liked_tau))
    lines.append(f"number of ratings and liked ratio of items: Pearson's r {r}, Kendall's τ {tau}")
    return lines
