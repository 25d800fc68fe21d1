"""Who users are and what items are: ids, groups, genres, titles, providers, and factors made of them."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.data.ids import Ids

BEGIN, END = 1_672_531_200, 1_735_603_200  # 2023-01-01 to 2024-12-31, in seconds
Factors = tuple[np.ndarray, np.ndarray]

_GENRES = ("drama", "comedy", "thriller", "romance", "science fiction", "animation", "documentary", "western")
_FIRST = "Silent Golden Last Hidden Broken Distant Paper Winter Electric Borrowed Crooked Second Salt Velvet"
_SECOND = "Harbour Garden Letter Orbit River Summer Machine Witness Island Mirror Parade Frontier Echo Recipe"


def number_ids(letter: str, number: int) -> Ids:
    """Ids such as u0001, which sort like their numbers.

    >>> number_ids("u", 2).values.to_list()
    ['u0001', 'u0002']
    """
    width = max(4, len(str(number)))
    numbers = pl.int_range(1, number + 1, eager=True).cast(pl.String).str.zfill(width)
    return Ids((letter + numbers).alias(""))


def draw_genres(rng: np.random.Generator, items: int, genres: int) -> np.ndarray:
    """One to three genres of each item, the first ones being the common ones."""
    order = np.argsort(rng.exponential(size=(items, genres)) * np.sqrt(np.arange(1, genres + 1)), axis=1)
    number = rng.choice([1, 2, 3], size=items, p=[0.45, 0.35, 0.2])
    return np.argsort(order, axis=1) < number[:, None]


def draw_factors(
    rng: np.random.Generator,
    has_genre: np.ndarray,
    group: np.ndarray,
    attractive: np.ndarray,
    alignment: float,
    *,
    taste: float = 1.0,
    quality: float = 0.45,
) -> Factors:
    """Tastes and genres, then a constant and a quality, so that their inner product is the mean rating of a pair.

    `alignment` ties quality to the logarithm of attractiveness: their correlation is a / √(1 + a²).
    """
    spread = np.log(attractive).std()
    fame = (np.log(attractive) - np.log(attractive).mean()) / (spread if spread > 1e-12 else 1.0)
    good = (alignment * fame + rng.standard_normal(len(fame))) / np.sqrt(1 + alignment**2)
    item_side = has_genre / np.linalg.norm(has_genre, axis=1, keepdims=True)
    item_side = item_side + 0.25 * rng.standard_normal(has_genre.shape)  # no two dramas are alike
    shared = rng.standard_normal((int(group.max()) + 1, has_genre.shape[1]))
    tastes = taste * (0.35 * shared[group] + 0.65 * rng.standard_normal(shared[group].shape))
    average = 2.85 - (tastes.mean(axis=0) * item_side.mean(axis=0)).sum()
    generosity = average + 0.3 * rng.standard_normal((len(group), 1))
    user_side = np.hstack([tastes, generosity, np.ones((len(group), 1))])
    item_side = np.hstack([item_side, np.ones((len(fame), 1)), quality * good[:, None]])
    return user_side.astype(np.float32), item_side.astype(np.float32)


def draw_starts(rng: np.random.Generator, items: int, users: int) -> tuple[np.ndarray, np.ndarray]:
    """When items come out and users come in: many of both were there before the log begins."""
    released = BEGIN + ((END - BEGIN) * np.maximum(rng.uniform(-1.5, 0.9, items), 0)).astype(np.int64)
    joined = BEGIN + ((END - BEGIN) * np.maximum(rng.uniform(-0.8, 0.8, users), 0)).astype(np.int64)
    return released, joined


def draw_titles(rng: np.random.Generator, items: int) -> list[str]:
    """A title for each item, all different."""
    pairs = [f"{first} {second}" for first in _FIRST.split() for second in _SECOND.split()]
    return [f"{pairs[j % len(pairs)]} {j // len(pairs) + 1}".removesuffix(" 1") for j in rng.permutation(items)]


def draw_providers(rng: np.random.Generator, items: int, providers: int) -> list[str]:
    """A provider of each item; the later ones offer more."""
    return [f"provider {n}" for n in np.sqrt(rng.uniform(1, (providers + 1) ** 2, items)).astype(int)]


def name_genres(has_genre: np.ndarray) -> list[list[str]]:
    """The genres of each item by name."""
    names = [*_GENRES, *(f"genre {j}" for j in range(len(_GENRES) + 1, has_genre.shape[1] + 1))]
    return [[names[j] for j in np.flatnonzero(row)] for row in has_genre]


def name_groups(group: np.ndarray) -> list[str]:
    """Groups by letter: A, B, …

    >>> name_groups(np.array([0, 1]))
    ['A', 'B']
    """
    return [chr(ord("A") + g) if g < 26 else f"group {g + 1}" for g in group.tolist()]
