"""Tables about users, and lists of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from trueval.data.column_roles import TableRoles, find_roles, renaming
from trueval.data.failures import empty
from trueval.data.frames import as_polars, is_table
from trueval.data.id_text import settled
from trueval.data.ids import plain
from trueval.data.missing_ids import check_ids
from trueval.data.read import locate
from trueval.data.tables import ids_are_text, read_table

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


def read_user_ids(source: Any) -> pl.Series:
    """Ids of users, each once and ascending: a list or an array of ids, or the `user` column of a table or file.

    >>> read_user_ids([3, 1, 3]).to_list(), read_user_ids(pl.DataFrame({"uid": ["b"], "age": [30]})).to_list()
    ([1, 3], ['b'])
    """
    if isinstance(source, pl.Series | list | tuple | np.ndarray):
        if not len(source):
            raise empty("only_users")
        ids = plain(pl.Series("user", source), where="only_users")
    else:
        ids = read_users(source)["user"]
    return ids.drop_nulls().unique().sort()
