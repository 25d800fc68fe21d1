"""The tables of a study: which columns each has, where they are read from, and what they must satisfy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from trueval.data.failures import empty, reading
from trueval.data.frames import as_polars, is_table
from trueval.data.places import path_exists
from trueval.data.tables import read_parquet
from trueval.errors import DataError, rows_found
from trueval.online.user_study.blanks import BLANKS

# Types of columns, whichever table they are in; all others are text. Those that are filled have no empty cell.
_WHOLE = {"task", "position", "rank", "list_length", "switches", "comprehension_tries", "n_ratings"}
_FROM_ONE = {"task", "position", "rank"}
_NUMBERS = {"value", "seconds"}
_FILLED = {"participant", "system", "left", "right", "task", "position", "question"}


@dataclass(frozen=True, slots=True)
class TableForm:
    """The columns that a table must have, those that it may have, and those that make an answer: one row for each."""

    needs: tuple[str, ...]
    may_have: tuple[str, ...] = ()
    key: tuple[str, ...] = ()


FORMS = {
    "rankings": TableForm(
        ("participant", "system", "rank"), ("task", "position", "check", "blanks"),
        ("participant", "task", "system", "check"),
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
ANSWERS = {"rankings": "rank", "pairs": "answer", "scales": "value"}  # and the column that holds the answer
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
    files = {name: [file for end in ("parquet", "csv") if (file := path / f"{name}.{end}").exists()] for name in FORMS}
    return {name: (_read(own[0]), str(own[0])) for name, own in files.items() if own}


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
    frame = frame.with_columns(_typed(frame[column], where) for column in frame.columns)
    if name in (*ANSWERS, "shown"):
        absent = [pl.lit(1).alias("task")] if "task" not in frame.columns else []
        absent += [pl.lit(None, pl.String).alias("check")] if "check" not in frame.columns else []
        frame = frame.with_columns(absent)
        _one_of(frame["check"], _CHECKS, where)
    if "blanks" in frame.columns:
        _one_of(frame["blanks"], BLANKS, where)
    if name == "pairs":
        _one_of(frame["answer"], _CHOICES, where)
    if name == "scales" and "question" not in frame.columns:
        frame = frame.with_columns(question=pl.lit("value"))
    _once(frame, [column for column in form.key if column in frame.columns], name, where)
    return frame


def _typed(column: pl.Series, where: str) -> pl.Series:
    """A column as text or numbers; where something must stand, nothing is missing."""
    name, text = column.name, column.cast(pl.String)
    blank = text.fill_null("").str.strip_chars() == ""
    if name in _WHOLE | _NUMBERS:
        as_it_is = column.dtype.is_numeric() or column.dtype == pl.Boolean  # dates would become days since 1970
        typed = (column if as_it_is else text).cast(pl.Float64, strict=False).fill_nan(None)
        wrong = ~blank & (typed.is_null() | typed.is_infinite())
        if name in _WHOLE:
            least = 1 if name in _FROM_ONE else 0
            wrong |= ~blank & ((typed.round(0) != typed) | (typed < least))
    else:
        typed = pl.select(pl.when(~blank).then(text)).to_series().alias(name)
        wrong = pl.Series([False]).new_from_index(0, len(column))
    if name in _FILLED:
        wrong |= blank
    if (wrong := wrong.fill_null(value=False)).any():
        raise _bad(column, wrong, where)
    return typed.cast(pl.Int64) if name in _WHOLE else typed


def _bad(column: pl.Series, wrong: pl.Series, where: str) -> DataError:
    name = column.name
    from_where = "1" if name in _FROM_ONE else "0"
    kind = f"whole numbers from {from_where}" if name in _WHOLE else "numbers" if name in _NUMBERS else "given"
    at = wrong.arg_true().to_list()
    rows = [f"row {place + 1}: {column[place]!r}" for place in at[:5]]
    do = "correct or remove these rows" if name in _FILLED else "leave the cell empty where there is none"
    return DataError(
        f"values of {name} must be {kind}", where=f"{where}, column {name}", found=rows_found(rows, len(at)), do=do
    )


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
