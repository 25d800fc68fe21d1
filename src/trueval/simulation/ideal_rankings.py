"""The ideal order of what a user has rated, by rating and by aspects (Parapar and Radlinski 2021, §5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from trueval.arguments import checked
from trueval.data.aspects import Aspects
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.data.judgements import judge
from trueval.errors import DataError
from trueval.evaluation.item_aspects import item_aspects
from trueval.simulation.aspect_balance import aspect_weights, balanced_order


@dataclass(frozen=True)
class IdealRankings:
    """Each user's rated items in the ideal order; users and items are coded.

    Attributes
    ----------
    users, items : Ids
        Names behind the codes.
    start : array
        The ranking of user u is `start[u]` to `start[u+1]-1`.
    item, value : array
        Item and rating at each place.
    aspect : array
        The aspect that the item was taken for (−1: it shows none).
    preference : array
        Place of the item in the user's order by rating, then by number of aspects, from 0: the order within aspects.
    aspects : Aspects
        Aspects of the items.

    Examples
    --------
    >>> log = {"user": [1, 1, 1, 1], "item": list("abcd"), "value": [5, 5, 4, 2]}
    >>> genres = pl.DataFrame({"item": list("abcd"), "aspects": ["war", "war|drama", "war", "comedy"]})
    >>> ideal = ideal_rankings(Interactions.of(pl.DataFrame(log), items=genres))
    >>> ideal.run()["item"].to_list(), [ideal.aspects.names[a] for a in ideal.aspect]
    (['b', 'a', 'd', 'c'], ['war', 'war', 'comedy', 'war'])
    """

    users: Ids
    items: Ids
    start: np.ndarray
    item: np.ndarray
    value: np.ndarray
    aspect: np.ndarray
    preference: np.ndarray
    aspects: Aspects

    @cached_property
    def length(self) -> np.ndarray:
        """Number of items of each ranking."""
        return np.diff(self.start)

    @cached_property
    def user(self) -> np.ndarray:
        """User of each place."""
        return np.repeat(np.arange(len(self.start) - 1), self.length)

    @cached_property
    def place(self) -> np.ndarray:
        """Place within the ranking, from 0."""
        return np.arange(len(self.item)) - self.start[self.user]

    @cached_property
    def weights(self) -> np.ndarray:
        """Interest of each user in each aspect, w(u, a): a row per user."""
        return aspect_weights(self.start, self.item, self.value, self.aspects)

    def shows(self, item: np.ndarray, aspect: np.ndarray) -> np.ndarray:
        """Whether each item shows the aspect beside it; an aspect of −1 is shown by none."""
        return self._shown[item, aspect] & (aspect >= 0)

    @cached_property
    def _shown(self) -> np.ndarray:
        return self.aspects.matrix() > 0

    def run(self, item: np.ndarray | None = None, *, depth: int | None = None) -> pl.DataFrame:
        """Rankings as a table of user, item and rank: these, or others of the same lengths, cut at a depth."""
        kept = self.place < (len(self.item) if depth is None else depth)
        return pl.DataFrame({
            "user": self.users.decode(self.user[kept]),
            "item": self.items.decode((self.item if item is None else item)[kept]),
            "rank": self.place[kept] + 1,
        })  # fmt: skip


@checked
def ideal_rankings(test: Interactions) -> IdealRankings:
    """Order the rated items of every user ideally: what is liked most first, aspects in the user's proportions.

    For every aspect there is a list of the user's items that show it, by rating, equal ratings by the number of
    aspects, and then by item code. Place by place, the aspect is chosen whose weight for the user (its share of the
    ratings) exceeds its weight in the ranking so far by most; the first item of its list is placed and leaves all
    lists.

    Parameters
    ----------
    test : Interactions
        Ratings, with a table of items that has aspects (genres).

    Raises
    ------
    TruevalError
        For ratings without values or with negative ones, and items without aspects.

    Examples
    --------
    >>> genres = pl.DataFrame({"item": [1, 2, 3], "aspects": ["war", "war", "drama"]})
    >>> log = pl.DataFrame({"user": [7, 7, 7], "item": [1, 2, 3], "value": [3, 5, 2]})
    >>> ideal_rankings(Interactions.of(log, items=genres)).run()["item"].to_list()
    [2, 3, 1]
    """
    users, items = Ids.of(test.frame["user"]), Ids.of(test.frame["item"])
    aspects = item_aspects(test.items, items)
    if aspects is None or not len(aspects):
        raise DataError(
            "ideal rankings need the aspects of items",
            where=test.name,
            found="no table of items with aspects" if aspects is None else "a table without any aspect",
            do="read a data set with genres, or give items=… with a column `aspects`",
        )
    if not test.has("value") or float(test.frame["value"].min()) < 0:  # type: ignore[arg-type]
        raise DataError(
            "ideal rankings need ratings of 0 or more",
            where=test.name,
            found=f"a rating of {test.frame['value'].min()!r}" if test.has("value") else "no column of values",
            do="name the column with columns={'value': …}, or shift the values",
        )
    rows = judge(test, users, items).rows
    assert rows.value is not None
    number = np.diff(aspects.start)[rows.item]
    best_first = np.lexsort((rows.item, -number, -rows.value, rows.user))
    item, value = rows.item[best_first].astype(np.int64), np.asarray(rows.value, np.float64)[best_first]
    order = balanced_order(rows.start, item, value, aspects)
    preference = order.row - np.repeat(rows.start[:-1], rows.counts)
    return IdealRankings(users, items, rows.start, item[order.row], value[order.row], order.aspect, preference, aspects)
