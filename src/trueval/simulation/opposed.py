"""The kind "opposed": the least liked items get the most ratings (Mena-Maldonado et al. 2020, §5.5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trueval.data.interactions import Interactions
from trueval.errors import DefinitionError, suggest
from trueval.simulation.by_topics import ByTopics
from trueval.simulation.latent import kept_share, latent_world, observed_world
from trueval.simulation.like import fitted_world
from trueval.simulation.observation import MOST, ByPopularity, at_most
from trueval.simulation.pair_draws import coins
from trueval.simulation.periods import ByPeriods, TimesInPeriods
from trueval.simulation.self_selection import BySelfSelection
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
    if not isinstance(seen, (ByPopularity, ByPeriods)):
        raise DefinitionError(
            "popularity cannot be dealt anew in this world", found=f"a world of kind {world.kind}",
            do=suggest(world.kind, ("world", "like")),
        )  # fmt: skip
    items = len(world.items)
    place = np.empty(items)
    place[np.lexsort((np.arange(items), liked_shares(world)))] = (np.arange(items) + 0.5) / items
    chance = ndtri(np.maximum(coins(world.seed, "opposed", items), 2.0**-54))
    against = -strength * ndtri(place) + np.sqrt(1 - strength**2) * chance
    giver = np.empty(items, np.int64)  # whose popularity each item gets
    giver[np.lexsort((np.arange(items), -against))] = np.argsort(-seen.weight, kind="stable")
    options = {"strength": strength, **world.options}
    options.pop("alignment", None)
    if isinstance(seen, ByPeriods):
        return _dealt(replace(world, kind="opposed", options=options, drawn=None, fit=None), seen, giver)
    return observed_world(
        "opposed", world.tastes, weight=seen.weight[giver], kept=world.kept, times=world.times,
        per_user=seen.rows_of_users() * world.kept_share, user_table=world.user_table, item_table=world.item_table,
        threshold=world.threshold, seed=world.seed, options=options,
        self_selection=seen.strength if isinstance(seen, BySelfSelection) else 0.0,
    )  # fmt: skip


def _dealt(world: World, seen: ByPeriods, giver: np.ndarray) -> World:
    """The world with the popularity of each item, in all periods, from its giver; users have as many rows as before."""
    times = world.times
    dealt, share = replace(seen, weights=np.ascontiguousarray(seen.weights[giver]), seed=world.seed), world.kept_share
    topics = isinstance(seen, ByTopics)  # without them, sums over items are the same whoever has which weights
    rows = (seen if topics else dealt).rows_of_users() * share
    for _ in range(3 if min(world.kept) < 1 else int(topics)):  # what enters depends on who is met
        share = kept_share(world.tastes, world.kept, dealt, times, world.seed) if min(world.kept) < 1 else share
        dealt = dealt.for_rows(at_most(rows / share, 0.9 * MOST * len(dealt.weights)))
    if isinstance(times, TimesInPeriods):
        times = replace(times, activities=dealt.activities, weights=dealt.weights)
    return replace(world, seen=dealt, times=times, kept_share=share)


def liked_shares(world: World, *, users: int | None = None) -> np.ndarray:
    """The share of users who would like each item: of all, or of as many as make two million pairs."""
    number = min(len(world.users), users or max(50, _ASKED // len(world.items)))
    chosen = np.argsort(coins(world.seed, "asked", len(world.users)), kind="stable")[:number]
    total = np.zeros(len(world.items))
    every = np.arange(len(world.items))
    for part in np.array_split(chosen, max(1, number * len(world.items) // _ASKED)):
        total += world.tastes.liked(part[:, None], every, threshold=world.threshold).sum(axis=0)
    return total / number
