"""Popularity: how often an item was chosen. One definition for systems, designs, metrics and propensities.

The popularity of an item is the number of users who have a row with it (`count="users"`). Where nobody has an item
twice that is also its number of rows; where some do (plays, purchases), `count="rows"` counts each time. Which of the
two is a property of the log: `read(…, count="rows")`, and all that counts in it follows.

Metrics that ask what users know (novelty, EPC) are shares of users, and count users always. Those that ask what users
like count relevant rows only, in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from trueval.data.ids import Ids
from trueval.data.pair_keys import unique_pairs
from trueval.errors import DefinitionError, suggest

COUNTS = ("users", "rows")


def check_count_of(count: object, *, where: str) -> str:
    """What popularity counts: "users" or "rows".

    >>> check_count_of("rows", where="read")
    'rows'
    """
    if isinstance(count, str) and count in COUNTS:
        return count
    raise DefinitionError(
        "count must be users or rows", where=where, found=f"count = {count!r}", do=suggest(str(count), COUNTS)
    )


def chosen(frame: pl.DataFrame, count: str) -> pl.DataFrame:
    """One row for each time that counts: each user and item once, or every row.

    >>> plays = pl.DataFrame({"user": [1, 1, 2], "item": [5, 5, 5]})
    >>> len(chosen(plays, "users")), len(chosen(plays, "rows"))
    (2, 3)
    """
    return frame.select("user", "item") if count == "rows" else unique_pairs(frame)


def item_counts(frames: Iterable[pl.DataFrame], items: Ids, count: str) -> np.ndarray:
    """Popularity of each item in some logs together; a user with an item in two of them is one user.

    >>> plays = pl.DataFrame({"user": [1, 1, 2], "item": [5, 5, 6]})
    >>> [item_counts([plays], Ids.of(plays["item"]), count).tolist() for count in COUNTS]
    [[1, 1], [2, 1]]
    """
    own = list(frames)
    if len(own) == 1:
        return np.bincount(items.codes(chosen(own[0], count)["item"]), minlength=len(items))
    users = Ids.of(*(frame["user"] for frame in own))  # ids of two logs may be of two types
    coded = [pl.DataFrame({"user": users.codes(one["user"]), "item": items.codes(one["item"])}) for one in own]
    return np.bincount(chosen(pl.concat(coded), count)["item"].to_numpy(), minlength=len(items))


def repeated_pairs(frame: pl.DataFrame) -> tuple[int, int]:
    """How many pairs of user and item have several rows, and how many rows these are.

    >>> repeated_pairs(pl.DataFrame({"user": [1, 1, 1, 2], "item": [5, 5, 5, 6]}))
    (1, 3)
    """
    pairs = frame.select("user", "item")
    rows = pairs.filter(pairs.is_duplicated())
    return rows.n_unique() if len(rows) else 0, len(rows)


def learned(valued: bool) -> str:
    """What systems make of pairs with several rows, with values or without."""
    return "systems learn each pair once" + (", with the mean of its values" if valued else "")


def repeat_notes(pairs: int, rows: int, *, count: str, learned: str = "") -> list[str]:
    """A note on pairs with several rows in the train log; `learned` says what systems make of them.

    >>> for clause in repeat_notes(2, 20, count="users", learned=learned(True)).pop().split("; "):
    ...     print(clause)
    2 train pairs of user and item have several rows, 20 in all
    systems learn each pair once, with the mean of its values
    popularity counts users, each once per item (count="rows" counts rows)
    """
    if not pairs:
        return []
    counted = {
        "users": 'users, each once per item (count="rows" counts rows)',
        "rows": 'rows (count="users" counts each user once per item)',
    }[count]
    own = "pair of user and item has" if pairs == 1 else "pairs of user and item have"
    several = f"{pairs:,} train {own} several rows, {rows:,} in all"
    return ["; ".join([several, *[learned] * bool(learned), f"popularity counts {counted}"])]
