"""The tables of a study: which columns each has, where they are read from, and what they must satisfy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from trueval.data.failures import empty, reading
from trueval.data.frames import as_polars, is_table
from trueval.data.places import path_exists
from trueval.data.tables import read_parquet
from trueval.errors import DataError, rows_found


@dataclass(frozen=True, slots=True)
class TableForm:
    """The columns that a table must have, and those that it may have; which are whole numbers, which any numbers."""

    needs: tuple[str, ...]
    may_have: tuple[str, ...] = ()
    key: tuple[str, ...] = ()  # of which no two rows may have the same values
    whole: tuple[str, ...] = ("task", "position", "rank", "list_length", "switches", "comprehension_tries", "n_ratings")
    numbers: tuple[str, ...] = ("value", "seconds")
    nullable: tuple[str, ...] = field(default=("rank", "check", "reasons", "finished", "last_page", "seconds"))


FORMS = {
    "rankings": TableForm(
        ("participant", "system", "rank"), ("task", "position", "check"), ("participant", "task", "system", "check")
    ),
    "pairs": TableForm(
        ("participant", "left", "right", "answer"), ("task", "reasons", "check"),
        ("participant", "task", "left", "right"),
    ),
    "scales": TableForm(
        ("participant", "system", "value"), ("task", "position", "question", "check"),
        ("participant", "task", "system", "question"),
    ),
    "participants": TableForm(
        ("participant",), ("started", "finished", "last_page", "comprehension_tries", "n_ratings"), ("participant",)
    ),
    "shown": TableForm(
        ("participant", "system"), ("task", "form", "position", "check", "list_length", "seconds", "switches")
    ),
}  # fmt: skip
ANSWERS = ("rankings", "pairs", "scales")
_CHECKS = ("same", "random")
_CHOICES = ("left", "right", "none")


def study_tables(source: Any) -> dict[str, pl.DataFrame]:
    """The tables of a study from a mapping, a table in memory, a folder that was exported, or one file of answers.

    >>> frame = pl.DataFrame({"participant": [1, 1], "system": ["a", "b"], "rank": [2, 1]})
    >>> {name: table.columns for name, table in study_tables(frame).items()}
    {'rankings': ['participant', 'system', 'rank', 'task', 'check']}
    """
    given = {name: one for name, one in _given(source).items() if len(one[0]) or _asked(source)}
    found = {name: _checked(frame, name, where) for name, (frame, where) in given.items()}
    if not any(name in found for name in ANSWERS):
        raise DataError(
            "there are no answers", where=_place(source), found=", ".join(found) or "no table with rows",
            do="give rankings (participant, system, rank), pairs (participant, left, right, answer) or scales "
            "(participant, system, value)",
        )  # fmt: skip
    return found


def _asked(source: Any) -> bool:
    """Whether one table was given, so that an empty one is an error, not a form that the study does not have."""
    return is_table(source) or (not isinstance(source, Mapping) and not Path(source).is_dir())


def _place(source: Any) -> str:
    return str(source) if isinstance(source, (str, Path)) else "answers"


def _given(source: Any) -> dict[str, tuple[pl.DataFrame, str]]:
    """Tables by name, each with what it is called in messages."""
    if isinstance(source, Mapping):
        return {name: (as_polars(table, where=name), name) for name, table in source.items() if name in FORMS}
    if is_table(source):
        frame = as_polars(source)
        return {_form_of(frame, "table"): (frame, "table")}
    if not isinstance(source, (str, Path)):
        raise DataError("these are no answers", found=type(source).__name__, do="give a table, a file or a folder")
    path = Path(source)
    if not path_exists(path):
        raise DataError("there is no such file or folder", where=str(path), do="check the path")
    if not path.is_dir():
        frame = _read(path)
        return {_form_of(frame, str(path)): (frame, str(path))}
    files = {name: path / f"{name}{suffix}" for suffix in (".csv", ".parquet") for name in FORMS}
    files = {name: path / f"{name}.parquet" if not file.exists() else file for name, file in files.items()}
    return {name: (_read(file), str(file)) for name, file in files.items() if file.exists()}


def _read(path: Path) -> pl.DataFrame:
    """A file, text as it is written: a participant called 007 is not number 7."""
    if path.suffix in (".parquet", ".pq"):
        return read_parquet(path)
    separator = "\t" if path.suffix == ".tsv" else ","
    with reading(path, what="a table of answers"):
        return pl.read_csv(path, separator=separator, infer_schema=False, glob=False)


def _form_of(frame: pl.DataFrame, where: str) -> str:
    """Which answers a table holds, by its columns."""
    for name in ANSWERS:
        if set(FORMS[name].needs) <= set(frame.columns):
            return name
    known = "; ".join(f"{name}: {', '.join(FORMS[name].needs)}" for name in ANSWERS)
    raise DataError(
        "a table of answers lacks columns", where=where, found="columns " + ", ".join(frame.columns) or "none",
        do=f"the columns are, for {known}",
    )  # fmt: skip


def _checked(frame: pl.DataFrame, name: str, where: str) -> pl.DataFrame:
    """A table with the columns of its form, each of its type, and no answer twice."""
    form = FORMS[name]
    missing = [column for column in form.needs if column not in frame.columns]
    if missing:
        raise DataError(
            f"the table of {name} lacks a column", where=where, found="columns " + ", ".join(frame.columns),
            do=f"it needs {', '.join(missing)}",
        )  # fmt: skip
    if not len(frame) and name in ANSWERS:
        raise empty(where)
    frame = frame.select(column for column in (*form.needs, *form.may_have) if column in frame.columns)
    frame = frame.with_columns(_typed(frame[column], form, where) for column in frame.columns)
    if name in (*ANSWERS, "shown"):
        absent = [pl.lit(1).alias("task")] if "task" not in frame.columns else []
        absent += [pl.lit(None, pl.String).alias("check")] if "check" not in frame.columns else []
        frame = frame.with_columns(absent)
        _one_of(frame["check"], _CHECKS, where)
    if name == "pairs":
        _one_of(frame["answer"], _CHOICES, where)
    if name == "scales" and "question" not in frame.columns:
        frame = frame.with_columns(question=pl.lit("value"))
    _once(frame, [column for column in form.key if column in frame.columns], name, where)
    return frame


def _typed(column: pl.Series, form: TableForm, where: str) -> pl.Series:
    """A column as text or numbers; where something must stand, nothing is missing."""
    as_number = column.name in form.whole or column.name in form.numbers
    typed = column.cast(pl.Float64, strict=False) if as_number else column.cast(pl.String)
    if not as_number or column.dtype == pl.String:
        typed = pl.select(pl.when(column.cast(pl.String) != "").then(typed)).to_series().alias(column.name)
    empty_text = column.cast(pl.String).fill_null("").str.strip_chars() == ""
    wrong = ~empty_text & (typed.is_null() | (typed.is_nan() if as_number else False))
    if column.name in form.whole:
        least = 1 if column.name in ("task", "position", "rank") else 0
        wrong = wrong | (~empty_text & ((typed.round(0) != typed) | (typed < least) | typed.is_infinite()))
    if column.name not in form.nullable:
        wrong = wrong | empty_text
    if wrong.fill_null(value=False).any():
        raise _bad(column, wrong.fill_null(value=False), form, where)
    return typed.cast(pl.Int64) if column.name in form.whole else typed


def _bad(column: pl.Series, wrong: pl.Series, form: TableForm, where: str) -> DataError:
    number = "numbers" if column.name in form.numbers else "given"
    kind = "whole numbers from 1" if column.name in form.whole else number
    at = wrong.arg_true().to_list()
    rows = [f"row {place + 1}: {column[place]!r}" for place in at[:5]]
    none = "leave the cell empty where there is none"
    leave = none if column.name in form.nullable else "correct or remove these rows"
    return DataError(
        f"values of {column.name} must be {kind}", where=f"{where}, column {column.name}",
        found=rows_found(rows, len(at)), do=leave,
    )  # fmt: skip


def _one_of(column: pl.Series, known: tuple[str, ...], where: str) -> None:
    wrong = column.is_not_null() & ~column.is_in(known)
    if wrong.any():
        rows = [f"row {place + 1}: {column[place]!r}" for place in wrong.arg_true().to_list()[:5]]
        raise DataError(
            f"unknown values of {column.name}", where=f"{where}, column {column.name}",
            found=rows_found(rows, int(wrong.sum())), do=f"use {', '.join(known)}",
        )  # fmt: skip


def _once(frame: pl.DataFrame, key: list[str], name: str, where: str) -> None:
    """Refuse two answers of a participant to the same question."""
    twice = frame.filter(frame.select(key).is_duplicated()).unique(key, maintain_order=True) if key else frame.clear()
    if len(twice):
        rows = [
            ", ".join(f"{column} {row[column]}" for column in key if row[column] is not None)
            for row in twice.head(5).iter_rows(named=True)
        ]
        raise DataError(
            f"the table of {name} has an answer twice", where=where, found=rows_found(rows, len(twice)),
            do="keep one of the rows, or number the tasks of a participant in a column task",
        )  # fmt: skip
