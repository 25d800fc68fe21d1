"""Who meets what: the probability that a pair is observed, in closed form, and rows drawn by it.

Rows are drawn in a stream, in the time that the rows take and not the pairs: a million users × 100,000 items are no
table anywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from trueval.kernels import in_order
from trueval.kernels.seeds import derive
from trueval.simulation.pair_draws import as_coins, coins, pair_coins, pair_keys, shuffled

MOST = 0.95  # no pair is certain to be observed: certain pairs would have no weight to learn from
_AT_ONCE = 500_000  # rows of a block, about

Rows = tuple[np.ndarray, np.ndarray]  # codes of users and of items


class Observation(Protocol):
    """Which pairs are met; a dataclass with a seed."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def seed(self) -> int:
        """The seed of what is met."""
        ...

    def probability(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """The probability that each pair is met."""
        ...

    def blocks(self) -> Iterator[Rows]:
        """The pairs that were met, block after block."""
        ...

    def expected(self) -> float:
        """The number of pairs that are met on average."""
        ...


class ByVisits(ABC):
    """Every pair for itself, met with a probability p, and drawn in the time that the rows take.

    A Poisson process of visits per user, with rates −log(1 − p), finds each pair at least once with probability p:
    visits are drawn by weight, and thinned where the rate lies below its bound. Users who would make more visits
    than there are items toss a coin for every item instead.
    """

    seed: int

    @property
    @abstractmethod
    def items(self) -> int:
        """The number of items."""

    @property
    @abstractmethod
    def visits(self) -> np.ndarray:
        """The mean number of visits of every user, before they are thinned."""

    @abstractmethod
    def probability(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """The probability that each pair is met."""

    @abstractmethod
    def _visit(self, user: np.ndarray, turn: np.ndarray) -> Rows:
        """The item of a user's visit of each turn, and the mean number of visits to that pair."""

    def blocks(self, *, rows: int = _AT_ONCE) -> Iterator[Rows]:
        """Pairs in the order of users, then of items; the size of blocks changes nothing."""
        visits = self.visits
        work = np.minimum(visits, self.items)
        ends = np.searchsorted(np.cumsum(work), np.arange(rows, work.sum() + rows, rows))
        cuts = [0, *np.unique(np.append(np.minimum(ends + 1, len(work)), len(work))).tolist()]
        yield from in_order(
            lambda part: self._rows(np.arange(part.start, part.stop), visits[part]), map(slice, cuts[:-1], cuts[1:])
        )

    def _rows(self, users: np.ndarray, visits: np.ndarray) -> Rows:
        dense = visits > self.items
        found = [self._visited(users[~dense], visits[~dense])]
        every = np.arange(self.items)
        for part in np.array_split(users[dense], max(1, int(dense.sum()) * len(every) // _AT_ONCE)):
            met = pair_coins(self.seed, "met", part[:, None], every) < self.probability(part[:, None], every)
            user, item = np.nonzero(met)
            found.append((part[user], item))
        user, item = (np.concatenate(column) for column in zip(*found))
        keys = np.sort(user * np.int64(self.items) + item)
        keys = keys[np.diff(keys, prepend=-1) > 0]  # each pair once; np.unique is ten times slower here
        user = keys // self.items
        return user, keys - user * self.items

    def _visited(self, users: np.ndarray, visits: np.ndarray) -> Rows:
        number = poisson(visits, as_coins(pair_keys(derive(self.seed, "world visits"), users, np.zeros(1, int))))
        user = np.repeat(users, number)
        turn = np.arange(len(user)) - np.repeat(np.cumsum(number) - number, number)
        item, most = self._visit(user, turn)
        wanted = -np.log1p(-self.probability(user, item))
        met = as_coins(pair_keys(derive(self.seed, "world thinned"), user, turn)) * most < wanted
        return user[met], item[met]


def rate_bound(most: np.ndarray) -> np.ndarray:
    """How much higher than p the rate −log(1 − p) is at most, where no p is above `most`."""
    most = np.clip(most, 1e-300, MOST)
    return -np.log1p(-most) / most


@dataclass(frozen=True)
class ByPopularity(ByVisits):
    """Every pair for itself: p = min(activity of the user · weight of the item, 0.95).

    >>> seen = ByPopularity(np.array([0.5, 0.1]), np.array([1.0, 0.2]))
    >>> seen.probability(np.array([[0], [1]]), np.array([[0, 1]])).round(3).tolist()
    [[0.5, 0.1], [0.1, 0.02]]
    """

    activity: np.ndarray = field(repr=False)
    weight: np.ndarray = field(repr=False)
    seed: int = 0

    @property
    def items(self) -> int:
        """The number of items."""
        return len(self.weight)

    @property
    def visits(self) -> np.ndarray:
        """The mean number of visits of every user, before they are thinned."""
        return self._bound * self.activity * self.weight.sum()

    def probability(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """min(activity · weight, 0.95)."""
        return np.minimum(self.activity[users] * self.weight[items], MOST)

    def expected(self) -> float:
        """The sum of all probabilities."""
        return float(self.rows_of_users().sum())

    def rows_of_users(self) -> np.ndarray:
        """Σ_i p of every user."""
        return sum_of_least(self.activity, self.weight)

    def likely(self, rng: np.random.Generator, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs drawn ∝ activity · weight, and p of each over that product: below 1 where p is cut."""
        user = rng.choice(len(self.activity), number, p=self.activity / self.activity.sum())
        item = rng.choice(len(self.weight), number, p=self.weight / self.weight.sum())
        return user, item, self.probability(user, item) / (self.activity[user] * self.weight[item])

    @cached_property
    def _bound(self) -> np.ndarray:
        return rate_bound(self.activity * self.weight.max())

    def _visit(self, user: np.ndarray, turn: np.ndarray) -> Rows:
        drawn = as_coins(pair_keys(derive(self.seed, "world visited"), user, turn))
        total = np.cumsum(self.weight)
        item = np.minimum(np.searchsorted(total, drawn * total[-1], side="right"), len(total) - 1)
        return item, self._bound[user] * self.activity[user] * self.weight[item]


@dataclass(frozen=True)
class ByCounts:
    """Every item has a number of ratings, by users drawn without replacement: p = number / users, exactly.

    >>> seen = ByCounts(np.array([2, 1]), users=3)
    >>> [len(item) for _, item in seen.blocks()], seen.probability(np.array([0]), np.array([1])).round(3).tolist()
    ([3], [0.333])
    """

    counts: np.ndarray = field(repr=False)
    users: int = 1
    seed: int = 0

    def probability(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Ratings of the item over all users."""
        shape = np.broadcast_shapes(np.shape(users), np.shape(items))
        return np.broadcast_to(self.counts[items] / self.users, shape)

    def expected(self) -> float:
        """The number of ratings."""
        return float(self.counts.sum())

    def blocks(self, *, rows: int = _AT_ONCE) -> Iterator[Rows]:
        """Pairs in the order of items."""
        ends = np.searchsorted(np.cumsum(self.counts), np.arange(rows, self.counts.sum() + rows, rows))
        begin = 0
        for end in np.unique(np.append(np.minimum(ends + 1, len(self.counts)), len(self.counts))):
            number = self.counts[begin:end]
            item = np.repeat(np.arange(begin, end), number)
            place = np.arange(len(item)) - np.repeat(np.cumsum(number) - number, number)
            if len(item):
                yield shuffled(self.seed, "raters", item, place, self.users), item
            begin = int(end)


def poisson(rate: np.ndarray, coin: np.ndarray) -> np.ndarray:
    """Poisson numbers by inversion of their distribution.

    >>> poisson(np.array([2.0, 2.0, 0.0]), np.array([0.1, 0.9, 0.5])).tolist()
    [0, 4, 0]
    """
    from scipy.special import pdtr, pdtrik

    rate, coin = np.broadcast_arrays(np.asarray(rate, float), coin)
    some = (rate > 0) & (coin > np.exp(-rate))
    number = np.zeros(rate.shape, np.int64)
    near = np.ceil(pdtrik(coin[some], rate[some]))
    lower = np.maximum(near - 1, 0)
    number[some] = np.where(pdtr(lower, rate[some]) >= coin[some], lower, near).astype(np.int64)
    return number


def sum_of_least(activity: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Σ_i min(activity · weight_i, 0.95) of every user.

    >>> sum_of_least(np.array([1.0, 2.0]), np.array([0.5, 0.1])).round(3).tolist()
    [0.6, 1.15]
    """
    ordered = np.sort(weight)
    total = np.concatenate([[0.0], np.cumsum(ordered)])
    free = np.searchsorted(ordered, MOST / np.maximum(activity, 1e-300), side="right")
    return activity * total[free] + MOST * (len(ordered) - free)


def activity_for(number: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The activity with which users meet so many items on average.

    >>> activity = activity_for(np.array([0.6, 1.15]), np.array([0.5, 0.1]))
    >>> activity.round(6).tolist()
    [1.0, 2.0]
    """
    number = np.minimum(np.asarray(number, float), 0.999 * MOST * np.count_nonzero(weight))
    found = number / weight.sum()
    bent = found * weight.max() > MOST
    low, high = found[bent], np.full(int(bent.sum()), MOST / weight[weight > 0].min())
    for _ in range(60):
        middle = np.sqrt(low * high)
        less = sum_of_least(middle, weight) < number[bent]
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    found[bent] = high
    return found


def log_normal_activity(
    users: int, mean: float, *, spread: float, most: float, seed: int, factor: np.ndarray | None = None
) -> np.ndarray:
    """Expected rows of each user: log-normal, with this mean over all and at most `most`.

    >>> log_normal_activity(1000, 20.0, spread=0.8, most=400, seed=0).mean().round(6)
    np.float64(20.0)
    """
    from scipy.special import ndtri

    weight = np.exp(spread * ndtri(np.maximum(coins(seed, "activity", users), 2.0**-54)))
    weight = weight if factor is None else weight * factor
    return at_most(weight * (mean / weight.mean()), most)


def at_most(number: np.ndarray, most: float) -> np.ndarray:
    """Numbers with a limit and, where that is possible, the same sum: what it takes from some goes to the others.

    >>> at_most(np.array([1.0, 2.0, 9.0]), 6.0).round(6).tolist()
    [2.0, 4.0, 6.0]
    """
    total, found = number.sum(), np.minimum(number, most)
    for _ in range(100):
        free = found < most
        if not free.any() or abs(found.sum() - total) < 1e-9 * total:
            break
        found[free] *= (total - found[~free].sum()) / found[free].sum()
        found = np.minimum(found, most)
    return found
