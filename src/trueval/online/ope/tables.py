"""Tables of logged feedback and of policies: reading them, and which column plays which role."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from trueval.data.columns import looks_like, renaming
from trueval.data.failures import empty, reading
from trueval.data.frames import as_polars, is_table
from trueval.data.id_text import settled
from trueval.data.ids import plain
from trueval.data.read import locate
from trueval.data.tables import ids_are_text, scan_table
from trueval.errors import DataError, DefinitionError, rows_found, suggest

Columns = Mapping[str, "str | int | None"]


@dataclass(frozen=True)
class RoleTable:
    """A table whose columns carry their roles, what it is called, and what its columns were called before."""

    frame: pl.DataFrame
    name: str
    renamed: Mapping[str, str]

    def column(self, name: str, *, what: str) -> str:
        """The column that a person means by a name, which must exist.

        >>> RoleTable(pl.DataFrame({"user": [1]}), "log", {"uid": "user"}).column("uid", what="context")
        'user'
        """
        if name in self.renamed:
            return self.renamed[name]
        if name in self.frame.columns:
            return name
        do = suggest(name, self.names)
        raise DataError(
            f"there is no column {name!r} for the {what}",
            where=self.name,
            found="columns " + shortened(self.names),
            do=do if do.startswith("did") else "name a column of the log",
        )

    @property
    def names(self) -> list[str]:
        """The columns as they were called in the table that was read."""
        before = {new: old for old, new in self.renamed.items()}
        return [before.get(name, name) for name in self.frame.columns]


ROLES = ("user", "item", "position", "reward", "propensity", "probability")
_NAMES = {
    "user": "round round_id impression_id request_id session_id slate_id",
    "item": "action action_id arm arm_id",
    "position": "position pos slot rank",
    "reward": "reward click clicks clicked converted conversion outcome label",
    "propensity": "propensity propensity_score pscore action_prob logging_probability logging_prob behavior_prob",
    "probability": "probability prob p pi target_probability target_prob share",
}


def parse_roles(text: str) -> dict[str, str | int | None]:
    """Roles as written at the command line; `position=` says that there is none.

    >>> parse_roles("item=action,reward=bought,position=")
    {'item': 'action', 'reward': 'bought', 'position': None}
    """
    found: dict[str, str | int | None] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        role, equals, name = (word.strip() for word in part.partition("="))
        if not equals or role in found:
            what = "a column mapping is written role=column" if not equals else f"the {role} column is given twice"
            raise DefinitionError(what, where="columns", found=repr(part), do="item=action,reward=click")
        found[role] = int(name) if name.isdigit() else name or None
    return found


def roles_of(names: Sequence[str], columns: Columns, *, roles: Sequence[str], where: str) -> dict[str, str]:
    """The column of each role that a table has, by what was said or by common names.

    >>> roles_of(["timestamp", "item_id", "click", "propensity_score"], {}, roles=ROLES, where="log")
    {'item': 'item_id', 'reward': 'click', 'propensity': 'propensity_score'}
    """
    for role in columns:
        if role not in ROLES:
            raise DefinitionError("unknown column role", where="columns", found=repr(role), do=suggest(role, ROLES))
    found = {r: _named(names, c, r, where) for r, c in columns.items() if c is not None and r in roles}
    for role in roles:
        if role in columns:
            continue
        like = [n for n in names if n not in found.values() and _looks(n, role)]
        like = [n for n in like if n == role] or like
        if role == "user" and len(like) > 1:  # a user's rounds depend on each other: the user is the larger cluster
            like = [n for n in like if looks_like(n, "user")] or like
        if len(like) > 1:
            do = f"say which with columns={{'{role}': '{like[0]}'}} (--columns {role}={like[0]})"
            raise DataError(f"more than one column looks like the {role}", where=where, found=", ".join(like), do=do)
        if like:
            found[role] = like[0]
    return {role: found[role] for role in roles if role in found}


def _looks(name: str, role: str) -> bool:
    def bare(word: str) -> str:
        return re.sub(r"[\W_]+", "", word).lower()

    return bare(name) in map(bare, _NAMES[role].split()) or (role in ("user", "item") and looks_like(name, role))


def _named(names: Sequence[str], column: str | int, role: str, where: str) -> str:
    if str(column) in names:
        return str(column)
    if isinstance(column, int) and 0 <= column < len(names):
        return names[column]
    found = f"{column!r}; columns {shortened(names)}"
    do = suggest(str(column), names)
    raise DataError(
        f"the column given for {role} does not exist",
        where=where,
        found=found,
        do=do if do.startswith("did") else f"name one of them with columns={{'{role}': …}} (--columns {role}=…)",
    )


def shortened(names: Sequence[str], *, most: int = 12) -> str:
    """Names with commas between them; a wide table shows its first ones.

    >>> shortened(["a", "b", "c"], most=2)
    'a, b … (3)'
    """
    return ", ".join(names[:most]) + (f" … ({len(names)})" if len(names) > most else "")


def read_roles(source: Any, columns: Columns, *, roles: Sequence[str], name: str, second: bool = False) -> RoleTable:
    """A table with its roles as column names and every other column kept.

    Columns that were named for a first table hold for a second one only where it has them.
    """
    if is_table(source):
        frame, where = as_polars(source, where=name), name
        columns = _held(columns, frame.columns) if second else columns
        found = roles_of(frame.columns, columns, roles=roles, where=where)
    else:
        path = locate(source)
        where = str(source)
        frame, found = _read_file(path, columns, roles, second)
    if not len(frame):
        raise empty(where)
    renamed = {column: role for role, column in found.items()}
    aside = {n: f"source_{n}" for n in frame.columns if n in ROLES and n not in renamed}
    frame = frame.rename(aside | renamed)
    if "item" not in frame.columns:
        raise _no_item(frame.columns, where)
    return RoleTable(_plain_ids(frame, where), where, renamed | aside)


def _held(columns: Columns, names: Sequence[str]) -> Columns:
    return {role: column for role, column in columns.items() if column is None or str(column) in names}


def _read_file(path: Path, columns: Columns, roles: Sequence[str], second: bool) -> tuple[pl.DataFrame, dict[str, str]]:
    given: dict[str, str | int | None] = {"time": None}
    if any(isinstance(column, int) for column in columns.values()):
        given["value"] = 0  # a column by position: the file may have no header
    names = scan_table(path, given, roles=()).collect_schema().names()
    columns = _held(columns, names) if second else columns
    found = roles_of(names, columns, roles=roles, where=str(path))
    if "item" not in found:
        raise _no_item(names, str(path))
    ids: dict[str, str] = {role: found[role] for role in ("user", "item") if role in found}
    with reading(path, what="a table"):
        try:
            frame = scan_table(path, given | ids, roles=tuple(ids)).collect()
        except pl.exceptions.ComputeError:  # a later row does not fit the types of the first ones: look at all
            frame = scan_table(path, given | ids, roles=tuple(ids), exact=True).collect()
    frame = settled(frame) if ids_are_text(path) else frame
    return frame.rename({new: old for old, new in renaming(names, ids, tuple(ids)).items()}), found


def _no_item(names: Sequence[str], where: str) -> DataError:
    return DataError(
        "there is no item column",
        where=where,
        found="columns " + shortened(names),
        do="name it with columns={'item': …} (--columns item=…)",
    )


def _plain_ids(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    for role in ("user", "item", "position"):
        if role not in frame.columns:
            continue
        kind = frame.schema[role]
        if kind.is_nested() or kind in (pl.Object, pl.Binary):
            raise DataError(f"{role}s must be integers or strings", where=where, found=f"type {kind}", do="one per row")
        if frame[role].null_count():
            wrong = frame[role].is_null()
            raise bad_rows(frame, wrong, role, f"a {role} is missing", where=where, do="fill or drop these rows")
        frame = frame.with_columns(plain(frame[role], where=f"{where}, column {role}"))
    return frame


def numbers(frame: pl.DataFrame, column: str, *, where: str, role: str = "") -> pl.Series:
    """A column as finite floats; anything else is an error with its rows.

    >>> numbers(pl.DataFrame({"item": [1], "reward": [True]}), "reward", where="log").to_list()
    [1.0]
    """
    series, role = frame[column], role or column
    kinds = (pl.Boolean, pl.String, pl.Null)
    usable = series.dtype.is_numeric() or series.dtype in kinds
    found = series.cast(pl.Float64, strict=False) if usable else pl.Series(column, [None] * len(frame), pl.Float64)
    wrong = ~found.is_finite().fill_null(False)
    if wrong.any():
        what = f"a {role} must be a finite number in every row"
        raise bad_rows(
            frame, wrong, column, what, where=where, do=f"correct or drop these rows, or name another {role}"
        )
    return found


def bad_rows(frame: pl.DataFrame, wrong: pl.Series, column: str, what: str, *, where: str, do: str) -> DataError:
    """An error that shows up to five rows."""
    about = [name for name in ("user", "item", "position") if name in frame.columns and name != column]
    shown = frame.with_row_index("row", offset=1).filter(wrong).head(5)
    told = [
        f"row {row['row']}: " + ", ".join([*(f"{a} {row[a]}" for a in about), f"{column} {row[column]!r}"])
        for row in shown.iter_rows(named=True)
    ]
    return DataError(what, where=f"{where}, column {column}", found=rows_found(told, int(wrong.sum())), do=do)
