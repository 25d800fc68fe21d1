"""A test part with the same number of ratings for every candidate item, so that popularity earns nothing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
import polars as pl

from trueval.data.interactions import Interactions
from trueval.errors import DataError, DefinitionError
from trueval.splits.options import choice, exact, number, rounded_down, share
from trueval.splits.parts import TEST, TRAIN, Parts, assemble
from trueval.splits.registry import BY_ITEM, split
from trueval.splits.row_hashing import Coded, place_within


@split(
    by="chance",
    options={
        "ratio": share("share of the log to test on"),
        "eps": share("share of each item kept for train", zero=True),
        "round": choice("how to round the shares of an item to whole numbers", "floor", "nearest"),
        "threshold": number("count only values of at least this"),
    },
    chance=lambda how: BY_ITEM if "reached" in how else None,
    uniform=True,
    carved=("uniform_test", ("eps", "round", "threshold")),
)
def uniform_test(
    log: Interactions,
    *,
    ratio: float = 0.2,
    eps: float = 0.2,
    round: str = "floor",
    threshold: float | None = None,
    seed: int = 0,
) -> Parts:
    """Draw the same number η of test ratings for each of the ζ most popular items, as many items as allow it.

    ζ = max {k : (1-eps)·|R(i_k)|·k / |R| >= ratio} over items by popularity, η = (1-eps)·|R(i_ζ)|.
    round="floor" keeps the promise that a share `eps` of each item's ratings stays in train; "nearest" rounds
    as the publication did. Either way η is whole, so that the share that is tested, how["reached"], may fall short of
    `ratio` by less than one rating per candidate item. With a threshold only ratings of that value or more are counted
    and drawn.
    Ratings are pairs of user and item, all of whose rows go to one part; they are rows where the log counts those.
    An eps of 1/n does not allow n disjoint folds: repeat the split with other seeds instead.

    Bellogín, Castells, Cantador: Statistical biases in information retrieval metrics for recommender systems,
    2017, section 6.2.

    >>> import polars as pl
    >>> log = Interactions.of(pl.DataFrame({"user": [1, 2, 3, 4, 1, 2, 1], "item": list("aaaabbc")}))
    >>> parts = uniform_test(log, ratio=0.25, eps=0.5)
    >>> sorted(parts.test.frame["item"]), parts.eta
    (['a', 'b'], 1)
    """
    coded = Coded.of(log)
    counted, rating = _ratings(coded, _counted(log, threshold), coded.hashes(seed, "uniform_test"))
    counts = np.bincount(coded.items[counted], minlength=coded.n_items)
    zeta, least = candidate_items(np.sort(counts)[::-1], ratio, eps, log=log.name)
    eta = _whole((1 - exact(eps)) * least, round)
    if not eta:
        raise DefinitionError(
            "no test rating is left for the candidate items",
            where=f"split uniform_test of {log.name}",
            found=f"{zeta:,} items, the least rated with {least:,}; (1 - eps) of them rounds to 0",
            do="use a larger ratio, a smaller eps, or round='nearest'",
        )
    chosen = counted[counts[coded.items[counted]] >= least]
    nth, _ = place_within(coded.items[chosen], coded.hashes(seed, "uniform_test")[chosen])
    drawn = np.zeros(len(log), bool)
    drawn[chosen[nth < eta]] = True
    place = np.where(drawn[rating], TEST, TRAIN).astype(np.int8)
    how: dict[str, Any] = {"how": "uniform_test", "ratio": ratio, "eps": eps, "round": round, "seed": seed}
    how |= {"threshold": threshold, "items": zeta, "eta": eta, "reached": zeta * eta / len(counted)}
    candidates = coded.item_ids.decode(np.flatnonzero(counts >= least)).alias("item")
    return assemble(log, place, how=how, candidates=candidates)


def _ratings(coded: Coded, counted: np.ndarray, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One row for each rating that counts, and for every row of the log the row that stands for its rating.

    Where users count, all rows of a user and item are one rating, drawn by the smallest of their hashes, and go to one
    part; where rows count, each is its own.
    """
    own = np.arange(len(hashes))
    if coded.log.count == "rows":
        return counted, own
    pair = coded.users.astype(np.int64) * coded.n_items + coded.items
    if pl.Series(pair).n_unique() == len(pair):
        return counted, own
    order = np.lexsort((hashes, ~np.isin(own, counted), pair))  # what counts first, then by chance
    first = np.ones(len(order), bool)
    first[1:] = pair[order[1:]] != pair[order[:-1]]
    rating = np.empty(len(order), np.int64)
    rating[order] = order[first][np.cumsum(first) - 1]
    return counted[rating[counted] == counted], rating


def candidate_items(popularity: np.ndarray, ratio: float, eps: float, *, log: str = "log") -> tuple[int, int]:
    """How many of the most popular items can have equally many test ratings, and the ratings of the last one.

    >>> candidate_items(np.array([50, 30, 20, 10, 6, 4]), 0.2, 0.2)
    (5, 6)
    """
    rank = np.arange(1, len(popularity) + 1)
    rectangle = popularity.astype(np.int64) * rank
    kept, total = 1 - exact(eps), int(popularity.sum())
    fits = np.flatnonzero(rectangle >= ceil(exact(ratio) * total / kept))
    if not len(fits):
        largest = _largest(popularity, eps)
        raise DefinitionError(
            "no set of items can have that many test ratings each",
            where=f"split uniform_test of {log}",
            found=f"ratio = {ratio}, eps = {eps}; the largest possible ratio is {float(largest):.6g}",
            do=f"use ratio={rounded_down(largest)} or less, or a smaller eps",
        )
    return int(fits[-1]) + 1, int(popularity[fits[-1]])


def largest_ratio(log: Interactions, *, eps: float = 0.2, threshold: float | None = None) -> float:
    """The largest share of a log that a uniform test can have, rounded down.

    >>> import polars as pl
    >>> log = Interactions.of(pl.DataFrame({"user": [1, 2, 3, 4, 1, 2, 1], "item": list("aaaabbc")}))
    >>> largest_ratio(log, eps=0.5)  # half of 4 of the 7 ratings: one item with 4, or two with 2 each
    0.2857
    """
    coded = Coded.of(log)
    counted, _ = _ratings(coded, _counted(log, threshold), coded.hashes(0, "uniform_test"))
    counts = np.bincount(coded.items[counted], minlength=coded.n_items)
    return float(rounded_down(_largest(np.sort(counts)[::-1], eps)))


def uniform_part(parts: Parts, *, threshold: float | None = None, seed: int = 0) -> Parts:
    """The same train part, and as many relevant test ratings of each of the most popular items as the test part allows.

    Unlike `uniform_test`, which divides a log anew, systems that have learned from the train part stay as they are.

    >>> import polars as pl
    >>> table = pl.DataFrame({"user": [1, 2, 3, 4, 1], "item": list("aaabb")})
    >>> drawn = uniform_part(Parts(Interactions.of(table.head(1)), Interactions.of(table)))
    >>> sorted(drawn.test.frame["item"])
    ['a', 'a', 'b', 'b']
    """
    ratio = largest_ratio(parts.test, eps=0.0, threshold=threshold)
    drawn = uniform_test(parts.test, ratio=ratio, eps=0.0, threshold=threshold, seed=seed)
    return replace(parts, test=drawn.test, candidates=drawn.candidates, dropped=None, how=drawn.how)


def _largest(popularity: np.ndarray, eps: float) -> Fraction:
    """The largest ratio for items of this popularity, most popular first."""
    rank = np.arange(1, len(popularity) + 1)
    return (1 - exact(eps)) * int((popularity.astype(np.int64) * rank).max()) / int(popularity.sum())


def _whole(number: Fraction, round: str) -> int:
    return floor(number) if round == "floor" else floor(number + Fraction(1, 2))


def _counted(log: Interactions, threshold: float | None) -> np.ndarray:
    """Places of the rows that count: all of them, or those at or above the threshold."""
    if threshold is None:
        return np.arange(len(log))
    if not log.has("value"):
        raise DataError(
            "a threshold needs values",
            where=f"split uniform_test of {log.name}",
            found="no value column",
            do="leave the threshold out, or name the column with columns={'value': …}",
        )
    rows = np.flatnonzero(log.frame["value"].to_numpy() >= threshold)
    if not len(rows):
        raise DefinitionError(
            "the threshold is above every value",
            where=f"split uniform_test of {log.name}",
            found=f"threshold = {threshold}, largest value {log.frame['value'].max()!r}",
            do="use a lower threshold",
        )
    return rows
