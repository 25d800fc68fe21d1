"""What a log says of each item: how many users rated it, and how many of them like it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.errors import DataError, rows_found


@dataclass(frozen=True, slots=True)
class ItemRatings:
    """Ratings of each item, each user once; `liked` are those that reach the relevance threshold."""

    items: Ids
    ratings: np.ndarray
    liked: np.ndarray
    users: int

    @staticmethod
    def of_counts(ratings: np.ndarray, liked: np.ndarray, *, users: int) -> ItemRatings:
        """From numbers of ratings and of likes by item, which are numbered from 0.

        >>> ItemRatings.of_counts(np.array([3, 1]), np.array([2, 1]), users=4).disliked.tolist()
        [1, 0]
        """
        ratings, liked = np.asarray(ratings), np.asarray(liked)
        if ratings.ndim != 1 or ratings.shape != liked.shape:
            raise DataError(
                "ratings and likes must be lists of one length", found=f"shapes {ratings.shape} and {liked.shape}"
            )
        wrong = np.flatnonzero((liked < 0) | (liked > ratings) | (ratings > users))
        if len(wrong):
            rows = [f"item {i}: {liked[i]} likes, {ratings[i]} ratings, {users} users" for i in wrong[:5]]
            raise DataError("likes are among ratings, and every user rates once", found=rows_found(rows, len(wrong)))
        return ItemRatings(Ids.of(pl.Series(np.arange(len(ratings)))), ratings, liked, users)

    def rated(self) -> ItemRatings:
        """Only the items with a rating."""
        some = self.ratings > 0
        if some.all():
            return self
        return ItemRatings(Ids(self.items.values.filter(some)), self.ratings[some], self.liked[some], self.users)

    @property
    def disliked(self) -> np.ndarray:
        """Ratings below the threshold."""
        return self.ratings - self.liked


def item_ratings(log: Interactions, *, threshold: float | None = None, items: Ids | None = None) -> ItemRatings:
    """Count ratings and likes of every item.

    A user with several rows of an item counts once, by the mean of their values. Without a threshold, values above 0
    are likes; without values, all rows are.

    Parameters
    ----------
    log : Interactions
        The ratings.
    threshold : number, optional
        Relevance threshold.
    items : Ids, optional
        The items to count for. Default: those of the log.

    Returns
    -------
    ItemRatings
        Numbers by item, in the order of `items`, and the number of users of the log.

    Examples
    --------
    >>> log = Interactions.of(pl.DataFrame({"user": [1, 2, 2], "item": ["a", "a", "b"], "value": [5, 1, 4]}))
    >>> counted = item_ratings(log, threshold=4)
    >>> counted.ratings.tolist(), counted.liked.tolist(), counted.users
    ([2, 1], [1, 1], 2)
    """
    if threshold is not None and not log.has("value"):
        raise DataError(
            "a threshold needs a value column",
            where=log.name,
            found="columns " + ", ".join(log.frame.columns),
            do="name it with columns={'value': …}, or leave the threshold out",
        )
    users = Ids.of(log.frame["user"])
    known = Ids.of(log.frame["item"]) if items is None else items
    rows = ByUser.code(log.frame, users, known).distinct()
    if rows.value is None:
        liked = np.ones(len(rows.item), bool)
    else:
        liked = rows.value >= threshold if threshold is not None else rows.value > 0
    size = len(known)
    return ItemRatings(
        known, np.bincount(rows.item, minlength=size), np.bincount(rows.item[liked], minlength=size), len(users)
    )
