"""A mapping of columns for several tables: what it says of each."""

from __future__ import annotations

from collections.abc import Collection

from trueval.data.column_roles import HEADER_ROLES, TableColumns
from trueval.data.role_names import ColumnMap, check_role
from trueval.errors import DefinitionError, suggest


def columns_of(columns: ColumnMap | None, table: str, *, side: bool = False) -> TableColumns:
    """What a mapping of several tables says of one: its own entries (items.item), then those for all tables (item).

    In a `side` table, entries for all tables count where it has these columns, and positions do not.

    >>> named = {"user": "uid", "item": 1, "items.item": "sku"}
    >>> columns_of(named, "test"), columns_of(named, "items", side=True)
    ({'user': 'uid', 'item': 1}, {'user': 'uid', 'item': 'sku'})
    """
    whole = {role: name for role, name in (columns or {}).items() if "." not in role}
    own = {role.partition(".")[2]: name for role, name in (columns or {}).items() if role.startswith(f"{table}.")}
    if not side:
        return TableColumns(whole | own, prefix=f"{table}.")
    shared = {role: name for role, name in whole.items() if not isinstance(name, int) and role not in own}
    return TableColumns(shared | own, shared=shared, prefix=f"{table}.")


def read_columns(
    columns: ColumnMap | str | None, known: Collection[str] = HEADER_ROLES, **tables: object
) -> dict[str, str | int | None]:
    """A mapping in either form, for the tables of a call: role, or table.role for one of them that is there.

    >>> read_columns("user=uid,items.item=sku", items="items.csv", test="test.csv")
    {'user': 'uid', 'items.item': 'sku'}
    """
    named = parse_columns(columns, known, tables) if isinstance(columns, str) else dict(columns or {})
    for role in named:
        table, dot, own = role.rpartition(".")
        if not dot:
            check_role(role, known)
            continue
        _check_table(table, tables, role)
        check_role(own, _ROLES_OF.get(table, known))
        if tables[table] is None:
            raise DefinitionError(
                f"a column of the {table} is named, and there are no {table}", where="columns", found=repr(role),
                do=f"give {table}=… (--{table} FILE), or leave {role} out",
            )  # fmt: skip
    return named


# Side tables have roles of their own.
_ROLES_OF: dict[str, tuple[str, ...]] = {
    "items": ("item",),
    "users": ("user",),
    "only_users": ("user",),
    "propensity": ("user", "item", "position", "rank", "p", "count", "click"),
}


def _check_table(table: str, tables: Collection[str], role: str) -> None:
    if table not in tables:
        raise DefinitionError(
            f"there is no table {table!r} whose columns could be named", where="columns", found=repr(role),
            do=suggest(table, tables) if tables else f"write {role.rpartition('.')[2]}=…",
        )  # fmt: skip


def parse_columns(
    text: str, known: Collection[str] = HEADER_ROLES, tables: Collection[str] = ()
) -> dict[str, str | int | None]:
    """Roles from the form of the command line; a number is a position and `value=` says there is none.

    >>> parse_columns("user=uid, item=2")
    {'user': 'uid', 'item': 2}
    """
    columns: dict[str, str | int | None] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        role, equals, name = (word.strip() for word in part.partition("="))
        if not equals:
            raise DefinitionError(
                "a column mapping is written role=column",
                where="columns",
                found=repr(part),
                do="user=uid,item=sku",
            )
        table, dot, own = role.rpartition(".")
        if dot:
            _check_table(table, tables, role)
        check_role(own, _ROLES_OF.get(table, known))
        if role in columns:
            raise DefinitionError(
                f"the {role} column is given twice", where="columns", found=repr(text), do="give it once"
            )
        columns[role] = int(name) if name.isdigit() else name or None
    return columns
