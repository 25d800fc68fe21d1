"""The head: the items rated most, which an evaluation may remove."""

from __future__ import annotations

import numpy as np

from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.data.judgements import Judged
from trueval.data.popularity import item_counts
from trueval.errors import DataError, DefinitionError


def check_head_share(share: object, *, where: str) -> float:
    """The share of items to remove, which must be above 0 and below 1.

    >>> check_head_share(0.1, where="without_head")
    0.1
    """
    number = isinstance(share, (int, float, np.integer, np.floating)) and not isinstance(share, bool)
    if not number or not 0 < share < 1:  # type: ignore[operator]
        raise DefinitionError(
            "the head to remove must be a share of the items above 0 and below 1",
            where=where,
            found=repr(share),
            do="0.1 removes the tenth that is rated most; give none to keep all items",
        )
    return float(share)  # type: ignore[arg-type]


def head_word(share: float) -> str:
    """The word for it in the name of a design.

    >>> head_word(0.125)
    'head12.5'
    """
    return f"head{100 * share:.12g}"


def count_ratings(train: Interactions, test: Interactions, items: Ids) -> np.ndarray:
    """Number of ratings of each item in train and test together: its users or, where the log counts them, its rows."""
    return item_counts((train.frame, test.frame), items, train.count)


def find_head(ratings: np.ndarray, share: float, *, where: str) -> np.ndarray:
    """Codes of the most-rated share of all items that were rated at all, ascending.

    Items rated equally often go together, so that nothing but the ratings decides: all of them are in the head, or
    none, whichever comes closer to the share (none, if neither does).

    >>> find_head(np.array([3, 9, 9, 5, 0]), 0.5, where="toy").tolist()
    [1, 2]
    >>> find_head(np.array([3, 9, 7, 7, 7, 0]), 0.4, where="toy").tolist()
    [1]
    """
    rated = int(np.count_nonzero(ratings))
    rising = np.sort(ratings)
    above = len(ratings) - np.searchsorted(rising, ratings, side="right")  # items rated more often than this one
    reached = len(ratings) - np.searchsorted(rising, ratings, side="left")  # and as often, itself among them
    head = np.flatnonzero((above + 1 + reached <= 2 * round(share * rated)) & (ratings > 0))
    if not len(head):
        most = int(np.count_nonzero(ratings == ratings.max(initial=0)))
        raise DataError(
            "the head to remove is empty",
            where=where,
            found=f"{share:.12g} of {rated:,} rated items, of which {most:,} share the highest number of ratings",
            do="remove a larger share, or nothing",
        )
    return head


def drop_head(judged: Judged, head: np.ndarray, *, where: str) -> Judged:
    """The judgements that are left once those of head items are gone: these items are then unjudged."""
    kept = judged.where(~np.isin(judged.rows.item, head))
    if not kept.relevant.any():
        raise DataError("no relevant test item is left once the head is removed", where=where, do="remove less")
    return kept
