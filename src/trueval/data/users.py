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
from trueval.data.items import read_items
from trueval.data.missing_ids import check_ids
from trueval.data.read import locate
from trueval.data.role_names import ColumnMap
from trueval.data.table_columns import columns_of, read_columns
from trueval.data.tables import ids_are_text, read_table


def read_users(source: Any, *, columns: ColumnMap | None = None, table: str = "users") -> pl.DataFrame:
    """A table with a `user` column and whatever is known of each: a table in memory or a file.

    `columns` may speak of several tables: of this one as users.user, or by the name of another `table`.

    >>> read_users(pl.DataFrame({"uid": [2], "age": [30]})).columns
    ['user', 'age']
    """
    named, roles = columns_of(columns, table, side=True), TableRoles(needs=("user",), own_name_wins=True, table=table)
    if is_table(source):
        frame = as_polars(source, where=table)
        found = find_roles(frame.columns, named, roles=roles, where=table)
        frame = frame.rename(renaming(frame.columns, found, roles))
    else:
        path = locate(source)
        frame = read_table(path, named, roles=roles)
        frame = settled(frame) if ids_are_text(path) else frame
    if not len(frame):
        raise empty(table if is_table(source) else str(source))
    check_ids(frame, table, roles=["user"])
    return frame.with_columns(plain(frame["user"], where=table).alias("user"))


def read_user_ids(source: Any, *, columns: ColumnMap | None = None) -> pl.Series:
    """Ids of users, each once and ascending: a list or an array of ids, or the `user` column of a table or file.

    >>> read_user_ids([3, 1, 3]).to_list(), read_user_ids(pl.DataFrame({"uid": ["b"], "age": [30]})).to_list()
    ([1, 3], ['b'])
    """
    if isinstance(source, pl.Series | list | tuple | np.ndarray):
        if not len(source):
            raise empty("only_users")
        ids = plain(pl.Series("user", source), where="only_users")
    else:
        ids = read_users(source, columns=columns, table="only_users")["user"]
    return ids.drop_nulls().unique().sort()


def read_side_tables(
    items: Any, users: Any, only_users: Any, *, columns: ColumnMap | str | None
) -> tuple[Any, Any, Any]:
    """Tables of items and users, where columns are named for them; else as they are given.

    >>> read_side_tables(None, pl.DataFrame({"key": [2]}), None, columns="users.user=key")[1].columns
    ['user']
    """
    named = read_columns(columns, ("user", "item"), items=items, users=users, only_users=only_users)
    if not named:
        return items, users, only_users
    return (
        None if items is None else read_items(items, columns=named),
        None if users is None else read_users(users, columns=named),
        None if only_users is None else read_user_ids(only_users, columns=named),
    )
