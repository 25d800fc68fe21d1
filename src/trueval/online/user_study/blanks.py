"""Lists that people left without a place: what that means, and rankings read by it."""

from __future__ import annotations

import polars as pl

from trueval.errors import DataError, DefinitionError, suggest

WORSE, NOT_LOOKED_AT = "worse", "not looked at"
MEANINGS = (WORSE, NOT_LOOKED_AT)
BLANKS = ("not allowed", *MEANINGS)  # what a study file can say


def meaning_of_blanks(table: pl.DataFrame, blanks: str | None, *, where: str = "rankings") -> str | None:
    """What a list without a place means in these rankings; None where every list has one.

    A study file says it to its participants, and its export says so in the column blanks; where neither does, `blanks`
    must. An analysis that guessed would decide by it who comes first.

    >>> frame = pl.DataFrame({"participant": ["p"] * 2, "task": 1, "system": ["a", "b"], "rank": [1, None]})
    >>> meaning_of_blanks(frame, "worse")
    'worse'
    """
    if blanks is not None and blanks not in MEANINGS:
        raise DefinitionError(f"unknown meaning of blanks {blanks!r}", where="blanks", do=suggest(blanks, MEANINGS))
    stated = _stated(table, where)
    if blanks is not None and stated in MEANINGS and blanks != stated:
        raise DefinitionError(
            "participants were told that a blank means something else", where="blanks",
            found=f"{blanks}; they were told: {stated}", do="leave it out: the analysis follows what they were told",
        )  # fmt: skip
    meaning = blanks or (stated if stated in MEANINGS else None)
    number, cells, people = count_blanks(table)
    if number and meaning is None:
        raise DataError(
            "lists were left without a place, and what that means is not said", where=f"{where}, column rank",
            found=f"{number:,} of {cells:,} places are blank, by {people:,} participants",
            do='say what participants took a blank to mean: --blanks worse (than all lists that have a place), or '
            '--blanks "not looked at"; in Python blanks="worse"',
        )  # fmt: skip
    return meaning


def _stated(table: pl.DataFrame, where: str) -> str | None:
    """What the rankings themselves say."""
    found = table["blanks"].drop_nulls().unique().sort().to_list() if "blanks" in table.columns else []
    if len(found) > 1:
        raise DataError(
            "blanks have more than one meaning", where=f"{where}, column blanks", found=", ".join(found),
            do="analyse the participants who were told different things apart",
        )  # fmt: skip
    return found[0] if found else None


def count_blanks(table: pl.DataFrame) -> tuple[int, int, int]:
    """Blanks of participants who gave any place, the places that they could give, and who left blanks.

    A system without a row in all rankings of a participant is as blank as one with an empty rank.

    >>> frame = pl.DataFrame({"participant": [*"ppq"], "task": 1, "system": [*"aba"], "rank": [1, None, 1]})
    >>> count_blanks(frame)
    (2, 4, 2)
    """
    ranked = table.filter(pl.col("rank").is_not_null().any().over("participant", "task"))
    own = ranked.filter(pl.col("check").is_null()) if "check" in ranked.columns else ranked
    empty = ranked.filter(pl.col("rank").is_null()).select("participant")
    has = own.group_by("participant").agg(pl.col("system").n_unique())
    absent = has.filter(pl.col("system") < own["system"].n_unique())
    number = len(empty) + len(has) * own["system"].n_unique() - int(has["system"].sum())
    people = pl.concat([empty, absent.select("participant")])["participant"].n_unique()
    return number, len(ranked) + number - len(empty), people


def worse_last(table: pl.DataFrame) -> pl.DataFrame:
    """The rankings with blanks below all places of their participant and task, as "worse" has them.

    >>> frame = pl.DataFrame({"participant": ["p"] * 3, "task": 1, "system": [*"abc"], "rank": [1, None, None]})
    >>> worse_last(frame)["rank"].to_list()
    [1, 2, 2]
    """
    return table.with_columns(pl.col("rank").fill_null(pl.col("rank").max().over("participant", "task") + 1))
