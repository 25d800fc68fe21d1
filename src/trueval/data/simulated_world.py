"""Synthetic worlds: a log as biased as a real one, and the complete preferences behind it.

Tastes for genres and the quality of items make the true value of each pair. What is observed is another matter:
people meet popular items and pick what they like. Here the rest is known too, so true values of metrics exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.errors import DataError, DefinitionError
from trueval.kernels import blocks
from trueval.kernels.seeds import derive

Names = Sequence[str] | pl.Series | np.ndarray
Factors = tuple[np.ndarray, np.ndarray]

_BEGIN, _END = 1_672_531_200, 1_735_603_200  # 2023-01-01 to 2024-12-31, in seconds
_GENRES = ("drama", "comedy", "thriller", "romance", "science fiction", "animation", "documentary", "western")
_FIRST = "Silent Golden Last Hidden Broken Distant Paper Winter Electric Borrowed Crooked Second Salt Velvet"
_SECOND = "Harbour Garden Letter Orbit River Summer Machine Witness Island Mirror Parade Frontier Echo Recipe"


@dataclass(frozen=True)
class World:
    """A log, and the preferences it was drawn from.

    The true value of a pair, what the user would give the item on average, is the inner product of their factors.

    >>> world = make_world(users=20, items=30, interactions=200)
    >>> world.true_values(["u0002", "u0001"], ["i0003"]).shape
    (2, 1)
    """

    log: Interactions
    users: Ids = field(repr=False)  # rows of user_factors
    items: Ids = field(repr=False)
    user_factors: np.ndarray = field(repr=False)
    item_factors: np.ndarray = field(repr=False)

    @property
    def relevance(self) -> np.ndarray:
        """The true value of every pair: users × items, float32."""
        return _products(self.user_factors, self.item_factors)

    def true_values(self, users: Names, items: Names | None = None) -> np.ndarray:
        """True values of some users (rows) for some items (columns; all of them if none are named)."""
        rows = _codes(self.users, users)
        columns = slice(None) if items is None else _codes(self.items, items)
        return _products(self.user_factors[rows], self.item_factors[columns])


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
    has_genre = _draw_genres(rng, items, genres)
    group = rng.choice(len(groups), size=users, p=np.asarray(groups) / np.sum(groups))
    attractive = rng.permutation((0.04 * items + np.arange(1, items + 1)) ** -1.6)  # a shifted power law
    factors = _factors(rng, has_genre, group, attractive, alignment)
    released = _BEGIN + ((_END - _BEGIN) * np.maximum(rng.uniform(-1.5, 0.9, items), 0)).astype(np.int64)
    joined = _BEGIN + ((_END - _BEGIN) * np.maximum(rng.uniform(-0.8, 0.8, users), 0)).astype(np.int64)
    per_user = _activity(rng, group, items, interactions or max(users, users * items // 20))
    user, item, true = _observe(rng, factors, popularity * np.log(attractive), choice=choice, per_user=per_user)
    value = np.clip(np.rint(true + noise * rng.standard_normal(len(true))), 1, 5)
    earliest = np.maximum(released[item], joined[user])
    time = earliest + ((_END - earliest) * rng.random(len(user)) ** 1.3).astype(np.int64)  # interest fades
    user_ids, item_ids = _ids("u", users), _ids("i", items)
    provider = np.sqrt(rng.uniform(1, (providers + 1) ** 2, items)).astype(int)  # the later ones offer more
    log = Interactions.of(
        pl.DataFrame({"user": user_ids.decode(user), "item": item_ids.decode(item), "value": value, "time": time})
        .sort("time", "user", "item"),
        name="world",
        users=pl.DataFrame({"user": user_ids.values, "group": [chr(ord("A") + g) for g in group]}),
        items=pl.DataFrame({
            "item": item_ids.values, "title": _titles(rng, items), "aspects": _named(has_genre),
            "provider": [f"provider {number}" for number in provider], "released": released,
        }),
    )  # fmt: skip
    return World(log, user_ids, item_ids, *factors)


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


def _draw_genres(rng: np.random.Generator, items: int, genres: int) -> np.ndarray:
    """One to three genres of each item, the first ones being the common ones."""
    order = np.argsort(rng.exponential(size=(items, genres)) * np.sqrt(np.arange(1, genres + 1)), axis=1)
    number = rng.choice([1, 2, 3], size=items, p=[0.45, 0.35, 0.2])
    return np.argsort(order, axis=1) < number[:, None]


def _factors(
    rng: np.random.Generator, has_genre: np.ndarray, group: np.ndarray, attractive: np.ndarray, alignment: float
) -> Factors:
    """Tastes and genres, then a constant and a quality, so that their inner product is the true value."""
    fame = (np.log(attractive) - np.log(attractive).mean()) / np.log(attractive).std()
    quality = (alignment * fame + rng.standard_normal(len(fame))) / np.sqrt(1 + alignment**2)
    item_side = has_genre / np.linalg.norm(has_genre, axis=1, keepdims=True)
    item_side = item_side + 0.25 * rng.standard_normal(has_genre.shape)  # no two dramas are alike
    shared = rng.standard_normal((int(group.max()) + 1, has_genre.shape[1]))
    taste = 0.35 * shared[group] + 0.65 * rng.standard_normal(shared[group].shape)
    average = 2.85 - (taste.mean(axis=0) * item_side.mean(axis=0)).sum()
    generosity = average + 0.3 * rng.standard_normal((len(group), 1))
    user_side = np.hstack([taste, generosity, np.ones((len(group), 1))])
    item_side = np.hstack([item_side, np.ones((len(fame), 1)), 0.45 * quality[:, None]])
    return user_side.astype(np.float32), item_side.astype(np.float32)


def _activity(rng: np.random.Generator, group: np.ndarray, items: int, interactions: int) -> np.ndarray:
    """Interactions of each user: log-normal, later groups less active, at least 1 and at most 80 % of the items."""
    weight = rng.lognormal(0.0, 0.8, len(group)) / (1 + 0.6 * group)
    scale = interactions / weight.sum()
    for _ in range(20):  # what the limits take from some users goes to the others
        number = np.clip(np.rint(weight * scale), 1, int(0.8 * items))
        scale *= interactions / number.sum()
    return number.astype(np.int64)


def _observe(
    rng: np.random.Generator, factors: Factors, appeal: np.ndarray, *, choice: float, per_user: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw each user's items without replacement: in a race of exponential clocks the first ones are observed."""
    found = []
    for part in blocks(len(per_user), 256):
        true = _products(factors[0][part], factors[1])
        drawn = np.maximum(rng.standard_exponential(true.shape, dtype=np.float32), np.finfo(np.float32).tiny)
        clock = np.log(drawn) - choice * true - appeal.astype(np.float32)
        last = np.take_along_axis(np.sort(clock, axis=1), per_user[part, None] - 1, axis=1)
        user, item = np.nonzero(clock <= last)
        found.append((user + part.start, item, true[user, item]))
    return tuple(np.concatenate(column) for column in zip(*found))  # type: ignore[return-value]


def _products(users: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Inner products, added up in one order: a BLAS may round differently for different shapes and machines."""
    total = np.zeros((len(users), len(items)), np.float32)
    for factor in range(users.shape[1]):
        total += users[:, factor, None] * items[None, :, factor]
    return total


def _ids(letter: str, number: int) -> Ids:
    width = max(4, len(str(number)))
    return Ids(pl.Series([f"{letter}{j:0{width}}" for j in range(1, number + 1)]))


def _codes(ids: Ids, names: Names) -> np.ndarray:
    if ((codes := ids.codes(pl.Series(names, dtype=pl.String))) < 0).any():
        raise DataError("there is no such id in this world", found=repr(names[int(np.argmin(codes))]))
    return codes


def _titles(rng: np.random.Generator, items: int) -> list[str]:
    pairs = [f"{first} {second}" for first in _FIRST.split() for second in _SECOND.split()]
    return [f"{pairs[j % len(pairs)]} {j // len(pairs) + 1}".removesuffix(" 1") for j in rng.permutation(items)]


def _named(has_genre: np.ndarray) -> list[list[str]]:
    names = [*_GENRES, *(f"genre {j}" for j in range(len(_GENRES) + 1, has_genre.shape[1] + 1))]
    return [[names[j] for j in np.flatnonzero(row)] for row in has_genre]
