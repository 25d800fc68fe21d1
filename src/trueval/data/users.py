"""A log cut to some users."""

from __future__ import annotations

from typing import Any

from trueval.data.frames import as_polars, is_table
from trueval.data.id_text import settled
from trueval.data.ids import check_same_kind, plain
from trueval.data.interactions import Interactions
from trueval.data.read import locate, read
from trueval.data.tables import ids_are_text, scan_table
from trueval.errors import DataError


def keep_users(log: Any, users: Any, *, columns: Any = None) -> Interactions:
    """Only the rows of the users that a table names.

    >>> import polars as pl
    >>> log = pl.DataFrame({"user": [1, 2, 2], "item": [7, 7, 8]})
    >>> len(keep_users(log, pl.DataFrame({"user": [2]})))
    2
    """
    known = read(log, columns=columns)
    if is_table(users):
        table = as_polars(users, where="users")
    else:
        path = locate(users)
        table = scan_table(path, None, roles=("user",)).collect()
        table = settled(table) if ids_are_text(path) else table
    if "user" not in table.columns:
        raise DataError("there is no user column", where="users", found="columns " + ", ".join(table.columns))
    wanted = plain(table["user"], where="users")
    check_same_kind(known.frame["user"], wanted, role="user", where=(known.name, "users"))
    kept = known.frame.filter(known.frame["user"].is_in(wanted.implode()))
    if not len(kept):
        raise DataError("none of these users is in the test set", where="users", found=f"{len(wanted):,} users")
    return known.keep(kept)
