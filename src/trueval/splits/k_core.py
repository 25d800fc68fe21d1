"""Rows removed before a split: users and items with too few of them."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.data.interactions import Interactions
from trueval.errors import DefinitionError
from trueval.splits.row_hashing import Coded


def keep_core(log: Interactions, *, min_user: int = 0, min_item: int = 0) -> tuple[Interactions, pl.DataFrame]:
    """The largest part of a log where every user and item has enough rows; the others with a reason.

    Removing an item may leave a user with too few rows, and so on: this is repeated until nothing changes.

    >>> log = Interactions.of(pl.DataFrame({"user": [1, 1, 2, 2, 2], "item": [1, 2, 1, 2, 3]}))
    >>> kept, dropped = keep_core(log, min_item=2)
    >>> len(kept), dropped["reason"].to_list()
    (4, ['item with fewer than 2 rows'])
    """
    coded = Coded.of(log)
    # 0: kept, 1: removed for its user, 2: removed for its item
    why = np.zeros(len(log), np.int8)
    limits = ((coded.users, coded.n_users, min_user, 1), (coded.items, coded.n_items, min_item, 2))
    removed = -1
    while removed != (now := int(np.count_nonzero(why))):
        removed = now
        for codes, number, least, reason in limits:
            rows = np.bincount(codes[why == 0], minlength=number)
            why[(why == 0) & (rows[codes] < least)] = reason
    if not (why == 0).any():
        raise DefinitionError(
            "no row is left once users and items with few rows are removed",
            where=log.name,
            found=f"min_user = {min_user}, min_item = {min_item}",
            do="use smaller numbers",
        )
    reasons = pl.Series("reason", [f"user with fewer than {min_user} rows", f"item with fewer than {min_item} rows"])
    places = pl.Series(why[why > 0] - 1, dtype=pl.UInt32)
    dropped = log.frame.filter(why > 0).with_columns(reasons.gather(places))
    return log.keep(log.frame.filter(why == 0)), dropped
