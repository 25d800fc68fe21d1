"""Reading the data of a paper, and refusing what it cannot be rerun on before hours of work."""

from __future__ import annotations

from typing import Any

from trueval.data.interactions import Interactions
from trueval.data.read import read
from trueval.errors import DataError
from trueval.simulation.simulate import simulate


def read_ratings(source: Any) -> Interactions:
    """A log of ratings, from whatever `tv.read` reads; pairs that occur several times count once, by their last row.

    >>> import polars as pl
    >>> read_ratings(pl.DataFrame({"user": [1, 1], "item": ["a", "a"], "value": [1, 5]})).frame["value"].to_list()
    [5.0]
    """
    log = source if isinstance(source, Interactions) else read(source)
    frame = log.frame.sort("time", maintain_order=True) if log.has("time") else log.frame
    if not frame.select("user", "item").is_duplicated().any():
        return log
    return log.keep(frame.unique(["user", "item"], keep="last", maintain_order=True))


def check_ratings(log: Interactions, *, threshold: float, users: int = 50, items: int = 150) -> None:
    """Refuse a log without ratings of both kinds, or with too few users and items for the designs of a paper."""
    if not log.has("value"):
        raise DataError(
            "the paper needs ratings", where=log.name, found="no column of values",
            do="give a data set with ratings, for example ml-1m",
        )  # fmt: skip
    liked = int((log.frame["value"] >= threshold).sum())
    if not 0 < liked < len(log):
        raise DataError(
            f"the paper needs ratings from {threshold:g} on and below", where=log.name,
            found=f"{liked:,} of {len(log):,} ratings are {threshold:g} or more",
            do="give ratings on a scale from 1 to 5",
        )  # fmt: skip
    if log.n_users < users or log.n_items < items:
        raise DataError(
            "the data set is too small for the designs of the paper", where=log.name,
            found=f"{log.n_users:,} users, {log.n_items:,} items", do=f"give at least {users} users and {items} items",
        )  # fmt: skip


def world_like_movielens(quick: bool, seed: int) -> Interactions:
    """Ratings of a generated world with as many users, items and ratings as MovieLens 1M, or a small one if `quick`."""
    size = {"users": 1000, "items": 1200, "ratings": 60_000} if quick else {
        "users": 6040, "items": 3706, "ratings": 1_000_209}  # fmt: skip
    world = simulate("world", seed=seed, **size)
    return world.log.keep(world.log.frame, name="a generated world")
