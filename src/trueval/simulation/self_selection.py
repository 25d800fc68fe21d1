"""Observation by self-selection: people meet rare items because they expect to like them, popular ones anyhow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from trueval.kernels.seeds import derive
from trueval.simulation.observation import MOST, ByPopularity, Rows, rate_bound
from trueval.simulation.pair_draws import as_coins, pair_keys
from trueval.simulation.tastes import Tastes, added_products

_EXACT = 4_000_000  # pairs up to which sums are taken over all of them
_PARTNERS = 64  # items by which the rows of a user are estimated in larger worlds, at least
_DRAWN = 1_000_000  # pairs by which the number of rows is estimated there
_MOST_LIFT = 2.0  # a pair is at most so many times as likely as by popularity alone
_CLOSE, _TURNS = 1e-6, 100


@dataclass(frozen=True)
class BySelfSelection(ByPopularity):
    """Every pair for itself: p = min(activity · weight · 2 / (1 + e^(−slope · liking)), 0.95).

    The liking of a pair is its mean rating, less the averages of the user and of the item: how much more the user
    expects of the item than others do. The slope of an item is `strength` for each factor of ten by which it is rarer
    than the most popular item, which everybody meets whatever they like.

    >>> seen = BySelfSelection(
    ...     np.array([0.2, 0.2]), np.array([1.0, 0.1]), user_likes=np.array([[-1.0], [1.0]]),
    ...     item_likes=np.array([[1.0], [1.0]]), strength=2.0,
    ... )
    >>> seen.probability(np.array([[0], [1]]), np.array([[0, 1]])).round(3).tolist()
    [[0.2, 0.005], [0.2, 0.035]]
    """

    user_likes: np.ndarray = field(repr=False, kw_only=True)  # factors whose inner product is the liking of a pair
    item_likes: np.ndarray = field(repr=False, kw_only=True)
    strength: float = field(kw_only=True)

    @property
    def visits(self) -> np.ndarray:
        """The mean number of visits of every user, before they are thinned."""
        return self._bound * self.activity * (_MOST_LIFT * self.weight.sum())

    def lifts(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """How many times as likely as by popularity alone each pair is met: 0 to 2."""
        from scipy.special import expit

        liking = added_products(*self._columns, users, items).astype(np.float64)
        return np.asarray(_MOST_LIFT * expit(self._slopes[items] * liking))

    def probability(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """min(activity · weight · lift, 0.95)."""
        return np.minimum(self.activity[users] * self.weight[items] * self.lifts(users, items), MOST)

    def expected(self) -> float:
        """The sum of all probabilities; beyond four million pairs estimated, with an error of about 0.1 %."""
        users, items = len(self.activity), len(self.weight)
        if users * items > _EXACT:
            met = self.likely(np.random.default_rng(int(derive(0, "rows expected"))), _DRAWN)[2]
            return float(self.activity.sum() * self.weight.sum() * met.mean())
        every = np.arange(items)
        return float(sum(self.probability(part[:, None], every).sum() for part in _pieces(users, items)))

    def rows_of_users(self) -> np.ndarray:
        """Σ_i p of every user; in large worlds estimated from some items."""
        items, stand_for = _partners(self.weight, len(self.activity))
        return np.concatenate([
            _sums(self.probability(part[:, None], items), stand_for)
            for part in _pieces(len(self.activity), len(items))
        ])  # fmt: skip

    @cached_property
    def _columns(self) -> tuple[np.ndarray, np.ndarray]:
        return np.ascontiguousarray(self.user_likes.T), np.ascontiguousarray(self.item_likes.T)

    @cached_property
    def _slopes(self) -> np.ndarray:
        return self.strength * np.log10(self.weight.max() / np.maximum(self.weight, 1e-300))

    @cached_property
    def _bound(self) -> np.ndarray:
        return rate_bound(_MOST_LIFT * self.activity * self.weight.max())

    def _visit(self, user: np.ndarray, turn: np.ndarray) -> Rows:
        drawn = as_coins(pair_keys(derive(self.seed, "world visited"), user, turn))
        total = np.cumsum(self.weight)
        item = np.minimum(np.searchsorted(total, drawn * total[-1], side="right"), len(total) - 1)
        return item, self._bound[user] * self.activity[user] * (_MOST_LIFT * self.weight[item])


def self_selected(
    number: np.ndarray, weight: np.ndarray, tastes: Tastes, *, strength: float, seed: int = 0
) -> BySelfSelection:
    """Self-selection by these tastes, with the activities at which users meet so many items on average.

    >>> tastes = Tastes(np.array([[1.0], [-1.0]]), np.array([[1.0], [-1.0], [0.0]]))
    >>> seen = self_selected(np.array([1.0, 1.0]), np.array([1.0, 0.2, 0.1]), tastes, strength=1.0)
    >>> round(seen.expected(), 3)
    2.0
    """
    number = np.asarray(number, float)
    likes = (side - side.mean(axis=0, dtype=np.float64) for side in (tastes.user_factors, tastes.item_factors))
    user_likes, item_likes = (side.astype(np.float32) for side in likes)
    seen = BySelfSelection(number, weight, seed, user_likes=user_likes, item_likes=item_likes, strength=strength)
    items, stand_for = _partners(weight, len(number))
    activity = np.concatenate([
        _activity(number[part], weight[items] * seen.lifts(part[:, None], items), stand_for)
        for part in _pieces(len(number), len(items))
    ])  # fmt: skip
    seen = replace(seen, activity=activity)
    for _ in range(2 if len(items) < len(weight) else 0):  # what some items alone say of all others is put right
        seen = replace(seen, activity=seen.activity * (number.sum() / seen.expected()))
    return seen


def _activity(number: np.ndarray, weight: np.ndarray, stand_for: np.ndarray) -> np.ndarray:
    """Activities with which each user meets so many items, where weights are those of users × items.

    The sum of probabilities is concave in the activity, with a slope of those that are not cut: Newton's steps from
    below never go too far.
    """
    number = np.minimum(number, 0.999 * MOST * stand_for.sum())
    activity = number / np.maximum(_sums(weight, stand_for), 1e-300)
    for _ in range(_TURNS):
        rate = activity[:, None] * weight
        short = number - _sums(np.minimum(rate, MOST), stand_for)
        if (short < _CLOSE * number).all():
            break
        activity = activity + short / np.maximum(_sums(np.where(rate < MOST, weight, 0.0), stand_for), 1e-300)
    return activity


def _partners(weight: np.ndarray, users: int) -> tuple[np.ndarray, np.ndarray]:
    """Items, and how many each stands for: all, or some from the whole range of weights, heavy ones more often."""
    items = len(weight)
    if users * items <= _EXACT:
        return np.arange(items), np.ones(items)
    number = min(items, max(_PARTNERS, _EXACT // users))
    order = np.lexsort((np.arange(items), -weight))
    total = np.cumsum(weight[order])
    place = np.searchsorted(total, (np.arange(number) + 0.5) / number * total[-1])
    some = order[np.minimum(place, items - 1)]
    return some, weight.sum() / number / weight[some]


def _sums(table: np.ndarray, stand_for: np.ndarray) -> np.ndarray:
    """Sums of rows; NumPy adds each row for itself, so that blocks of users change nothing."""
    return np.asarray((table * stand_for).sum(axis=1))


def _pieces(users: int, partners: int) -> Iterator[np.ndarray]:
    yield from np.array_split(np.arange(users), max(1, users * partners // 500_000))
