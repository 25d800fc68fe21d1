"""The kind "opposed": the least liked items get the most ratings (Mena-Maldonado et al. 2020, §5.5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueval.data.interactions import Interactions
from trueval.errors import DefinitionError, suggest
from trueval.simulation.latent import latent_world, observed_world
from trueval.simulation.like import fitted_world
from trueval.simulation.observation import ByPopularity, sum_of_least
from trueval.simulation.pair_draws import coins
from trueval.simulation.world import World

_ASKED = 2_000_000  # pairs from which the share of users who like an item is taken


def opposed_world(data: Interactions | None = None, *, strength: float = 1.0, seed: int = 0, **options: Any) -> World:
    """A world whose popularity is dealt anew: the k-th most popular place goes to the k-th least liked item.

    The distribution of ratings over items, the activity of users and all tastes stay. With `data` the world is one
    fitted to it (kind "like"), else one of kind "world"; `options` are theirs. Below 1, `strength` mixes the order
    with chance.

    >>> world = opposed_world(users=200, items=50, seed=1)
    >>> counts = world.log.frame.group_by("item").len().sort("item")["len"].to_numpy()
    >>> bool(np.corrcoef(counts, liked_shares(world))[0, 1] < -0.5)
    True
    """
    if not 0 <= strength <= 1:
        raise DefinitionError("strength must be from 0 to 1", found=f"{strength!r}", do="1 opposes as far as possible")
    if "alignment" in options:
        raise DefinitionError(
            "alignment cannot be set in an opposed world", found=f"alignment = {options['alignment']!r}",
            do='leave it out, or make a "world" with a negative alignment',
        )  # fmt: skip
    base = (
        latent_world(alignment=0.0, seed=seed, **options) if data is None else fitted_world(data, seed=seed, **options)
    )
    return oppose(base, strength=strength)


def oppose(world: World, *, strength: float = 1.0) -> World:
    """The same world with its popularity dealt against what is liked."""
    from scipy.special import ndtri

    seen = world.seen
    if not isinstance(seen, ByPopularity):
        raise DefinitionError(
            "popularity cannot be dealt anew in this world", found=f"a world of kind {world.kind}",
            do=suggest(world.kind, ("world", "like")),
        )  # fmt: skip
    items = len(world.items)
    place = np.empty(items)
    place[np.lexsort((np.arange(items), liked_shares(world)))] = (np.arange(items) + 0.5) / items
    chance = ndtri(np.maximum(coins(world.seed, "opposed", items), 2.0**-54))
    against = -strength * ndtri(place) + np.sqrt(1 - strength**2) * chance
    weight = np.empty(items)
    weight[np.lexsort((np.arange(items), -against))] = np.sort(seen.weight)[::-1]
    options = {name: value for name, value in world.options.items() if name != "alignment"}
    return observed_world(
        "opposed", world.tastes, weight=weight, per_user=sum_of_least(seen.activity, seen.weight) * world.kept_share,
        kept=world.kept, times=world.times, user_table=world.user_table, item_table=world.item_table,
        threshold=world.threshold, seed=world.seed, options={"strength": strength, **options},
    )  # fmt: skip


def liked_shares(world: World, *, users: int | None = None) -> np.ndarray:
    """The share of users who would like each item: of all, or of as many as make two million pairs."""
    number = min(len(world.users), users or max(50, _ASKED // len(world.items)))
    chosen = np.argsort(coins(world.seed, "asked", len(world.users)), kind="stable")[:number]
    total = np.zeros(len(world.items))
    every = np.arange(len(world.items))
    for part in np.array_split(chosen, max(1, number * len(world.items) // _ASKED)):
        total += world.tastes.liked(part[:, None], every, threshold=world.threshold).sum(axis=0)
    return total / number
