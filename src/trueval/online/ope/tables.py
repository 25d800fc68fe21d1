"""Tables of logged feedback and of policies: reading them, and which column plays which role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from trueval.data.calendar import showable
from trueval.data.column_roles import NO_ROLES, TableColumns, TableRoles, find_roles, renaming, shortened
from trueval.data.failures import empty
from trueval.data.frames import as_polars, is_table
from trueval.data.id_text import settled
from trueval.data.ids import plain
from trueval.data.read import locate
from trueval.data.role_names import ColumnMap
from trueval.data.table_columns import columns_of
from trueval.data.tables import column_names, ids_are_text, read_table
from trueval.errors import DataError, rows_found, suggest


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


BANDIT_ROLES = ("user", "item", "position", "reward", "propensity", "probability")


def bandit_table(*, needs: tuple[str, ...], may_have: tuple[str, ...]) -> TableRoles:
    """The roles of a log or of a policy, whose items may be called actions.

    A user's rounds depend on each other: rounds are the clusters only where there are no users.
    """
    return TableRoles(
        needs=needs,
        may_have=may_have,
        others=BANDIT_ROLES,
        also_called={"item": "action"},
        else_called={"user": "round"},
        own_name_wins=True,
    )


def read_roles(source: Any, columns: ColumnMap, *, roles: TableRoles, name: str, side: bool = False) -> RoleTable:
    """A table with its roles as column names and every other column kept.

    Of `columns`, those that were named for all tables hold for a `side` table only where it has them.
    """
    columns = columns_of(columns, name, side=side)
    if is_table(source):
        frame, where = as_polars(source, where=name), name
        columns = columns.of(frame.columns)
        found = find_roles(frame.columns, columns, roles=roles, where=where)
    else:
        path = locate(source)
        where = str(source)
        frame, found = _read_file(path, columns, roles)
    if not len(frame):
        raise empty(where)
    renamed = renaming(frame.columns, found, BANDIT_ROLES)
    return RoleTable(_plain_ids(frame.rename(renamed), where), where, renamed)


def _read_file(path: Path, columns: TableColumns, roles: TableRoles) -> tuple[pl.DataFrame, dict[str, str]]:
    given: dict[str, str | int | None] = {"time": None}
    if any(isinstance(column, int) for column in columns.values()):
        given["value"] = 0  # a column by position: the file may have no header
    names = column_names(path, given, roles=NO_ROLES)
    columns = columns.of(names)
    found = find_roles(names, columns, roles=roles, where=str(path))
    ids: dict[str, str] = {role: found[role] for role in ("user", "item") if role in found}
    of_ids = TableRoles(needs=tuple(ids))
    frame = read_table(path, given | ids, roles=of_ids)
    frame = settled(frame) if ids_are_text(path) else frame
    return frame.rename({new: old for old, new in renaming(names, ids, of_ids).items()}), found


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
    shown = frame.select(*about, column).with_row_index("row", offset=1)
    wrong_rows = showable(shown.filter(wrong).head(5))
    examples = [
        f"row {row['row']}: " + ", ".join([*(f"{a} {row[a]}" for a in about), f"{column} {row[column]!r}"])
        for row in wrong_rows.iter_rows(named=True)
    ]
    return DataError(what, where=f"{where}, column {column}", found=rows_found(examples, int(wrong.sum())), do=do)
