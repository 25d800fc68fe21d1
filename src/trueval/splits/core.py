"""Rows left out before a split: users and items with too few of them."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.data.interactions import Interactions
from trueval.errors import DefinitionError
from trueval.splits.row_hashing import Coded


def keep_core(log: Interactions, *, min_user: int = 0, min_item: int = 0) -> tuple[Interactions, pl.DataFrame]:
    """The largest part of a log where every user and item has enough rows; the others with a reason.

    Leaving out an item may leave a user with too few, and so on: the rule is applied until nothing changes.

    >>> log = Interactions.of(pl.DataFrame({"user": [1, 1, 2, 2, 2], "item": [1, 2, 1, 2, 3]}))
    >>> kept, dropped = keep_core(log, min_item=2)
    >>> len(kept), dropped["reason"].to_list()
    (4, ['item with fewer than 2 rows'])
    """
    coded = Coded.of(log)
    # 0: kept, 1: left out for its user, 2: left out for its item
    why = np.zeros(len(log), np.int8)
    rules = ((coded.users, coded.n_users, min_user, 1), (coded.items, coded.n_items, min_item, 2))
    left_out = -1
    while left_out != (now := int(np.count_nonzero(why))):
        left_out = now
        for codes, number, least, reason in rules:
            rows = np.bincount(codes[why == 0], minlength=number)
            why[(why == 0) & (rows[codes] < least)] = reason
    if not (why == 0).any():
        raise DefinitionError(
            "no row is left",
            where=f"users and items with few rows in {log.name}",
            found=f"min_user = {min_user}, min_item = {min_item}",
            do="use smaller numbers",
        )
    reasons = pl.Series("reason", [f"user with fewer than {min_user} rows", f"item with fewer than {min_item} rows"])
    places = pl.Series(why[why > 0] - 1, dtype=pl.UInt32)
    dropped = log.frame.filter(why > 0).with_columns(reasons.gather(places))
    return log.keep(log.frame.filter(why == 0)), dropped
