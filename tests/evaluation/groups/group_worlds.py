"""A small world with groups of users and items that overlap, are missing for some, and are small for others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl


@dataclass(frozen=True)
class World:
    recs: pl.DataFrame
    test: pl.DataFrame
    train: pl.DataFrame
    users: pl.DataFrame
    items: pl.DataFrame


def make_world(seed: int = 0, users: int = 60, items: int = 40, shown: int = 8, tied: bool = False) -> World:
    """Values from 1 to 5; every third user has no gender, every sixth item no genre, some have several."""
    rng = np.random.default_rng(seed)
    kinds = np.array(["a", "b", "c"])
    lists, judged, seen = [], [], []
    for u in range(users):
        order = rng.permutation(items)
        seen += [(u, int(i)) for i in order[: 2 + u % 9]]
        rest = order[2 + u % 9 :]
        lists += [(u, int(i), 1 - (r // 2 if tied else r) / 10) for r, i in enumerate(rng.permutation(rest)[:shown])]
        judged += [(u, int(i), float(rng.integers(1, 6))) for i in rng.choice(rest, 10, replace=False)]
    genres = ["|".join(kinds[: 1 + i % 3][i % 2 :]) or None for i in range(items)]
    return World(
        recs=pl.DataFrame(lists, schema=["user", "item", "score"], orient="row"),
        test=pl.DataFrame(judged, schema=["user", "item", "value"], orient="row"),
        train=pl.DataFrame(seen, schema=["user", "item"], orient="row"),
        users=pl.DataFrame({"user": range(users), "gender": [[None, "f", "m"][u % 3] for u in range(users)]}),
        items=pl.DataFrame({"item": range(items), "genre": genres, "provider": [i % 4 for i in range(items)]}),
    )
