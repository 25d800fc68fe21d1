"""Rows without an id: refused, whatever kind of table they are in."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from trueval.errors import DataError, rows_found

_DO = "fill or drop these rows"
_IN_LISTS = (
    "without these rows, what is below would move up: fill them with an id that is not in the catalogue (--items), and "
    "use invalid=miss (--invalid miss), which keeps them as misses"
)


def what_to_do(role: str) -> str:
    """Advice on rows of a run without an id: those without an item are places of a list."""
    return _IN_LISTS if role == "item" else _DO


def ids_missing(role: str, *, where: str, found: str, do: str = _DO) -> DataError:
    """The refusal of rows without an id, for those who count them in a way of their own.

    >>> ids_missing("user", where="a run", found="3 rows").what
    'user ids are missing'
    """
    return DataError(f"{role} ids are missing", where=where, found=found, do=do)


def check_ids(
    table: pl.DataFrame, where: str, *, roles: Sequence[str] = ("user", "item"), first: int = 1, do: str = _DO,
    run: bool = False,
) -> None:  # fmt: skip
    """Refuse rows without a user or an item, of a `run` or another table; `first` is the number of the first row.

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
            rows = rows_found([f"row {row + first}" for row in at], missing)
            raise ids_missing(role, where=f"{where}, column {role}", found=rows, do=what_to_do(role) if run else do)
