"""Which column plays which role: recognised by common names, or given explicitly.

One declaration of roles with their common names, and one function that finds them. A kind of table declares, where it
is read, which roles it needs and which it may have.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from trueval.data.role_names import ColumnMap, check_role, guess_column, looks_like, plain_name
from trueval.errors import DataError, suggest


@dataclass(frozen=True, kw_only=True)
class TableRoles:
    """The roles of one kind of table: those it needs, then those it may have.

    >>> list(TableRoles(needs=("user", "item"), may_have=("time",)))
    ['user', 'item', 'time']
    """

    needs: tuple[str, ...] = ()
    may_have: tuple[str, ...] = ()
    # Roles of other tables that the same mapping may speak of: skipped here.
    others: tuple[str, ...] = ("user", "item", "value", "time", "score", "rank")
    # Roles that count as absent where several columns look like them.
    absent_if_several: tuple[str, ...] = ()
    # Other roles whose names count too, always or where no column has a name of the role itself.
    also_called: Mapping[str, str] = field(default_factory=dict)
    else_called: Mapping[str, str] = field(default_factory=dict)
    # A column called exactly like the role is the one that is meant, whatever else looks like it.
    own_name_wins: bool = False
    # The name by which a mapping may speak of this kind of table alone, as in items.item.
    table: str = ""
    # How a person says which column it is: a mapping, an option of the role's name, or by renaming it.
    given_by: Literal["columns", "option", "name"] = "columns"

    def __iter__(self) -> Iterator[str]:
        return iter((*self.needs, *self.may_have))

    def __len__(self) -> int:
        return len(self.needs) + len(self.may_have)

    def __contains__(self, role: object) -> bool:
        return role in self.needs or role in self.may_have


NO_ROLES = TableRoles()
LOG_ROLES = TableRoles(needs=("user", "item"), may_have=("value", "time"))
RUN_ROLES = TableRoles(needs=("user", "item"), may_have=("score", "rank"))
PREDICTION_ROLES = TableRoles(needs=("prediction", "label"), may_have=("user", "item", "time", "weight"), others=())
RANKING_ROLES = tuple(dict.fromkeys((*LOG_ROLES, *RUN_ROLES)))
# Their names also tell a header from a first row; those of other tables (action, share) are often values.
HEADER_ROLES = tuple(dict.fromkeys((*RANKING_ROLES, *PREDICTION_ROLES)))


def looks_like_any(name: str) -> bool:
    """Whether a column name is a common one for some role; a single letter may just as well be an id.

    >>> looks_like_any("movieId"), looks_like_any("1193")
    (True, False)
    """
    return len(plain_name(name)) > 1 and any(looks_like(name, role) for role in HEADER_ROLES)


class TableColumns(dict[str, "str | int | None"]):
    """Columns that were named for one table, by role.

    Those of the roles `shared` were named for all tables at once, and count where this table has them. `prefix` is what
    names this table alone in a mapping of several tables.
    """

    def __init__(self, named: ColumnMap, *, shared: Collection[str] = (), prefix: str = "") -> None:
        super().__init__(named)
        self.shared, self.prefix = frozenset(shared), prefix

    def of(self, names: Collection[str]) -> TableColumns:
        """The same for a table with these columns."""
        there = {role: name for role, name in self.items() if role not in self.shared or not name or str(name) in names}
        return TableColumns(there, prefix=self.prefix)

    def only(self, roles: Collection[str]) -> TableColumns:
        """The same for some roles alone."""
        named = {role: name for role, name in self.items() if role in roles}
        return TableColumns(named, shared=self.shared, prefix=self.prefix)


def find_roles(
    names: Sequence[str], columns: ColumnMap | None = None, *, roles: TableRoles = LOG_ROLES, where: str = "table"
) -> dict[str, str]:
    """The column of each role that a table has: the one given, else the one with a common name of the role.

    Mapped roles that this kind of table does not have (`rank` in a log) are for other tables and skipped.

    >>> find_roles(["movieId", "userId", "rating"])
    {'user': 'userId', 'item': 'movieId', 'value': 'rating'}
    """
    prefix = roles.table and f"{roles.table}."
    if isinstance(columns, TableColumns):
        asked, columns = columns, columns.of(names)
        # Advice never repeats what was named: a role that was named for all tables is named for this one.
        prefix = prefix or (asked.prefix if asked else "")
    columns = dict(columns or {})
    if roles.given_by == "columns":  # in a mapping, nothing is as good as None
        columns = {role: None if column == "" else column for role, column in columns.items()}
    for role in columns:
        check_role(role, tuple(dict.fromkeys((*roles, *roles.others))))
    found = {
        role: _given(names, column, role, roles, where, prefix)
        for role, column in columns.items()
        if role in roles and column is not None
    }
    _check_one_role_each(found, where)
    for role in roles:
        if role not in columns:
            free = [name for name in names if name not in found.values()]
            name = _recognised(free, role, roles, where, prefix, has_own_names="user" in names and "item" in names)
            if name is not None:
                found[role] = name
    for role in roles.needs:
        if role not in found:
            raise _absent(role, names, found, roles, where, prefix)
    return {role: found[role] for role in roles if role in found}


def shortened(names: Sequence[str], *, most: int = 20) -> str:
    """Names with commas between them; a wide table shows its first ones.

    >>> shortened(["a", "b", "c"], most=2)
    'a, b … (3)'
    """
    return ", ".join(names[:most]) + (f" … ({len(names)})" if len(names) > most else "")


def _given(names: Sequence[str], column: str | int, role: str, roles: TableRoles, where: str, prefix: str) -> str:
    """The name of an explicitly mapped column, which must exist."""
    if str(column) in names:
        return str(column)
    if isinstance(column, int) and 0 <= column < len(names):
        return names[column]
    asked = f"position {column} of {len(names)} columns (from 0)" if isinstance(column, int) else repr(column)
    like = next((name for name in names if looks_like(name, role)), None) or guess_column(names, role)
    do = suggest(str(column), names)
    if prefix:  # what was named may be the column of another table, or misspelt
        typed = f"{do} " if do.startswith("did") else ""
        do = f"{typed}name it with {_mapping_hint(role, like or '…', roles, prefix)}"
    elif not do.startswith("did"):
        hint = f"name one of them with {_mapping_hint(role, '…', roles)}"
        do = hint if like is None else f"did you mean {like}?"
    raise DataError(
        f"the column given for {role} does not exist",
        where=where,
        found=f"{asked}; columns {shortened(names)}",
        do=do,
    )


def _mapping_hint(role: str, name: str, roles: TableRoles, prefix: str = "") -> str:
    """How to say which column has a role, in Python and at the command line."""
    quoted = name if name == "…" else repr(name)
    if roles.given_by == "option":
        return f"{role}={quoted} (--{role} {name})"
    written = f"{prefix}{role}={name}"
    return f"columns={{'{prefix}{role}': {quoted}}} (--columns {shlex.quote(written) if name != '…' else written})"


def naming(role: str, names: Sequence[str] = (), *, prefix: str = "") -> str:
    """How to name the column of a role, with the one that looks most like it.

    >>> naming("time", ["user", "item", "bought_at"])
    "bought_at looks like a time: columns={'time': 'bought_at'} (--columns time=bought_at)"
    >>> naming("time", ["user", "item"])
    "name it with columns={'time': …} (--columns time=…)"
    """
    guess = guess_column(names, role)
    hint = _mapping_hint(role, guess or "…", NO_ROLES, prefix)
    return f"name it with {hint}" if guess is None else f"{guess} looks like {_a(role)}: {hint}"


def _a(role: str) -> str:
    return f"an {role}" if role[0] in "aei" else f"a {role}"


def _check_one_role_each(found: Mapping[str, str], where: str) -> None:
    taken: dict[str, str] = {}
    for role, name in found.items():
        if name in taken:
            raise DataError(
                "one column is given two roles",
                where=where,
                found=f"{name}: {taken[name]} and {role}",
                do="give each role its own column",
            )
        taken[name] = role


def _recognised(
    names: Sequence[str], role: str, roles: TableRoles, where: str, prefix: str, *, has_own_names: bool
) -> str | None:
    accepted = [role, *filter(None, [roles.also_called.get(role)])]
    like = [name for name in names if any(looks_like(name, other) for other in accepted)]
    if not like and role in roles.else_called:
        like = [name for name in names if looks_like(name, roles.else_called[role])]
    # A table that already says user and item means value and time literally: what trueval writes, it reads.
    if role in like and (roles.own_name_wins or (has_own_names and role not in ("user", "item"))):
        return role
    if len(like) > 1 and role not in roles.absent_if_several:
        raise DataError(
            f"more than one column looks like the {role}",
            where=where,
            found=", ".join(like),
            do=f"rename the right one to {role}"
            if roles.given_by == "name"
            else f"choose one with {_mapping_hint(role, like[0], roles, prefix)}",
        )
    return like[0] if len(like) == 1 else None


def _absent(
    role: str, names: Sequence[str], found: Mapping[str, str], roles: TableRoles, where: str, prefix: str
) -> DataError:
    """The error for a role that a table needs; a column whose name is nearly a common one is suggested."""
    free = [name for name in names if name not in found.values()]
    do = f"name it with {_mapping_hint(role, guess_column(free, role) or '…', roles, prefix)}"
    return DataError(
        f"there is no {role} column",
        where=where,
        found=f"columns {shortened(names)}",
        do=f"name it {role}" if roles.given_by == "name" else do,
    )


def renaming(names: Sequence[str], found: Mapping[str, str], roles: Collection[str]) -> dict[str, str]:
    """Old to new names; a column that merely happens to be called like a role, taken or absent, steps aside.

    >>> renaming(["uid", "user", "item"], {"user": "uid", "item": "item"}, LOG_ROLES)
    {'user': 'source_user', 'uid': 'user', 'item': 'item'}
    >>> renaming(["user", "item", "time"], {"user": "user", "item": "item"}, LOG_ROLES)["time"]
    'source_time'
    """
    taken = {*names, *roles}
    aside = {}
    for name in names:
        if name in roles and name not in found.values():
            new = f"source_{name}"
            while new in taken:
                new = f"source_{new}"
            taken.add(new)
            aside[name] = new
    return aside | {name: role for role, name in found.items()}
