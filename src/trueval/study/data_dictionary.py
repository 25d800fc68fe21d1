"""The tables that a study is exported as: their columns, types and meanings, in one place."""

from __future__ import annotations

import polars as pl

_WHO = ("participant", pl.String, "random name of the participant, made for exports; not the token of their address")
_TASK = ("task", pl.Int64, "number of the task, from 1")
_SYSTEM = ("system", pl.String, "name of the system in the study file; (random) for a planted list of random items")
_POSITION = (
    "position", pl.Int64,
    "place of the list, from 1: tab from the left (rank), 1 = left and 2 = right (pair), place in the sequence (rate)",
)  # fmt: skip
_CHECK = ("check", pl.String, "planted check: same (a list that is there twice), random (random items); else empty")
_ITEM = ("item", pl.String, "id of the item, as text")
_MOMENT = pl.Datetime("ms", "UTC")

# Table → columns: name, type, meaning.
COLUMNS: dict[str, list[tuple[str, pl.DataType | type[pl.DataType], str]]] = {
    "participants": [
        _WHO,
        ("started", _MOMENT, "when they agreed to take part (UTC)"),
        ("finished", _MOMENT, "when they reached the last page; empty where they left before it"),
        ("last_page", pl.String, "page they reached: comprehension, ratings, task 1, …, comment, done; excluded where "
         "they failed the comprehension check"),
        ("language", pl.String, "language of their pages"),
        ("consented", pl.Boolean, "whether they agreed to take part"),
        ("comprehension_tries", pl.Int64, "attempts at the comprehension check"),
        ("n_ratings", pl.Int64, "number of items they rated"),
        ("planned_n", pl.Int64, "number of participants that the study file plans"),
    ],
    "shown": [
        _WHO, _TASK,
        ("form", pl.String, "rank, pair or rate"),
        _POSITION,
        ("label", pl.String, "letter that the participant saw"),
        _SYSTEM, _CHECK,
        ("list_length", pl.Int64, "number of items in the list; empty where no list was made"),
        ("seconds", pl.Float64, "time the list was in view, by the server's clock; in pairs that of the task"),
        ("switches", pl.Int64, "how often the participant switched to this list"),
    ],
    "rankings": [
        _WHO, _TASK, _SYSTEM, _POSITION,
        ("rank", pl.Int64, "place given, 1 = best; ties share a number; empty where the list was left without one"),
        _CHECK,
        ("blanks", pl.String, "what people were told that a list without a place means: worse (than all that have "
         "one), not looked at, or not allowed"),
    ],
    "pairs": [
        _WHO, _TASK,
        ("left", pl.String, "system on the left"),
        ("right", pl.String, "system on the right"),
        ("answer", pl.String, "left, right or none (no difference)"),
        ("reasons", pl.String, "reasons that were ticked, separated by |"),
        _CHECK,
    ],
    "scales": [
        _WHO, _TASK, _SYSTEM, _POSITION,
        ("question", pl.String, "name of the question in the study file"),
        ("value", pl.Int64, "answer, from 1"),
        _CHECK,
    ],
    "marks": [
        _WHO, _TASK, _SYSTEM, _ITEM,
        ("mark", pl.String, "would (would watch, read, buy it), know (knows it) or not (not for me); items "
         "without a mark have no row, which says nothing of them"),
        _CHECK,
    ],
    "ratings": [
        _WHO, _ITEM,
        ("value", pl.Float64, "rating, on the scale of the study file"),
        ("source", pl.String, "search or browse: how the participant came to the item"),
    ],
    "lists": [
        _WHO, _SYSTEM,
        ("place", pl.Int64, "place of the item in the list that was made for the participant, from 1"),
        _ITEM,
    ],
    "comments": [_WHO, ("text", pl.String, "free text at the end")],
}  # fmt: skip


def table_schema(table: str) -> dict[str, pl.DataType | type[pl.DataType]]:
    """Names and types of a table's columns.

    >>> list(table_schema("comments"))
    ['participant', 'text']
    """
    return {name: kind for name, kind, _ in COLUMNS[table]}


def dictionary() -> pl.DataFrame:
    """All columns of all tables with their meanings."""
    rows = [(table, *column) for table, columns in COLUMNS.items() for column in columns]
    return pl.DataFrame(
        [(table, name, str(kind), meaning) for table, name, kind, meaning in rows],
        schema=["table", "column", "type", "meaning"], orient="row",
    )  # fmt: skip
