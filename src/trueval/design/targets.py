"""Test pairs that are refused: an item that is no target of a user can never be ranked, and would look like a miss.

Both ways to evaluate, systems under a design and given lists, refuse the same pairs with the same message. So
every judged pair that is left is a target, which is what values by chance rest on.
"""

from __future__ import annotations

import numpy as np

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.data.judgements import Judged
from trueval.errors import DataError, rows_found

SEEN = ("exclude", "allow")


def check_inside(judged: Judged, offered: np.ndarray, users: Ids, items: Ids, *, where: str) -> None:
    """Refuse judged items that are not offered to anybody; `offered` marks those that are."""
    outside = ~offered[judged.rows.item]
    if outside.any():
        raise DataError(
            "test items are outside the given catalogue",
            where=where,
            found=_pairs(judged.rows, outside, users, items),
            do="add them to the catalogue, or drop them from the test set",
        )


def check_unseen(train: ByUser, judged: Judged, users: Ids, items: Ids, *, where: str) -> None:
    """Refuse judged pairs that are also in train, where train items are not ranked."""
    if judged.rows.common(train):
        seen = train.contains(judged.rows.user, judged.rows.item)
        raise DataError(
            "test pairs are also in the train set, whose items are not ranked",
            where=where,
            found=_pairs(judged.rows, seen, users, items),
            do='drop them from one of the two, or allow seen items (design …-seen; for run files seen="allow", '
            "--seen allow)",
        )


def _pairs(rows: ByUser, wrong: np.ndarray, users: Ids, items: Ids) -> str:
    first = np.flatnonzero(wrong)[:5]
    pairs = zip(users.decode(rows.user[first]), items.decode(rows.item[first]))
    return rows_found([f"user {u}, item {i}" for u, i in pairs], int(wrong.sum()))
