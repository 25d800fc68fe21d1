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
from trueval.data.missing_ids import check_ids
from trueval.data.read import locate, read
from trueval.data.tables import ids_are_text, read_table
from trueval.errors import DataError

_ROLES = TableRoles(needs=("user",))


def read_users(source: Any) -> pl.DataFrame:
    """A table with a `user` column and whatever is known of each: a table in memory or a file.

    >>> read_users(pl.DataFrame({"uid": [2], "age": [30]})).columns
    ['user', 'age']
    """
    if is_table(source):
        table = as_polars(source, where="users")
        table = table.rename(renaming(table.columns, find_roles(table.columns, roles=_ROLES, where="users"), _ROLES))
    else:
        path = locate(source)
        table = read_table(path, roles=_ROLES)
        table = settled(table) if ids_are_text(path) else table
    if not len(table):
        raise empty("users" if is_table(source) else str(source))
    check_ids(table, "users", roles=["user"])
    return table.with_columns(plain(table["user"], where="users").alias("user"))


def keep_users(log: Any, users: Any, *, columns: Any = None) -> Interactions:
    """Only the rows of the users that a table names.

    >>> log = pl.DataFrame({"user": [1, 2, 2], "item": [7, 7, 8]})
    >>> len(keep_users(log, pl.DataFrame({"user": [2]})))
    2
    """
    known = read(log, columns=columns)
    user_ids = read_users(users)["user"]
    check_same_kind(known.frame["user"], user_ids, role="user", where=(known.name, "users"))
    kept = known.frame.filter(known.frame["user"].is_in(user_ids.implode()))
    if not len(kept):
        raise DataError("none of these users is in the test set", where="users", found=f"{len(user_ids):,} users")
    return known.keep(kept)
