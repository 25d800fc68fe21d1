"""The kind "world": tastes for genres and quality of items, observed by popularity and by what is liked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from trueval.arguments import checked
from trueval.data.ids import Ids
from trueval.errors import DefinitionError
from trueval.kernels.seeds import derive
from trueval.memory import need_memory
from trueval.simulation.observation import MOST, ByPopularity, activity_for, at_most, log_normal_activity
from trueval.simulation.periods import ByPeriods
from trueval.simulation.self_selection import self_selected
from trueval.simulation.side_tables import (
    draw_factors,
    draw_genres,
    draw_providers,
    draw_starts,
    draw_titles,
    name_genres,
    name_groups,
)  # fmt: skip
from trueval.simulation.tastes import Tastes
from trueval.simulation.times import Times, Timing
from trueval.simulation.world import World

_CLOSE = 0.999999  # correlations nearer to 1 are taken as 1


@checked
def latent_world(
    *,
    users: int = 1000,
    items: int = 500,
    ratings: int | None = None,
    gamma: float = 1.0,
    value_bias: float = 0.5,
    self_selection: float = 0.0,
    alignment: float = 0.3,
    alpha: float = 1.6,
    taste: float = 1.0,
    noise: float = 0.7,
    drift: float = 0.0,
    fade: float = 1.3,
    genres: int = 8,
    providers: int = 5,
    groups: Sequence[float] = (0.7, 0.3),
    threshold: float = 4.0,
    seed: int = 0,
) -> World:
    """A world with complete known relevance (see `simulate` for the options).

    >>> world = latent_world(users=50, items=40, seed=1)
    >>> world.log.frame.columns, world.item_table.columns
    (['user', 'item', 'value', 'time'], ['item', 'title', 'aspects', 'provider', 'released'])
    """
    options = {name: value for name, value in locals().items() if name not in ("seed", "ratings")}
    number = ratings if ratings is not None else max(users, users * items // 20)
    check_size(users, items, number)
    _check(alignment=alignment, noise=noise, alpha=alpha, fade=fade, taste=taste, drift=drift, gamma=gamma,
           genres=genres, providers=providers, groups=groups, value_bias=value_bias,
           self_selection=self_selection)  # fmt: skip
    rng = np.random.default_rng(int(derive(seed, "latent world")))
    has_genre = draw_genres(rng, items, genres)
    group = rng.choice(len(groups), size=users, p=np.asarray(groups) / np.sum(groups))
    attractive = rng.permutation((0.04 * items + np.arange(1, items + 1)) ** -alpha)
    slope = alignment / np.sqrt(max(1 - alignment**2, 0)) if abs(alignment) < _CLOSE else np.sign(alignment) * 1e9
    factors = draw_factors(rng, has_genre, group, attractive, slope, taste=taste)
    trend = (drift * rng.standard_normal(items)).astype(np.float32) if drift else None
    tastes = Tastes(*factors, noise=noise, seed=seed, trend=trend)
    released, joined = draw_starts(rng, items, users)
    times = Times(released, joined, fade=fade, seed=seed)
    user_table = pl.DataFrame({"user": np.arange(1, users + 1), "group": name_groups(group)})
    table = pl.DataFrame({
        "item": np.arange(1, items + 1), "title": draw_titles(rng, items), "aspects": name_genres(has_genre),
        "provider": draw_providers(rng, items, providers), "released": released,
    })  # fmt: skip
    per_user = log_normal_activity(
        users, number / users, spread=0.8, most=most_rows(items), seed=seed, factor=1 / (1 + 0.6 * group)
    )
    weight = (attractive / attractive.max()) ** gamma
    return observed_world(
        "world", tastes, weight=weight / weight.max(), per_user=per_user, kept=kept_by_value(value_bias, 5),
        times=times, user_table=user_table, item_table=table, threshold=threshold, seed=seed,
        self_selection=self_selection, options={"ratings": number, **options},
    )  # fmt: skip


def observed_world(
    kind: str, tastes: Tastes, *, weight: np.ndarray, per_user: np.ndarray, kept: tuple[float, ...],
    times: Timing | None, user_table: pl.DataFrame, item_table: pl.DataFrame, threshold: float, seed: int,
    options: Mapping[str, Any], self_selection: float = 0.0,
) -> World:  # fmt: skip
    """A world whose pairs are met by activity, popularity and self-selection, and enter the log by their value.

    `per_user` rows are expected of each user, after the ratings that do not enter.
    """

    def met_by(number: np.ndarray) -> ByPopularity:
        if self_selection:
            return self_selected(number, weight, tastes, strength=self_selection, seed=seed)
        return ByPopularity(activity_for(number, weight), weight, seed)

    share, seen = 1.0, met_by(per_user)
    for _ in range(3 if min(kept) < 1 else 0):  # who meets more meets less popular items, too
        share = kept_share(tastes, kept, seen, times, seed)
        seen = met_by(at_most(per_user / share, 0.9 * MOST * len(weight)))
    return World(
        kind, tastes, Ids(user_table["user"].alias("")), Ids(item_table["item"].alias("")), threshold, seen, user_table,
        item_table, kept=kept, kept_share=share, times=times, options=options,
    )  # fmt: skip


def most_rows(items: int) -> float:
    """The most rows that a user has on average."""
    return max(1.0, 0.6 * items)


def kept_by_value(value_bias: float, levels: int) -> tuple[float, ...]:
    """The probability that a rating enters the log: e^-bias less for each level below the best; the best always does.

    A negative bias makes the worst enter most.

    >>> [round(p, 3) for p in kept_by_value(0.5, 3)], [round(p, 3) for p in kept_by_value(-0.5, 3)]
    ([0.368, 0.607, 1.0], [1.0, 0.607, 0.368])
    """
    place = np.arange(levels)
    return tuple(float(p) for p in np.exp(value_bias * (place - (levels - 1 if value_bias >= 0 else 0))))


def kept_share(
    tastes: Tastes, kept: Sequence[float], seen: ByPopularity | ByPeriods, times: Timing | None, seed: int
) -> float:
    """The share of met pairs that enters the log, estimated from 40,000 of them."""
    rng = np.random.default_rng(int(derive(seed, "share kept")))
    user, item, met = seen.likely(rng, 40_000)
    at: Any = 1.0 if times is None else times.relative(times.of(user, item))
    return max(float((met * (tastes.shares(user, item, at=at) @ np.asarray(kept))).sum() / met.sum()), 1e-6)


def check_size(users: int, items: int, ratings: int) -> None:
    """Refuse a world without users or items, or with more ratings than can be drawn."""
    for name, number, least in (("users", users, 1), ("items", items, 2)):
        if number < least:
            raise DefinitionError(f"a world needs more {name}", found=f"{number}", do=f"ask for at least {least}")
    size = 400.0 * (users + items)  # factors, activities, weights, times, and the tables of both
    need_memory(size, f"{users:,} users and {items:,} items", do="make a smaller world")
    if not 1 <= ratings <= users * items / 2:
        raise DefinitionError(
            "so many ratings cannot be drawn: at most half of all pairs are observed",
            found=f"{ratings:,} ratings of {users:,} users and {items:,} items",
            do=f"ask for 1 to {users * items // 2:,} ratings",
        )


def _check(
    *, alignment: float, noise: float, genres: int, providers: int, groups: Sequence[float], fade: float, taste: float,
    alpha: float, drift: float, gamma: float, value_bias: float, self_selection: float,
) -> None:  # fmt: skip
    allowed = {
        "alignment": (alignment, -1, 1), "noise": (noise, 0, 10), "fade": (fade, 0.1, 10), "taste": (taste, 0, 10),
        "alpha": (alpha, 0, 4), "drift": (drift, 0, 10), "gamma": (gamma, -4, 4), "value_bias": (value_bias, -4, 4),
        "genres": (genres, 1, 1000), "providers": (providers, 1, 10**6), "self_selection": (self_selection, 0, 4),
    }  # fmt: skip
    for name, (value, low, high) in allowed.items():
        if not low <= value <= high:
            raise DefinitionError(
                f"{name} must be from {low:g} to {high:g}", found=f"{value!r}", do="see tv.simulate for its meaning"
            )
    shares = np.asarray(groups, float)
    if shares.ndim != 1 or not len(shares) or (shares < 0).any() or not 0 < shares.sum() < np.inf:
        raise DefinitionError(
            "groups are the shares of user groups", found=repr(groups), do="for example groups=(0.7, 0.3)"
        )
