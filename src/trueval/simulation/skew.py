"""The kind "skew": ratings skewed by popularity, with no preference in them (Bellogín et al. 2017, §5.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from trueval.arguments import checked
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.data.power_law import fit_power_law
from trueval.errors import DefinitionError
from trueval.memory import need_memory
from trueval.simulation.observation import ByCounts
from trueval.simulation.pair_draws import shuffled
from trueval.simulation.rating_counts import curve_of_size, expected_counts, whole_counts
from trueval.simulation.side_tables import BEGIN
from trueval.simulation.tastes import Tastes
from trueval.simulation.times import Times
from trueval.simulation.world import World

PRIOR = {1.0: 0.05, 2.0: 0.10, 3.0: 0.25, 4.0: 0.35, 5.0: 0.25}


@checked
def skewed_world(
    data: Interactions | None = None,
    *,
    alpha: float = 1.4,
    users: int | None = None,
    items: int | None = None,
    ratings: int | None = None,
    c1: float | None = None,
    c2: float | None = None,
    prior: Mapping[float, float] | None = None,
    threshold: float | None = None,
    seed: int = 0,
) -> World:
    """Ratings whose number per item follows |R(i_k)| = c1 + β (c2 + k)^(-α), and whose values are drawn from a prior.

    With `data`, size, prior, c1 and c2 are those of the data where they are not given.

    >>> world = skewed_world(alpha=0, users=100, items=50, ratings=500)
    >>> world.log.frame.group_by("item").len()["len"].unique().to_list()
    [10]
    """
    if not 0 <= alpha <= 4:
        raise DefinitionError("alpha must be from 0 to 4", found=f"{alpha!r}", do="1.4 is that of MovieLens 1M")
    size = _size_of(data, users, items, ratings, c1, c2)
    users, items, number = int(size["users"]), int(size["items"]), int(size["ratings"])
    law = curve_of_size(items, number, users=users, alpha=alpha, c1=size["c1"], c2=size["c2"])
    counts = whole_counts(expected_counts(law, items, users))
    place = shuffled(seed, "popularity", np.zeros(items, np.int64), np.arange(items), items)
    values = prior_of(data) if prior is None else dict(prior)
    tastes = by_prior(values, users, items, seed)
    item_ids, user_ids = (Ids(pl.int_range(1, n + 1, eager=True).alias("")) for n in (items, users))
    limit = _threshold(values) if threshold is None else threshold
    options = {"alpha": alpha, "beta": law.beta, "c1": law.c1, "c2": law.c2, "prior": values, **size}
    return World(
        "skew", tastes, user_ids, item_ids, limit, ByCounts(counts[place], users, seed),
        user_ids.values.alias("user").to_frame(), item_ids.values.alias("item").to_frame(),
        kept=(1.0,) * len(tastes.levels),
        times=Times(np.full(items, BEGIN), np.full(users, BEGIN), fade=1.0, seed=seed), options=options,
    )  # fmt: skip


def by_prior(prior: Mapping[float, float], users: int, items: int, seed: int) -> Tastes:
    """Tastes without taste: every rating is a draw from the prior, and independent of user and item."""
    from scipy.special import ndtri

    levels = tuple(sorted(float(value) for value in prior))
    shares = np.array([prior[value] for value in levels], float)
    if len(levels) < 1 or not np.isfinite(shares).all() or (shares < 0).any() or shares.sum() <= 0:
        raise DefinitionError(
            "a prior gives each rating its share", found=repr(dict(prior)), do="for example {1: 0.2, 5: 0.8}"
        )
    cuts = ndtri(np.cumsum(shares / shares.sum())[:-1])
    blank = np.zeros((users, 1), np.float32), np.zeros((items, 1), np.float32)
    return Tastes(*blank, levels=levels, cuts=tuple(cuts), noise=1.0, seed=seed)


def prior_of(data: Interactions | None) -> dict[float, float]:
    """The share of each rating value in a log; 1 for all where it has none.

    >>> prior_of(Interactions.of(pl.DataFrame({"user": [1, 2], "item": [1, 1], "value": [4, 5]})))
    {4.0: 0.5, 5.0: 0.5}
    """
    if data is None:
        return dict(PRIOR)
    if not data.has("value"):
        return {1.0: 1.0}
    found = data.frame["value"].value_counts().sort("value")
    if len(found) > 100:
        raise DefinitionError(
            "a prior needs ratings of a scale", found=f"{len(found):,} different values",
            do="round them, or leave the value column out",
        )  # fmt: skip
    return {float(value): count / len(data) for value, count in found.iter_rows()}


def _threshold(prior: Mapping[float, float]) -> float:
    """The rating from which an item is relevant: 4 of 5 stars, or what about the better half reaches."""
    levels = sorted(prior)
    return 4.0 if levels == [1, 2, 3, 4, 5] else levels[(3 * len(levels)) // 5]


def _size_of(
    data: Interactions | None, users: int | None, items: int | None, ratings: int | None, c1: float | None,
    c2: float | None,
) -> dict[str, Any]:  # fmt: skip
    if data is not None:
        pairs = data.frame.select("user", "item").unique()
        counts = pairs.group_by("item").len()["len"].to_numpy()
        law = fit_power_law(counts)
        own: dict[str, float] = {"users": data.n_users, "items": data.n_items, "ratings": len(pairs)}
        n = items or own["items"]
        own |= {"c1": min(max(law.c1, 0.0), 0.9 * (ratings or own["ratings"]) / n), "c2": law.c2}
    else:
        n = items if items is not None else 500
        u = users if users is not None else 1000
        own = {"users": u, "items": n, "ratings": max(1, u * n // 20), "c1": 0.0, "c2": 0.02 * n}
    asked = {"users": users, "items": items, "ratings": ratings, "c1": c1, "c2": c2}
    found = own | {name: value for name, value in asked.items() if value is not None}
    for name, least in (("users", 1), ("items", 2)):
        if found[name] < least:
            raise DefinitionError(f"a world needs more {name}", found=f"{found[name]}", do=f"ask for at least {least}")
    size = 200.0 * (found["users"] + found["items"])
    need_memory(size, f"{found['users']:,} users and {found['items']:,} items", do="make a smaller world")
    if not found["c2"] > -1:
        raise DefinitionError("c2 must be above -1", found=f"{found['c2']:g}", do="0 or more is usual")
    if found["c2"] > 1e9:  # all items have nearly the same number long before, and powers of more overflow
        raise DefinitionError("c2 must be at most 1e9", found=f"{found['c2']:g}", do="the number of items is large")
    return found
