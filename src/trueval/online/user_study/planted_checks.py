"""Planted checks: the same list twice, a list of random items. Who answers as if they had not looked at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from trueval.errors import DataError

RANDOM_LIST = "(random)"  # what a list of random items is called in exports
MEANINGS = {
    ("rankings", "same"): "a list stood twice, and others were ranked between the two",
    ("rankings", "random"): "a list of random items was ranked above more lists than below, or alone",
    ("pairs", "same"): "of a list beside itself, one side was preferred",
    ("pairs", "random"): "a list of random items was preferred",
    ("scales", "same"): "a list that was shown twice got values more than one point apart, on average",
    ("scales", "random"): "a list of random items got more than the mean of the others",
}


@dataclass(frozen=True, slots=True)
class PlantedCheck:
    """One kind of check: who had it, and who failed it."""

    form: str
    kind: str
    participants: tuple[str, ...]
    failed: tuple[str, ...]

    @property
    def meaning(self) -> str:
        """What it is to fail."""
        return MEANINGS[self.form, self.kind]


def planted_checks(tables: dict[str, pl.DataFrame]) -> list[PlantedCheck]:
    """All checks that the answers hold."""
    found = []
    for form, kind in MEANINGS:
        if form not in tables or "check" not in tables[form].columns:
            continue
        if (tables[form]["check"] == kind).any():
            answered = tables[form] if form == "rankings" else tables[form].drop_nulls(_ANSWER[form])
            made = _MADE[form](answered, kind).sort("participant")
            people, failed = (
                tuple(own["participant"].unique(maintain_order=True).to_list()) for own in (made, made.filter("failed"))
            )
            found.append(PlantedCheck(form, kind, people, failed))
    return found


def _in_rankings(table: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Every planted list beside the others that its participant ranked with it."""
    ranked = table.drop_nulls("rank")
    planted = ranked.filter(pl.col("check") == kind).select("participant", "task", "system", planted="rank")
    others = ranked.filter(pl.col("check").is_null() | (pl.col("check") != kind))
    # who gives a place to the random list alone has no other list beside it, and must not be lost
    how: Literal["left", "inner"] = "left" if kind == "random" else "inner"
    both = planted.join(others, on=["participant", "task"], how=how, suffix="_other")
    rank, mine = pl.col("rank"), pl.col("planted")
    if kind == "random":
        above, below, alone = (rank < mine).sum(), (rank > mine).sum(), rank.count() == 0
        return both.group_by("participant", "task").agg(failed=(below > above) | alone)
    twin = rank.filter((pl.col("system_other") == pl.col("system")) & pl.col("check").is_null()).first()
    between = (rank > pl.min_horizontal(mine.first(), twin)) & (rank < pl.max_horizontal(mine.first(), twin))
    return both.group_by("participant", "task").agg(failed=between.any().fill_null(value=False))


def _in_pairs(table: pl.DataFrame, kind: str) -> pl.DataFrame:
    own = table.filter(pl.col("check") == kind)
    if kind == "same":
        return own.select("participant", failed=pl.col("answer") != "none")
    if not ((own["left"] == RANDOM_LIST) | (own["right"] == RANDOM_LIST)).all():
        raise DataError(
            "a planted random list must be one of the two", where="pairs, column check",
            do=f"call the random list {RANDOM_LIST} in the columns left and right",
        )  # fmt: skip
    chosen = pl.when(pl.col("answer") == "left").then("left").when(pl.col("answer") == "right").then("right")
    return own.select("participant", failed=(chosen == RANDOM_LIST).fill_null(value=False))


def _in_scales(table: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Values of planted lists beside those of the same questions for the others."""
    planted = table.filter(pl.col("check") == kind).select("participant", "system", "question", planted="value")
    others = table.filter(pl.col("check").is_null())
    if kind == "same":
        both = planted.join(others, on=["participant", "system", "question"])
        apart = (pl.col("planted") - pl.col("value")).abs().mean()
        return both.group_by("participant").agg(failed=apart > 1)
    mean = others.group_by("participant", "question").agg(pl.col("value").mean())
    both = planted.join(mean, on=["participant", "question"])
    return both.group_by("participant").agg(failed=(pl.col("planted") - pl.col("value")).mean() > 0)


_ANSWER = {"pairs": "answer", "scales": "value"}
_MADE = {"rankings": _in_rankings, "pairs": _in_pairs, "scales": _in_scales}
