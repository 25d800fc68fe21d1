"""A biased log dealt anew: as many ratings, most of them to what is liked least."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from trueval.data.interactions import Interactions
from trueval.errors import TruevalError
from trueval.simulation.opposed_sample import opposed_sample


def survey(seed: int = 0) -> tuple[Interactions, Interactions]:
    """Random ratings of 30 items by 40 users, and a biased part of them."""
    rng = np.random.default_rng(seed)
    rows = [(u, i, float(rng.integers(1, 6))) for u in range(40) for i in range(30) if rng.random() < 0.6]
    random = Interactions.of(pl.DataFrame(rows, schema=["user", "item", "value"], orient="row"))
    chance = pl.Series(rng.random(len(rows))) < random.frame["item"] / 40
    return random.keep(random.frame.filter(chance)), random


def test_counts_are_dealt_against_the_likes() -> None:
    biased, random = survey()
    found = opposed_sample(biased, random, threshold=4).frame
    counts = dict(found.group_by("item").len().iter_rows())
    every = dict(random.frame.group_by("item").len().iter_rows())
    liked = dict(random.frame.group_by("item").agg((pl.col("value") >= 4).mean()).iter_rows())
    before = sorted((*biased.frame["item"].value_counts()["count"], 0), reverse=True)
    least_first = sorted(liked, key=lambda item: (liked[item], item))
    dealt = [counts.get(item, 0) for item in least_first]
    sizes = [*before, *[0] * 30][:30]
    assert dealt == [min(size, every[item]) for size, item in zip(sizes, least_first)]
    # every rating drawn is one of the random ones, once
    assert found.join(random.frame, on=["user", "item", "value"], how="semi").height == found.height
    assert not found.select("user", "item").is_duplicated().any()


def test_rows_in_another_order_and_seeds() -> None:
    biased, random = survey()
    turned = random.keep(random.frame.reverse())
    one, same, other = (
        opposed_sample(biased, log, threshold=4, seed=seed).frame.select("user", "item").sort("user", "item")
        for log, seed in ((random, 1), (turned, 1), (random, 2))
    )
    assert one.equals(same)
    assert not one.equals(other)


def test_likes_need_ratings() -> None:
    biased, random = survey()
    with pytest.raises(TruevalError, match="likes need ratings"):
        opposed_sample(biased, Interactions.of(random.frame.drop("value")), threshold=4)
