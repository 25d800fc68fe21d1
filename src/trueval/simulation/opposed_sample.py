"""A biased log dealt anew from a random sample of ratings, so that the least liked items get the most ratings."""

from __future__ import annotations

import polars as pl

from trueval.arguments import checked
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.errors import DataError
from trueval.splits.row_hashing import chain, coin


@checked
def opposed_sample(biased: Interactions, random: Interactions, *, threshold: float, seed: int = 0) -> Interactions:
    """Draw a biased log from ratings of items chosen at random: the k-th least liked item is the k-th most rated.

    Numbers of ratings by item are those of `biased`, dealt against the share of the random ratings that reach the
    threshold; which of an item's random ratings are drawn is left to chance. An item gets no more than it has. Ratings
    keep their values and users, so that what is true of everybody's taste stays (Mena-Maldonado et al. 2020, §5.5).

    Parameters
    ----------
    biased : Interactions
        The log whose popularity is dealt anew.
    random : Interactions
        Ratings of items chosen at random, which the new log is drawn from.
    threshold : number
        Ratings from here on are likes.
    seed : int, default 0
        Seed of the draws.

    Examples
    --------
    >>> values = {"a": [5, 5, 1], "b": [1, 1, 5]}
    >>> rows = [(user, item, value) for item, own in values.items() for user, value in enumerate(own)]
    >>> random = Interactions.of(pl.DataFrame(rows, schema=["user", "item", "value"], orient="row"))
    >>> biased = random.keep(random.frame.filter((pl.col("item") == "a") | (pl.col("user") == 0)))
    >>> opposed_sample(biased, random, threshold=4).frame["item"].sort().to_list()
    ['a', 'b', 'b', 'b']
    """
    if not random.has("value"):
        raise DataError("likes need ratings", where=random.name, found="no column of values")
    counts = biased.frame.group_by("item").len("ratings")
    liked = random.frame.group_by("item").agg(liked=(pl.col("value") >= threshold).mean())
    items = liked.join(counts, on="item", how="left", maintain_order="left").with_columns(
        pl.col("ratings").fill_null(0)
    )
    least_first = items.sort("liked", "item").select("item")
    dealt = least_first.with_columns(number=items["ratings"].sort(descending=True))
    users, named = Ids.of(random.frame["user"]), Ids.of(random.frame["item"])
    codes = users.codes(random.frame["user"]), named.codes(random.frame["item"])
    drawn = random.frame.with_columns(chance=pl.Series(coin(chain(seed, "opposed sample", *codes))))
    place = pl.col("chance").rank("ordinal").over("item")
    kept = drawn.with_columns(place=place).join(dealt, on="item", how="left", maintain_order="left")
    frame = kept.filter(pl.col("place") <= pl.col("number")).drop("chance", "place", "number")
    return random.keep(frame, name=f"{biased.name}, opposed")
