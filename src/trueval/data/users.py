"""Tables about users, and a log cut to the users of one."""

from __future__ import annotations

from typing import Any

import polars as pl

from trueval.data.column_roles import TableRoles, find_roles, renaming
from trueval.data.failures import empty
from trueval.data.frames import as_polars, is_table
from trueval.data.id_text import settled
from trueval.data.ids import check_same_kind, plain
from trueval.data.interactions import Interactions
from trueval.data.items import read_items
from trueval.data.missing_ids import check_ids
from trueval.data.read import locate
from trueval.data.role_names import ColumnMap
from trueval.data.table_columns import columns_of, read_columns
from trueval.data.tables import ids_are_text, read_table
from trueval.errors import DataError

_ROLES = TableRoles(needs=("user",), own_name_wins=True, table="users")


def read_users(source: Any, *, columns: ColumnMap | None = None) -> pl.DataFrame:
    """A table with a `user` column and whatever is known of each: a table in memory or a file.

    `columns` may speak of several tables: of this one as users.user.

    >>> read_users(pl.DataFrame({"uid": [2], "age": [30]})).columns
    ['user', 'age']
    """
    named = columns_of(columns, "users", side=True)
    if is_table(source):
        table = as_polars(source, where="users")
        found = find_roles(table.columns, named, roles=_ROLES, where="users")
        table = table.rename(renaming(table.columns, found, _ROLES))
    else:
        path = locate(source)
        table = read_table(path, named, roles=_ROLES)
        table = settled(table) if ids_are_text(path) else table
    if not len(table):
        raise empty("users" if is_table(source) else str(source))
    check_ids(table, "users", roles=["user"])
    return table.with_columns(plain(table["user"], where="users").alias("user"))


def read_side_tables(items: Any, users: Any, *, columns: ColumnMap | str | None) -> tuple[Any, Any]:
    """Tables of items and users, where columns are named for them; else both as they are given.

    >>> read_side_tables(None, pl.DataFrame({"key": [2]}), columns="users.user=key")[1].columns
    ['user']
    """
    named = read_columns(columns, ("user", "item"), items=items, users=users)
    if not named:
        return items, users
    return (
        None if items is None else read_items(items, columns=named),
        None if users is None else read_users(users, columns=named),
    )


def keep_users(known: Interactions, users: Any, *, columns: ColumnMap | None = None) -> Interactions:
    """Only the rows of the users that a table names.

    >>> log = Interactions.of(pl.DataFrame({"user": [1, 2, 2], "item": [7, 7, 8]}))
    >>> len(keep_users(log, pl.DataFrame({"user": [2]})))
    2
    """
    user_ids = read_users(users, columns=columns)["user"]
    check_same_kind(known.frame["user"], user_ids, role="user", where=(known.name, "users"))
    kept = known.frame.filter(known.frame["user"].is_in(user_ids.implode()))
    if not len(kept):
        raise DataError("none of these users is in the test set", where="users", found=f"{len(user_ids):,} users")
    return known.keep(kept)
