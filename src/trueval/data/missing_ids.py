"""Rows without an id: refused, whatever kind of table they are in."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from trueval.errors import DataError, rows_found


def check_ids(table: pl.DataFrame, where: str, *, roles: Sequence[str] = ("user", "item"), first: int = 1) -> None:
    """Refuse rows without a user or an item; `first` is the number of the first row.

    >>> check_ids(pl.DataFrame({"user": [1, None]}), "users", roles=["user"])
    Traceback (most recent call last):
    trueval.errors.DataError: user ids are missing
      where: users, column user
      found: 1 row:
             row 2
      do:    fill or drop these rows
    """
    for role in roles:
        missing = table[role].null_count()
        if missing:
            at = table[role].is_null().arg_true().head(5).to_list()
            raise DataError(
                f"{role} ids are missing",
                where=f"{where}, column {role}",
                found=rows_found([f"row {row + first}" for row in at], missing),
                do="fill or drop these rows",
            )
