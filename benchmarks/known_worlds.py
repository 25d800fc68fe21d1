"""Worlds whose ratings are known completely, observed in many ways: simulated by trueval, written out here, and real.

A claim about methods must not rest on the worlds that they were made with. So there are two generators that have
nothing in common but the ways to be observed, and a data set whose items were rated by lot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

import trueval as tv
from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.recommenders.protocol import TrainSet

TESTED = 0.35  # share of the observed pairs that is the test part
MOST = 0.9  # the highest probability of a pair to be observed
LEARNED = {
    "popularity": "popularity",
    "average": "average",
    "item neighbours": "itemknn",
    "factors": "puresvd[factors=10]",
}
NOISES = (0.5, 1.5, 3.0)  # of oracles, in standard deviations of what they know


@dataclass(frozen=True, slots=True)
class Observed:
    """A way to be observed: what the probability of a pair to have a rating depends on."""

    name: str
    group: str
    gamma: float = 0.0  # power of popularity
    alignment: float = 0.0  # correlation of popularity and quality
    value: float = 0.0  # each level below the best makes a rating less likely by e^-value
    self_selection: float = 0.0  # how much more readily those who like a rare item come across it
    activity: float = 0.7  # spread of the logarithm of users' activity
    likes_only: bool = False  # liked pairs alone are in the log


VALUE, POPULARITY, BOTH, SELECTED = "value", "popularity", "popularity and value", "self-selected"
WAYS = (
    Observed("nothing", "nothing", activity=0.0),
    Observed("activity of users only", "activity", activity=1.2),
    Observed("value .5", VALUE, value=0.5),
    Observed("value 1", VALUE, value=1.0),
    Observed("popularity .6, aligned", POPULARITY, 0.6, 0.7),
    Observed("popularity .6, independent", POPULARITY, 0.6),
    Observed("popularity .6, opposed", POPULARITY, 0.6, -0.7),
    Observed("popularity 1.2, aligned", POPULARITY, 1.2, 0.7),
    Observed("popularity 1.2, independent", POPULARITY, 1.2),
    Observed("popularity 1.2, opposed", POPULARITY, 1.2, -0.7),
    Observed("popularity .6, value .5", BOTH, 0.6, 0.0, 0.5),
    Observed("popularity 1.2, value 1", BOTH, 1.2, 0.0, 1.0),
    Observed("popularity 1 aligned, value .7", BOTH, 1.0, 0.7, 0.7),
    Observed("popularity 1 opposed, value .7", BOTH, 1.0, -0.7, 0.7),
    Observed("self-selected 1", SELECTED, 0.7, self_selection=1.0),
    Observed("self-selected 2", SELECTED, 0.7, self_selection=2.0),
    Observed("self-selected 2, aligned", SELECTED, 0.7, 0.6, self_selection=2.0),
    Observed("self-selected 2, opposed", SELECTED, 0.7, -0.6, self_selection=2.0),
    Observed("self-selected 4", SELECTED, 0.7, self_selection=4.0),
)
LIKES = tuple(
    replace(way, name=f"likes only: {way.name}", group="likes only", likes_only=True)
    for way in WAYS
    if way.name in ("nothing", "value 1", "popularity 1.2, aligned", "popularity 1.2, independent",
                    "popularity 1.2, opposed", "self-selected 2")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Size:
    """How large a world is: users, items, observed ratings per user, and the share of liked pairs among all."""

    name: str
    users: int = 700
    items: int = 350
    rows: float = 22.0
    liked: float = 0.25


SIZES = (
    Size("middle"), Size("few users", users=150, liked=0.5), Size("sparse", rows=8.0),
    Size("dense", rows=60.0, liked=0.1), Size("many users", users=2_500, items=700),
)  # fmt: skip


@dataclass(frozen=True)
class KnownWorld:
    """All ratings of a world, what they are expected to be, and which pairs are in train and in test."""

    values: np.ndarray
    means: np.ndarray  # expected ratings, which oracles know
    train: np.ndarray
    test: np.ndarray
    threshold: float
    seed: int
    offered: np.ndarray  # the pairs whose rating is known, and which lists may hold
    likes_only: bool = False

    @cached_property
    def liked(self) -> np.ndarray:
        """The pairs that are liked and not in train."""
        return (self.values >= self.threshold) & self.offered & ~self.train

    @cached_property
    def users(self) -> Ids:
        return Ids(pl.Series(np.arange(len(self.values))))

    @cached_property
    def items(self) -> Ids:
        return Ids(pl.Series(np.arange(self.values.shape[1])))

    def log(self, pairs: np.ndarray) -> pl.DataFrame:
        """The rows of some pairs; of liked ones alone where the log has these only."""
        keep = pairs & (self.values >= self.threshold) if self.likes_only else pairs
        user, item = np.nonzero(keep)
        return pl.DataFrame({"user": user, "item": item, "value": self.values[user, item].astype(float)})

    def orders(self) -> dict[str, np.ndarray]:
        """For each system the items of every user from best to worst; those that may not be listed are behind."""
        rng = np.random.default_rng([self.seed, 2])
        shape, spread = self.means.shape, self.means.std()
        train = self.log(self.train)
        rows = ByUser.code(train, self.users, self.items)
        learned_from = TrainSet(self.users, self.items, rows, self.seed, self.threshold)
        fame = _standard(np.log1p(learned_from.popularity))
        scores = {
            name: tv.make_system(one).fit(learned_from).score(np.arange(shape[0])) for name, one in LEARNED.items()
        }
        scores |= {f"oracle {size:g}": self.means + size * spread * rng.standard_normal(shape) for size in NOISES}
        for name, sign in (("oracle, popular items up", 1), ("oracle, popular items down", -1)):
            scores[name] = self.means + 0.7 * spread * rng.standard_normal(shape) + sign * spread * fame
        scores["arbitrary"] = rng.standard_normal(shape)  # "random" by name would be a floor, and no rival
        scores["popularity and neighbours"] = fame + _standard(scores["item neighbours"])
        ties = 1e-9 * rng.standard_normal(shape)
        barred = self.train | ~self.offered
        return {
            name: np.argsort(np.where(barred, np.inf, -(np.broadcast_to(own, shape) + ties)), axis=1, kind="stable")
            for name, own in scores.items()
        }

    @cached_property
    def listable(self) -> np.ndarray:
        """How many items each user's lists may hold."""
        return (self.offered & ~self.train).sum(axis=1)

    def lists(self, orders: Mapping[str, np.ndarray], depth: int) -> dict[str, pl.DataFrame]:
        """The first places of every user's list, as runs."""
        places = np.arange(min(depth, self.values.shape[1]))
        user, place = np.nonzero(places < self.listable[:, None])
        return {
            name: pl.DataFrame({"user": user, "item": own[user, place], "rank": place + 1})
            for name, own in orders.items()
        }

    def true_ndcg(self, order: np.ndarray, depth: int) -> np.ndarray:
        """Each user's nDCG on the complete ratings, by its formula; NaN for users who like nothing."""
        depth = min(depth, order.shape[1])
        gains = np.where(self.liked, self.values, 0.0)
        discount = 1 / np.log2(np.arange(2, depth + 2))
        ideal = (-np.sort(-gains, axis=1)[:, :depth] * discount).sum(axis=1)
        own = (np.take_along_axis(gains, order[:, :depth], axis=1) * discount).sum(axis=1)
        return np.divide(own, ideal, out=np.full(len(own), np.nan), where=ideal > 0)

    def truth(self) -> pl.DataFrame:
        """The complete test set: the ratings of all pairs that lists may hold."""
        return replace(self, likes_only=False).log(self.offered & ~self.train)


def _standard(scores: np.ndarray) -> np.ndarray:
    """Scores with mean 0 and standard deviation 1."""
    return (scores - scores.mean()) / max(float(scores.std()), 1e-12)


# ---- worlds of trueval -------------------------------------------------------------------------------------------


def simulated(way: Observed, size: Size, seed: int) -> KnownWorld:
    """A world of `tv.simulate`; how active users are varies in all of them."""
    world = tv.simulate(
        "world", users=size.users, items=size.items, ratings=int(size.users * size.rows), gamma=way.gamma,
        value_bias=way.value, alignment=way.alignment, self_selection=way.self_selection, seed=seed,
    )  # fmt: skip
    shape = size.users, size.items
    values = world.ratings(world.users.values, world.items.values)
    observed = np.zeros(shape, bool)
    observed[world.codes_of(world.log.frame)] = True
    rng = np.random.default_rng([seed, 1])
    test = observed & (rng.random(shape) < TESTED)
    means = world.relevance.astype(float)
    return KnownWorld(values, means, observed & ~test, test, world.threshold, seed, np.ones(shape, bool),
                      way.likes_only)  # fmt: skip


# ---- worlds that are written out ---------------------------------------------------------------------------------


def written(way: Observed, size: Size, seed: int) -> KnownWorld:
    """A world in a few lines of NumPy: factors of users and items, quality of items, thresholds between ratings.

    A rare item is met by self-selection: the log-odds rise by `self_selection` × the rank of its rarity (0 to 1) for
    each standard deviation by which the expected rating is above average.
    """
    rng = np.random.default_rng([seed, 3])
    shape = users, items = size.users, size.items
    fame = rng.permutation(-1.6 * np.log(0.04 * items + np.arange(1, items + 1)))
    quality = way.alignment * _standard(fame) + np.sqrt(1 - way.alignment**2) * rng.standard_normal(items)
    taste = rng.standard_normal((users, 6)) @ rng.standard_normal((6, items)) / np.sqrt(6)
    means = 0.7 * quality + taste + 0.3 * rng.standard_normal((users, 1))
    felt = means + 0.7 * rng.standard_normal(shape)
    rest = 1 - size.liked
    cuts = np.quantile(felt, [0.25 * rest, 0.55 * rest, rest, 1 - 0.35 * size.liked])
    values = 1.0 + np.searchsorted(cuts, felt)
    rarity = 1 - np.argsort(np.argsort(fame)) / (items - 1)
    logs = way.gamma * (fame - fame.max()) + way.value * (values - 5) + way.self_selection * rarity * _standard(means)
    active = np.exp(way.activity * ndtri((rng.permutation(users) + 0.5) / users))
    weight = np.exp(logs - logs.max()) * active[:, None]
    observed = rng.random(shape) < _up_to(weight, size.rows * users)
    test = observed & (rng.random(shape) < TESTED)
    return KnownWorld(values, means, observed & ~test, test, 4.0, seed, np.ones(shape, bool), way.likes_only)


def _up_to(weight: np.ndarray, rows: float) -> np.ndarray:
    """Probabilities ∝ weight, none above the highest, that add up to a number of rows."""
    low, high = 0.0, 1.0
    while np.minimum(high * weight, MOST).sum() < min(rows, 0.99 * MOST * weight.size):
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(middle * weight, MOST).sum() < rows else (low, middle)
    return np.minimum(high * weight, MOST)


# ---- a real one --------------------------------------------------------------------------------------------------

REAL_WAYS = ("nothing", "value", "popularity", "popularity, shuffled", "liked items more", "liked items less",
             "as people know")  # fmt: skip
SHARE = 0.25  # of the ratings of CM100k that are observed where that is simulated


def real(way: str, folder: Path, seed: int) -> KnownWorld:
    """CM100k: ratings of items drawn by lot, each user's rated items as the catalogue, observed in one way.

    *As people know*: the ratings of items that the user knew before. The other ways observe a quarter of the ratings,
    by the popularity that this has, by that of other items (shuffled), by the share that likes an item, or by value.
    """
    table = pl.read_csv(
        folder / "data.txt", separator="\t", has_header=False, new_columns=["user", "item", "value", "known"]
    )
    user, item = (table[name].rank("dense").to_numpy() - 1 for name in ("user", "item"))
    shape = int(user.max()) + 1, int(item.max()) + 1
    values, known = np.zeros(shape), np.zeros(shape, bool)
    values[user, item], known[user, item] = table["value"], table["known"] == 1
    offered = values > 0
    rng = np.random.default_rng([seed, 4])
    fame = _standard(np.log1p(known.sum(axis=0)))
    appeal = _standard(((values >= 3) & offered).sum(axis=0) / np.maximum(offered.sum(axis=0), 1))
    logs: dict[str, Any] = {
        "nothing": 0.0, "value": 0.7 * values, "popularity": fame, "popularity, shuffled": rng.permutation(fame),
        "liked items more": appeal, "liked items less": -1.2 * appeal,
    }  # fmt: skip
    if way == "as people know":
        observed = known
    else:
        weight = np.where(offered, np.exp(np.broadcast_to(logs[way], shape)), 0.0)
        observed = rng.random(shape) < _up_to(weight / weight.max(), SHARE * offered.sum())
    test = observed & (rng.random(shape) < TESTED)
    return KnownWorld(values, np.where(offered, values, 0.0), observed & ~test, test, 3.0, seed, offered)


GENERATORS = {"trueval": simulated, "written out": written}


def sizes_of(numbers: Sequence[int]) -> str:
    """Numbers in a sentence."""
    return ", ".join(f"{number:,}" for number in numbers)
