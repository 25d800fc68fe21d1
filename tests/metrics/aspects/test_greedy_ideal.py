"""The greedy ideal of αβ-nDCG is that of a full scan over every single target, to the last bit and in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

from trueval.data.aspects import Aspects
from trueval.kernels import aspects as compiled
from trueval.kernels import plain_aspects as plain
from trueval.kernels.aspect_rows import LESS, NEAR_ONE, AspectLists, ItemAspects, Owned, Pool, Rated

USERS = 8
Sets = list[list[int]]


@dataclass
class World:
    """What the greedy order of a few users depends on; `rated` holds the chance of each rated item."""

    has: Sets
    weight: np.ndarray
    rated: list[dict[int, float]]
    barred: list[list[int]]
    alpha: float
    k: int


def draw(seed: int, sets: Sets, *, alpha: float, chances: tuple[float, ...], k: int, rated: int, number: int) -> World:
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(len(sets)) for _ in range(USERS)]
    # few values for every other user, hence many ties; some aspects are of no interest
    interest = rng.integers(0, np.where(np.arange(USERS) % 2, 4, 60)[:, None], (USERS, number)).astype(float)
    return World(
        sets,
        interest,
        [{int(i): float(rng.choice(chances)) for i in order[: rng.integers(0, rated + 1)]} for order in orders],
        [sorted(order[rated : rated + rng.integers(0, 8)].tolist()) for order in orders],
        alpha,
        k,
    )


def some(rng: np.random.Generator, items: int, number: int, low: int, high: int) -> Sets:
    return [sorted(rng.choice(number, rng.integers(low, high + 1), replace=False).tolist()) for _ in range(items)]


def alike(rng: np.random.Generator) -> Sets:
    few = some(rng, 3, 7, 1, 4)
    return [few[n] for n in rng.integers(0, 3, 90)]


STARS = (0.1, 0.2, 0.3, 0.4, 0.5)
# number of aspects, sets of aspects, alpha, chances of rated items, cutoff, rated items at most
WORLDS: dict[str, tuple[int, Callable[[np.random.Generator], Sets], float, tuple[float, ...], int, int]] = {
    "usual": (9, lambda rng: some(rng, 90, 9, 1, 5), 0.005, STARS, 40, 12),
    "identical sets": (7, alike, 0.005, STARS, 60, 12),
    "one aspect each": (5, lambda rng: some(rng, 80, 5, 1, 1), 0.005, STARS, 40, 12),
    "without aspects": (9, lambda rng: some(rng, 80, 9, 0, 2), 0.005, STARS, 60, 20),
    "whole chunks": (14, lambda rng: some(rng, 60, 14, 6, 6) + some(rng, 30, 14, 12, 12), 0.005, STARS, 40, 12),
    "several chunks, all different": (40, lambda rng: some(rng, 90, 40, 5, 30), 0.005, STARS, 40, 12),
    "no unrated item gains": (9, lambda rng: some(rng, 60, 9, 1, 4), 0.0, STARS, 40, 20),
    "only unrated items gain": (9, lambda rng: some(rng, 60, 9, 1, 4), 0.01, (0.0,), 40, 20),
    "nothing gains": (9, lambda rng: some(rng, 60, 9, 1, 4), 0.0, (0.0,), 10, 20),
    "fewer targets than places": (9, lambda rng: some(rng, 30, 9, 1, 4), 0.005, STARS, 60, 12),
    "interest used up": (9, lambda rng: some(rng, 60, 9, 1, 4), 0.3, (1.0, 0.5), 40, 20),
    "interest nearly used up": (12, lambda rng: some(rng, 300, 12, 1, 5), 0.5, STARS, 150, 12),
    "unrated before rated": (9, lambda rng: some(rng, 90, 9, 1, 5), 0.6, STARS, 20, 12),
}


def full_scan(world: World, u: int) -> float:
    """DCG of the greedy order, with the gain of every target worked out at every place."""
    weight = world.weight[u]
    left = (weight / weight.sum() if weight.sum() > 0 else np.full(len(weight), 1 / len(weight))).tolist()
    waiting = {i: world.alpha for i in range(len(world.has)) if i not in world.barred[u]} | world.rated[u]
    total = 0.0
    for place in range(1, world.k + 1):
        gains = {}
        for i, chance in waiting.items():
            none = 1.0
            for a in world.has[i]:
                none *= 1.0 - chance * left[a]
            gains[i] = 1.0 - none
        best = max(gains.values(), default=0.0)
        if best <= 0.0:
            break
        chosen = min(i for i, gain in gains.items() if gain > 0.0 and gain >= best * LESS - NEAR_ONE)
        total += 1 / np.log2(place + 1) * gains[chosen]
        for a in world.has[chosen]:
            left[a] *= 1.0 - waiting[chosen]
        del waiting[chosen]
    return total


def ideals(kernels: object, world: World, *, first: int = 0, shuffle: int | None = None) -> np.ndarray:
    """What a kernel finds for users from `first` on; groups and rated items in some other order with `shuffle`."""
    number, items = world.weight.shape[1], len(world.has)
    pairs = [(i, a) for i, members in enumerate(world.has) for a in members]
    # one item per aspect, which nobody is offered, gives the profile that weighs it
    pairs += [(items + a, a) for a in range(number)]
    names = pl.Series([f"{a:03}" for _, a in pairs], dtype=pl.String)
    sets = Aspects.of(np.array([i for i, _ in pairs]), names, n_items=items + number).sets
    rng = np.random.default_rng(shuffle)
    groups = np.unique(sets.of_item[:items][sets.of_item[:items] > 0])
    groups = groups if shuffle is None else rng.permutation(groups)
    members = [np.flatnonzero(sets.of_item[:items] == s) for s in groups]
    rated = [list(own.items()) for own in world.rated]
    for own in rated:
        if shuffle is not None:
            rng.shuffle(own)
    rows = [row for own in rated for row in own]
    pool = Pool(
        np.zeros(USERS, np.int64), np.full(USERS, len(groups)), groups.astype(np.int32),
        _starts(members), np.concatenate(members).astype(np.int32), sets.node[groups], sets.parent, sets.added,
        int(np.diff(sets.start).max()),
    )  # fmt: skip
    weighed = np.tile(np.arange(items, items + number, dtype=np.int32), USERS)
    profile = Owned(np.arange(USERS), np.arange(USERS + 1) * number, weighed, world.weight.ravel())
    seen = np.array([i for own in world.barred for i in own], np.int32)
    barred = Owned(np.arange(USERS), _starts(world.barred), seen, np.empty(0))
    judged = Rated(
        _starts(rated), np.array([i for i, _ in rows], np.int32), np.array([p for _, p in rows], float),
        np.ones(len(rows), bool),
    )  # fmt: skip
    nothing = AspectLists(np.zeros(USERS + 1, np.int64), np.empty(0, np.int32), np.empty(0, bool))
    discount = np.concatenate([[0.0], [1 / np.log2(place + 1) for place in range(1, world.k + 1)]])
    found = np.full(USERS, np.nan)
    kernels.unified(  # type: ignore[attr-defined]
        ItemAspects(sets.of_item, sets.start, sets.aspect, number), nothing, judged, profile, pool, barred, world.alpha,
        discount, first, USERS, np.zeros(USERS), found,
    )  # fmt: skip
    return found


def _starts(parts: list) -> np.ndarray:
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", WORLDS)
def test_the_greedy_order_is_that_of_a_full_scan(name: str, seed: int):
    number, sets, alpha, chances, k, rated = WORLDS[name]
    world = draw(seed, sets(np.random.default_rng(seed)), alpha=alpha, chances=chances, k=k, rated=rated, number=number)
    wanted = np.array([full_scan(world, u) for u in range(USERS)])
    assert (wanted == 0).all() == (name == "nothing gains")
    for kernels in (compiled, plain):
        np.testing.assert_array_equal(ideals(kernels, world), wanted, err_msg=kernels.__name__)
        np.testing.assert_array_equal(ideals(kernels, world, shuffle=seed), wanted, err_msg=kernels.__name__)
        # what was learnt from the units before changes nothing
        np.testing.assert_array_equal(ideals(kernels, world, first=5)[5:], wanted[5:], err_msg=kernels.__name__)
