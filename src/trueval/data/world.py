"""Synthetic worlds: a log as biased as a real one, and the complete preferences behind it.

Every user has a taste for each genre and every item a quality; together they give the true value of each pair.
What is observed is another matter: people meet popular items, and pick what they like among them. Real logs
hide the unobserved part for good; here it is known, so true values of metrics exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.errors import DefinitionError
from trueval.kernels import blocks
from trueval.kernels.seeds import derive

_BEGIN, _END = 1_672_531_200, 1_735_603_200  # 2023-01-01 to 2024-12-31, in seconds
_GENRES = ("drama", "comedy", "thriller", "romance", "science fiction", "animation", "documentary", "western")
_FIRST = [
    "Silent",
    "Golden",
    "Last",
    "Hidden",
    "Broken",
    "Distant",
    "Paper",
    "Winter",
    "Electric",
    "Borrowed",
    "Crooked",
    "Second",
    "Salt",
    "Velvet",
]
_SECOND = [
    "Harbour",
    "Garden",
    "Letter",
    "Orbit",
    "River",
    "Summer",
    "Machine",
    "Witness",
    "Island",
    "Mirror",
    "Parade",
    "Frontier",
    "Echo",
    "Recipe",
]
_ROW_BLOCK = 256  # users drawn at a time, which bounds memory


@dataclass(frozen=True)
class World:
    """A log, and the preferences it was drawn from.

    The true value of a pair is the inner product of its factors, on the scale of the log's values: what the
    user would give the item on average. `users` and `items` are the sorted ids that the factors' rows follow.

    >>> world = make_world(users=20, items=30, interactions=200)
    >>> world.true_values(["u0002", "u0001"], ["i0003"]).shape
    (2, 1)
    """

    log: Interactions
    users: Ids = field(repr=False)
    items: Ids = field(repr=False)
    user_factors: np.ndarray = field(repr=False)
    item_factors: np.ndarray = field(repr=False)

    @property
    def relevance(self) -> np.ndarray:
        """The true value of every pair: users × items, float32."""
        return _products(self.user_factors, self.item_factors)

    def true_values(
        self, users: Sequence[str] | pl.Series, items: Sequence[str] | pl.Series | None = None
    ) -> np.ndarray:
        """True values of some users (rows) for some items (columns; all of them if none are named)."""
        rows = self.users.codes(pl.Series(users, dtype=pl.String))
        columns = slice(None) if items is None else self.items.codes(pl.Series(items, dtype=pl.String))
        return _products(self.user_factors[rows], self.item_factors[columns])


def make_world(
    *,
    users: int = 1000,
    items: int = 500,
    interactions: int | None = None,
    popularity: float = 1.0,
    noise: float = 0.7,
    choice: float = 1.0,
    alignment: float = 0.3,
    genres: int = 8,
    providers: int = 5,
    groups: Sequence[float] = (0.7, 0.3),
    seed: int = 0,
) -> World:
    """Draw a world: tastes, items, and a log of about so many interactions (50 per user if not said).

    A pair is observed with a chance ∝ attractiveness^`popularity` · exp(`choice` · true value), so 0 for both is a
    uniform sample. `noise` is the spread of given values around the true ones; `alignment` the correlation of
    attractiveness and quality (negative: the popular is worse). `groups` are the shares of the user groups A, B…,
    each less active than the one before and with a taste of its own.

    >>> world = make_world(users=50, items=40, seed=1)
    >>> world.log.frame.columns, world.log.items.columns
    (['user', 'item', 'value', 'time'], ['item', 'title', 'aspects', 'provider', 'released'])
    """
    _check(users, items, interactions, genres, providers, groups)
    rng = np.random.default_rng(int(derive(seed, "world")))
    has_genre = _draw_genres(rng, items, genres)
    group = rng.choice(len(groups), size=users, p=np.asarray(groups) / np.sum(groups))
    attractive = _attractiveness(rng, items)
    user_factors, item_factors = _factors(rng, has_genre, group, attractive, alignment)
    released = _BEGIN + ((_END - _BEGIN) * np.maximum(rng.uniform(-1.5, 0.9, items), 0)).astype(np.int64)
    joined = _BEGIN + ((_END - _BEGIN) * np.maximum(rng.uniform(-0.8, 0.8, users), 0)).astype(np.int64)
    per_user = _activity(rng, group, items, interactions if interactions is not None else 50 * users)
    user, item, true = _observe(rng, user_factors, item_factors, popularity * np.log(attractive), choice, per_user)
    value = np.clip(np.rint(true + noise * rng.standard_normal(len(true))), 1, 5)
    earliest = np.maximum(released[item], joined[user])
    time = earliest + ((_END - earliest) * rng.random(len(user)) ** 1.3).astype(np.int64)  # interest fades
    user_ids, item_ids = _ids("u", users), _ids("i", items)
    shares = 1 / np.arange(1, providers + 1)
    provider = rng.choice(providers, size=items, p=shares / shares.sum()) + 1
    log = Interactions.of(
        pl.DataFrame({"user": user_ids.decode(user), "item": item_ids.decode(item), "value": value, "time": time})
        .sort("time", "user", "item"),
        name="world",
        users=pl.DataFrame({"user": user_ids.values, "group": [_letter(g) for g in group]}),
        items=pl.DataFrame({
            "item": item_ids.values, "title": _titles(rng, items), "aspects": _named(has_genre),
            "provider": [f"provider {number}" for number in provider], "released": released,
        }),
    )  # fmt: skip
    return World(log, user_ids, item_ids, user_factors, item_factors)


def _check(users: int, items: int, interactions: int | None, genres: int, providers: int, groups: Sequence) -> None:
    least = {"users": (users, 1), "items": (items, 2), "genres": (genres, 1), "providers": (providers, 1)}
    least["interactions"] = (users if interactions is None else interactions, users)
    for name, (given, low) in least.items():
        if given < low:
            raise DefinitionError(f"a world needs at least {low:,} {name}", found=f"{name} = {given:,}")
    if 2 * least["interactions"][0] > users * items:
        raise DefinitionError(
            "a world cannot show more than half of all pairs",
            found=f"{interactions:,} interactions of {users:,} users and {items:,} items",
            do=f"ask for at most {users * items // 2:,} interactions",
        )
    if not groups or min(groups) <= 0:
        raise DefinitionError("every group needs a share above 0", found=f"groups = {tuple(groups)}")


def _draw_genres(rng: np.random.Generator, items: int, genres: int) -> np.ndarray:
    """One to three genres of each item, the first ones being the common ones."""
    order = np.argsort(rng.exponential(size=(items, genres)) * np.sqrt(np.arange(1, genres + 1)), axis=1)
    number = rng.choice([1, 2, 3], size=items, p=[0.45, 0.35, 0.2])
    has = np.zeros((items, genres), bool)
    np.put_along_axis(has, order, np.arange(genres) < number[:, None], axis=1)
    return has


def _attractiveness(rng: np.random.Generator, items: int) -> np.ndarray:
    """A shifted power law over the items in random order."""
    return rng.permutation((0.02 * items + np.arange(1, items + 1)) ** -1.0)


def _factors(
    rng: np.random.Generator, has_genre: np.ndarray, group: np.ndarray, attractive: np.ndarray, alignment: float
) -> tuple[np.ndarray, np.ndarray]:
    """Tastes and genres, then a constant and a quality, so that their inner product is the true value."""
    items, genres = has_genre.shape
    fame = np.log(attractive)
    fame = (fame - fame.mean()) / fame.std()
    quality = alignment * fame + np.sqrt(1 - alignment**2) * rng.standard_normal(items)
    item_side = has_genre / np.linalg.norm(has_genre, axis=1, keepdims=True)
    item_side = item_side + 0.25 * rng.standard_normal((items, genres))  # no two dramas are alike
    shared = rng.standard_normal((int(group.max()) + 1, genres))
    taste = 0.35 * shared[group] + 0.65 * rng.standard_normal((len(group), genres))
    mean, generosity = 3.0, 0.3 * rng.standard_normal((len(group), 1))
    users = np.hstack([taste, mean + generosity, np.ones((len(group), 1))])
    return users.astype(np.float32), np.hstack([item_side, np.ones((items, 1)), 0.45 * quality[:, None]]).astype(
        np.float32
    )


def _activity(rng: np.random.Generator, group: np.ndarray, items: int, interactions: int) -> np.ndarray:
    """Interactions of each user: log-normal, later groups less active, at least 1 and at most 80 % of the items."""
    weight = rng.lognormal(0.0, 0.8, len(group)) / (1 + 0.6 * group)
    scale = interactions / weight.sum()
    for _ in range(20):  # what the limits take from some users goes to the others
        number = np.clip(np.rint(weight * scale), 1, max(1, int(0.8 * items)))
        scale *= interactions / number.sum()
    return number.astype(np.int64)


def _observe(
    rng: np.random.Generator, user_factors: np.ndarray, item_factors: np.ndarray, appeal: np.ndarray, choice: float,
    per_user: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Draw each user's items without replacement: in a race of exponential clocks the first ones are observed."""
    found = []
    for part in blocks(len(user_factors), _ROW_BLOCK):
        true = _products(user_factors[part], item_factors)
        drawn = np.maximum(rng.standard_exponential(true.shape, dtype=np.float32), np.finfo(np.float32).tiny)
        clock = np.log(drawn) - choice * true - appeal.astype(np.float32)
        last = np.take_along_axis(np.sort(clock, axis=1), per_user[part, None] - 1, axis=1)
        user, item = np.nonzero(clock <= last)
        found.append((user + part.start, item, true[user, item]))
    user, item, true = (np.concatenate(column) for column in zip(*found))
    return user, item, true


def _products(users: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Inner products, added up in one order: a BLAS may round differently for different shapes and machines."""
    total = np.zeros((len(users), len(items)), np.float32)
    for factor in range(users.shape[1]):
        total += users[:, factor, None] * items[None, :, factor]
    return total


def _ids(letter: str, number: int) -> Ids:
    width = max(4, len(str(number)))
    return Ids(pl.Series([f"{letter}{j:0{width}}" for j in range(1, number + 1)]))


def _letter(group: int) -> str:
    return chr(ord("A") + group)


def _titles(rng: np.random.Generator, items: int) -> list[str]:
    """Titles that nobody will take for real ones, no two alike."""
    pairs = [f"{first} {second}" for first in _FIRST for second in _SECOND]
    order = rng.permutation(items)
    return [pairs[j % len(pairs)] + (f" {j // len(pairs) + 1}" if j >= len(pairs) else "") for j in order]


def _named(has_genre: np.ndarray) -> list[list[str]]:
    names = [*_GENRES, *(f"genre {j}" for j in range(len(_GENRES) + 1, has_genre.shape[1] + 1))]
    return [[names[j] for j in np.flatnonzero(row)] for row in has_genre]
