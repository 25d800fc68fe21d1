"""Small random worlds in which every cell of the table can be recomputed by trying all orders of all targets."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import polars as pl
from naive_cells import Blocks, World, blocks_of

from trueval.data.interactions import Interactions
from trueval.splits.parts import Parts

KINDS = {"user": pl.String, "item": pl.String, "value": pl.Float64}


@cache
def random_world(seed: int, *, repeats: bool = False) -> World:
    """Six items, six users: u0 has nothing relevant, u4 nothing in test, u5 no train; scores with many equals.

    With `repeats` test holds items that their users have in train, too.
    """
    rng = np.random.default_rng(seed)
    items = [f"i{j}" for j in range(6)]
    train: dict[str, dict[str, float]] = {}
    test: dict[str, dict[str, float]] = {}
    for at in range(6):
        order = [items[j] for j in rng.permutation(6)]
        seen = 0 if at == 5 else int(rng.integers(1, 3))
        train[f"u{at}"] = {item: float(rng.integers(1, 6)) for item in order[:seen]}
        judged = order[seen : seen + int(rng.integers(2, 6 - seen))]
        test[f"u{at}"] = {item: float(rng.integers(1, 6)) for item in judged}
        if at == 0:
            test["u0"] = {item: float(rng.integers(1, 3)) for item in judged}
        elif max(test[f"u{at}"].values()) < 3:
            test[f"u{at}"][judged[0]] = 4.0
    test.pop("u4"), train.pop("u5")
    if repeats:
        for user in ("u1", "u2"):
            test[user] |= {next(iter(train[user])): 5.0}
    for item in items:  # every item has a test rating, and is in the vocabulary of every design
        if not any(item in own for own in test.values()):
            test["u5"][item] = float(rng.integers(1, 6))
    scores = {f"u{at}": {item: float(rng.integers(0, 3)) for item in items} for at in range(6)}
    names = ["drama", "noir", "war"]
    aspects = {item: [name for name in names if rng.random() < 0.5] or ["war"] for item in items}
    return World(train, test, scores, aspects, {item: float(rng.choice([0.25, 0.5, 0.8])) for item in items}, 3.0)


def table(part: Mapping[str, Mapping[str, float]]) -> pl.DataFrame:
    rows = [(user, item, value) for user, own in part.items() for item, value in own.items()]
    return pl.DataFrame(rows, schema=KINDS, orient="row")


def item_table(world: World) -> pl.DataFrame:
    return pl.DataFrame({"item": world.items, "aspects": ["|".join(world.aspects[i]) for i in world.items]})


def parts_of(world: World, how: str) -> Parts:
    side = item_table(world)
    logs = [Interactions.of(table(part), items=side) for part in (world.train, world.test)]
    return Parts(*logs, how={"how": how})


def score_matrix(world: World) -> np.ndarray:
    return np.array([[world.scores[user][item] for item in world.items] for user in world.users])


def propensity_table(world: World) -> pl.DataFrame:
    return pl.DataFrame({"item": list(world.propensity), "p": list(world.propensity.values())})


def lists_of(world: World, *, seen: bool) -> dict[str, Blocks]:
    """Lists of two to four items, best scores first: none for u3, the whole target set for u5."""
    lists = {}
    for at, user in enumerate(world.users):
        barred = () if seen else world.train.get(user, ())
        blocks = blocks_of((item for item in world.items if item not in barred), world.scores[user])
        ranked = [item for block in blocks for item in block]
        if user != "u3":
            lists[user] = blocks_of(ranked if user == "u5" else ranked[: 2 + at % 3], world.scores[user])
    return lists


def run_table(world: World, lists: Mapping[str, Blocks]) -> pl.DataFrame:
    rows = [(user, item, world.scores[user][item]) for user, own in lists.items() for block in own for item in block]
    return pl.DataFrame(rows, schema={"user": pl.String, "item": pl.String, "score": pl.Float64}, orient="row")
