"""The world of the demo: a fixed number of items of each user, drawn by popularity and by what the user likes.

Every user has a row, as tutorials need it; the price is that the probability of a pair has no closed form. Worlds of
`trueval.simulate` have one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from trueval.data.interactions import Interactions
from trueval.errors import DefinitionError
from trueval.kernels import blocks
from trueval.kernels.seeds import derive
from trueval.simulation.side_tables import (
    END,
    draw_factors,
    draw_genres,
    draw_providers,
    draw_starts,
    draw_titles,
    name_genres,
    name_groups,
    number_ids,
)  # fmt: skip
from trueval.simulation.tastes import Tastes
from trueval.simulation.world import World

__all__ = ["World", "make_world"]


def make_world(
    *,
    users: int = 1000,
    items: int = 500,
    interactions: int | None = None,
    popularity: float = 1.0,
    noise: float = 0.7,
    choice: float = 1.3,
    alignment: float = 0.3,
    genres: int = 8,
    providers: int = 5,
    groups: Sequence[float] = (0.7, 0.3),
    seed: int = 0,
) -> World:
    """Draw a world: tastes, items, and a log of about `interactions` rows (default: a twentieth of all pairs).

    A pair is observed with a chance ∝ attractiveness^`popularity` · exp(`choice` · true value), so 0 for both is a
    uniform sample. `noise` is the spread of given values around the true ones; `alignment` ties
    quality to attractiveness (negative: the popular is worse). `groups` are the shares of the user groups A, B…,
    each less active than the one before and with a taste of its own.

    >>> world = make_world(users=50, items=40, seed=1)
    >>> world.log.frame.columns, world.log.items.columns
    (['user', 'item', 'value', 'time'], ['item', 'title', 'aspects', 'provider', 'released'])
    """
    _check(users, items, interactions, genres=genres, providers=providers, groups=len(groups))
    rng = np.random.default_rng(int(derive(seed, "world")))
    has_genre = draw_genres(rng, items, genres)
    group = rng.choice(len(groups), size=users, p=np.asarray(groups) / np.sum(groups))
    attractive = rng.permutation((0.04 * items + np.arange(1, items + 1)) ** -1.6)  # a shifted power law
    tastes = Tastes(*draw_factors(rng, has_genre, group, attractive, alignment), noise=0.0, seed=seed)
    released, joined = draw_starts(rng, items, users)
    per_user = _activity(rng, group, items, interactions or max(users, users * items // 20))
    user, item, true = _observe(rng, tastes, popularity * np.log(attractive), choice=choice, per_user=per_user)
    value = np.clip(np.rint(true + noise * rng.standard_normal(len(true))), 1, 5)
    earliest = np.maximum(released[item], joined[user])
    time = earliest + ((END - earliest) * rng.random(len(user)) ** 1.3).astype(np.int64)  # interest fades
    user_ids, item_ids = number_ids("u", users), number_ids("i", items)
    provider = draw_providers(rng, items, providers)
    log = Interactions.of(
        pl.DataFrame({"user": user_ids.decode(user), "item": item_ids.decode(item), "value": value, "time": time})
        .sort("time", "user", "item"),
        name="world",
        users=pl.DataFrame({"user": user_ids.values, "group": name_groups(group)}),
        items=pl.DataFrame({
            "item": item_ids.values, "title": draw_titles(rng, items), "aspects": name_genres(has_genre),
            "provider": provider, "released": released,
        }),
    )  # fmt: skip
    assert log.users is not None
    assert log.items is not None
    return World("demo", tastes, user_ids, item_ids, 4.0, None, log.users, log.items, drawn=log)


def _check(users: int, items: int, interactions: int | None, **others: int) -> None:
    for name, number, least in (("users", users, 1), ("items", items, 2), *((*other, 1) for other in others.items())):
        if number < least:
            raise DefinitionError(f"a world needs more {name}", found=f"{number}", do=f"ask for at least {least}")
    if interactions is not None and not users <= interactions <= users * items / 2:
        raise DefinitionError(
            "this many interactions cannot be drawn: each user needs one, and at most half of all pairs are observed",
            found=f"{interactions:,} interactions of {users:,} users and {items:,} items",
            do=f"ask for {users:,} to {users * items // 2:,} interactions",
        )


def _activity(rng: np.random.Generator, group: np.ndarray, items: int, interactions: int) -> np.ndarray:
    """Interactions of each user: log-normal, later groups less active, at least 1 and at most 80 % of the items."""
    weight = rng.lognormal(0.0, 0.8, len(group)) / (1 + 0.6 * group)
    scale = interactions / weight.sum()
    for _ in range(20):  # what the limits take from some users goes to the others
        number = np.clip(np.rint(weight * scale), 1, int(0.8 * items))
        scale *= interactions / number.sum()
    return number.astype(np.int64)


def _observe(
    rng: np.random.Generator, tastes: Tastes, appeal: np.ndarray, *, choice: float, per_user: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw each user's items without replacement: in a race of exponential clocks the first ones are observed."""
    found = []
    for part in blocks(len(per_user), 256):
        true = tastes.means(np.arange(part.start, part.stop)[:, None], np.arange(len(appeal)))
        drawn = np.maximum(rng.standard_exponential(true.shape, dtype=np.float32), np.finfo(np.float32).tiny)
        clock = np.log(drawn) - choice * true - appeal.astype(np.float32)
        last = np.take_along_axis(np.sort(clock, axis=1), per_user[part, None] - 1, axis=1)
        user, item = np.nonzero(clock <= last)
        found.append((user + part.start, item, true[user, item]))
    return tuple(np.concatenate(column) for column in zip(*found))  # type: ignore[return-value]
