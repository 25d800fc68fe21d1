"""Text tables: which separator, header or not, and ids kept as they are written."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from trueval.data.column_roles import LOG_ROLES, TableRoles, find_roles, looks_like_any, renaming, shortened
from trueval.data.failures import reading
from trueval.data.role_names import ColumnMap
from trueval.data.text_lines import NO_SEPARATOR, first_lines, numbers_where_possible, split_lines
from trueval.errors import DataError

_PREFERRED = {".csv": [",", ";", "\t", "|"], ".tsv": ["\t", ",", ";", "|"]}
_ANY = ["\t", "::", ",", ";", "|", " "]
_LATE = 10**8  # larger numbers count seconds, or less, since 1970
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$")


@dataclass(frozen=True)
class TextShape:
    """How a text table is written: its separator, its column names, and whether the first line holds them."""

    separator: str
    names: tuple[str, ...]
    header: bool


def split_fields(line: str, separator: str) -> list[str]:
    """The fields of one line."""
    if separator == "::":
        return line.split("::")
    if separator == " ":
        return line.split()
    try:
        return next(csv.reader([line], delimiter=separator))
    except csv.Error:  # a field of more than 128 kB, or a carriage return in the middle
        pieces = line.split('"')
        pieces[::2] = [outside.replace(separator, NO_SEPARATOR) for outside in pieces[::2]]
        return "".join(pieces).split(NO_SEPARATOR)


def sniff(lines: Sequence[str], suffix: str = ".txt") -> str | None:
    """The separator that cuts every line into the same number of fields, two at least.

    >>> sniff(["1::1193::5", "1::661::3"])
    '::'
    """
    candidates = _PREFERRED.get(suffix, _ANY)
    for separator in candidates:
        counts = {len(split_fields(line, separator)) for line in lines}
        if len(counts) == 1 and counts.pop() > 1:
            return separator
    # No separator fits all lines: the reader will say which line is broken.
    return next((separator for separator in candidates if len(split_fields(lines[0], separator)) > 1), None)


def _has_header(rows: Sequence[Sequence[str]], columns: ColumnMap) -> bool | None:
    """Whether the first row names the columns; None where it could be either."""
    first = rows[0]
    if any(looks_like_any(field) or field in columns.values() for field in first):
        return True
    if any(_NUMBER.match(field.strip()) or not field.strip() for field in first):
        return False
    if len(rows) > 1 and any(_NUMBER.match(field.strip()) for field in rows[1]):
        return True
    return None


def _positions(rows: Sequence[Sequence[str]], roles: TableRoles) -> str:
    """What to write where there is no header: users and items first, then values (or scores) and times, as is usual."""
    if len(roles) == 1:
        (role,) = roles
        prefix = roles.table and f"{roles.table}."
        return f"give its position, from 0: columns={{'{prefix}{role}': 0}} (--columns {prefix}{role}=0)"
    further = [
        place
        for place in range(2, len(rows[0]))
        if all(_NUMBER.match(row[place].strip()) for row in rows if len(row) > place)
    ]
    late = [place for place in further if float(rows[0][place]) > _LATE]
    found = {"user": 0, "item": 1}
    for role, places in (("value", [p for p in further if p not in late]), ("score", further), ("time", late)):
        if role in roles and places:
            found[role] = places[0]
    mapping = ",".join(f"{role}={place}" for role, place in found.items())
    relevant = "; --threshold says which values are relevant" if "value" in found else ""
    return f"give positions, from 0: columns={found} (--columns {mapping}){relevant}"


def shape(
    path: Path,
    columns: ColumnMap | None = None,
    *,
    suffix: str = ".txt",
    lone: bool = False,
    roles: TableRoles = LOG_ROLES,
) -> TextShape:
    """Look at the first lines of a text table; a table without header needs columns by position.

    `lone` allows a single column, as lists of users or items have.
    """
    columns = columns or {}
    lines = first_lines(path)
    separator = sniff(lines, suffix) or ("," if lone else None)
    if separator is None:
        raise DataError(
            "the file has a single column",
            where=str(path),
            found=repr(lines[0][:80]),
            do="separate the fields by tab, comma, ';', '::' or blank, one row per line",
        )
    rows = [split_fields(line, separator) for line in lines]
    by_position = any(isinstance(column, int) for column in columns.values())
    header = _has_header(rows, columns)
    if header is None:
        header = not by_position
    if not header and not by_position:
        raise DataError(
            "the file has no header, so its columns are unknown",
            where=str(path),
            found=f"first line {lines[0][:80]!r}",
            do=_positions(rows, roles),
        )
    names = [name.strip() for name in rows[0]] if header else [f"column_{place}" for place in range(len(rows[0]))]
    doubled = sorted(name for name, times in Counter(names).items() if times > 1)
    if doubled:
        raise DataError(
            "two columns have the same name",
            where=str(path),
            found=shortened([name or "(no name)" for name in doubled]),
            do="rename one of them",
        )
    return TextShape(separator, tuple(names), header)


def scan_delimited(
    path: Path, columns: ColumnMap | None = None, *, roles: TableRoles, suffix: str, exact: bool = False
) -> pl.LazyFrame:
    """A text table with its roles renamed, ids as the text they are in the file.

    `exact` looks at every row to find the type of the other columns, and leaves values as they are written.
    """
    form = shape(path, columns, suffix=suffix, lone=len(roles) == 1, roles=roles)
    found = find_roles(form.names, columns, roles=roles, where=str(path))
    new_names = renaming(form.names, found, roles)
    names = [new_names.get(name, name) for name in form.names]
    if form.separator in ("::", " "):
        fields = split_lines(path, names, separator=form.separator, skip_first=form.header)
        leave = ("user", "item") if "prediction" in found else ("user", "item", "time")
        return numbers_where_possible(fields, leave=leave).lazy()
    types: dict[str, type[pl.DataType]] = {"user": pl.String, "item": pl.String}
    if not exact:
        types |= {"value": pl.Float64, "score": pl.Float64}

    def scanned() -> pl.LazyFrame:
        return pl.scan_csv(
            path,
            separator=form.separator,
            has_header=form.header,
            with_column_names=lambda _: names,
            schema_overrides={name: kind for name, kind in types.items() if name in names},
            infer_schema_length=None if exact else 10_000,
            glob=False,
        )

    with reading(path, what="a text table"):
        frame = scanned()
        if "time" in found and "prediction" not in found and frame.collect_schema()["time"].is_float():
            types["time"] = pl.String  # fractions of seconds may have more digits than a float
            frame = scanned()
    # A row that lacks its only id, or a prediction's roles, may still hold other columns: it is broken, not blank.
    of_blank = pl.all() if len(found) == 1 or "prediction" in found else pl.col(list(found))
    return frame.filter(~pl.all_horizontal(of_blank.is_null()))
