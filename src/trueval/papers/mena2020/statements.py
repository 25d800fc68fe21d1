"""Statements of this paper: numbers that only its own data can meet, and panels of systems."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from trueval.papers.mena2020.constants import OPTIMAL, PERSONAL
from trueval.papers.record import Statement, claim, not_comparable, number
from trueval.papers.setting import Setting
from trueval.render.numbers import rounded


def printed(
    setting: Setting, slot: str, figure: str, claim: str, *, published: float, here: float, tolerance: float,
    digits: int | None = None, unit: str = "", note: str = "",
) -> Statement:  # fmt: skip
    """A printed number; a generated world cannot be expected to meet it."""
    apart = "a generated world, not the paper's data" if setting.generated[slot] else ""
    return number(
        figure, claim, published=published, here=here, tolerance=tolerance, digits=digits, unit=unit, note=note,
        apart=apart,
    )  # fmt: skip


def beside(figure: str, claim: str, *, published: float, here: float, note: str) -> Statement:
    """A τ that depends on the systems compared, beside the authors'."""
    return not_comparable(figure, claim, published=rounded(published), here=rounded(here), note=note)


def significant(figure: str, p: Sequence[float], systems: int) -> Statement:
    """The paper says of all its correlations that they are significant."""
    return claim(
        figure, "all these correlations are significant (p < 0.05)", holds=max(p) < 0.05,
        evidence=f"p {', '.join(f'{one:.2g}' for one in p)}, {systems} systems",
    )  # fmt: skip


def kinds() -> pl.Expr:
    """What kind of system each is, for the legend."""
    return (
        pl.when(pl.col("system").is_in(list(OPTIMAL))).then(pl.lit("optimal rankings"))
        .when(pl.col("system").is_in(PERSONAL)).then(pl.lit("personalised"))
        .otherwise(pl.lit("the same for everybody")).alias("kind")
    )  # fmt: skip


def panel(table: pl.DataFrame, name: str, x: str, y: str) -> pl.DataFrame:
    """Points of one panel."""
    return table.select(pl.lit(name).alias("panel"), "system", kinds(), pl.col(x).alias("x"), pl.col(y).alias("y"))
