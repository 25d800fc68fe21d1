"""Who meets what, and when: users come in some periods and not in others, and items are popular in some.

The tables are of users × periods and of items × periods: never of users × items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from trueval.kernels.seeds import derive
from trueval.simulation.observation import MOST, ByVisits, Rows, rate_bound
from trueval.simulation.pair_draws import as_coins, pair_coins, pair_keys

_AT_ONCE = 1_000_000  # pairs that are looked at together


@dataclass(frozen=True)
class ByPeriods(ByVisits):
    """Every pair for itself: p = min(Σ_t activity of the user in t · weight of the item in t, 0.95).

    The product of a period over the sum is the share of the pair that is met in that period (see `TimesInPeriods`).

    >>> seen = ByPeriods(np.array([[0.5, 0.0], [0.1, 0.2]]), np.array([[1.0, 0.5], [0.0, 0.4]]))
    >>> seen.probability(np.array([[0], [1]]), np.array([[0, 1]])).round(3).tolist()
    [[0.5, 0.0], [0.2, 0.08]]
    """

    activities: np.ndarray = field(repr=False)  # users × periods
    weights: np.ndarray = field(repr=False)  # items × periods
    seed: int = 0

    @property
    def items(self) -> int:
        """The number of items."""
        return len(self.weights)

    @property
    def activity(self) -> np.ndarray:
        """The activity of users over all periods."""
        return np.asarray(self.activities.sum(axis=1))

    @property
    def weight(self) -> np.ndarray:
        """The weight of items over all periods, each as much as users are active in it."""
        active = self.activities.sum(axis=0)
        return np.asarray(added(self.weights * (active / active.sum())))

    @property
    def visits(self) -> np.ndarray:
        """The mean number of visits of every user, before they are thinned."""
        return self._bound * added(self.activities * self.weights.sum(axis=0))

    def probability(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """min(Σ activity · weight, 0.95)."""
        return np.minimum(pair_rates(self.activities, self.weights, users, items), MOST)

    def expected(self) -> float:
        """The sum of all probabilities."""
        return float(rows_of_users(self.activities, self.weights).sum())

    def rows_of_users(self) -> np.ndarray:
        """Σ_i p of every user."""
        return added(rows_of_users(self.activities, self.weights))

    def for_rows(self, number: np.ndarray) -> ByPeriods:
        """The same with activities in the same proportions, by which users meet so many items on average."""
        return replace(self, activities=activities_for(number, self.activities, self.weights))

    def likely(self, rng: np.random.Generator, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs drawn ∝ Σ activity · weight, and the share of each that is met: below 1 where p is cut."""
        active, heavy = self.activities.sum(axis=0), self.weights.sum(axis=0)
        period = rng.choice(len(active), number, p=active * heavy / (active * heavy).sum())
        user, item = (
            _in_period(table, period, rng.random(number)) for table in (self.activities, self.weights)
        )  # fmt: skip
        rate = pair_rates(self.activities, self.weights, user, item)
        return user, item, np.minimum(rate, MOST) / np.maximum(rate, 1e-300)

    @cached_property
    def _bound(self) -> np.ndarray:
        return rate_bound(added(self.activities * self.weights.max(axis=0)))

    @cached_property
    def _columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights of the periods one after the other, added up; where each period begins."""
        total = np.cumsum(self.weights.T.ravel())
        return total, np.append(0.0, total[self.items - 1 :: self.items])

    def _visit(self, user: np.ndarray, turn: np.ndarray) -> Rows:
        total, edges = self._columns
        which, drawn = (
            as_coins(pair_keys(derive(self.seed, f"world {what}"), user, turn)) for what in ("period", "visited")
        )
        period = chosen([self.activities[user, t] * (edges[t + 1] - edges[t]) for t in range(len(edges) - 1)], which)
        place = np.searchsorted(total, edges[period] + drawn * (edges[period + 1] - edges[period]), side="right")
        item = np.clip(place - period * self.items, 0, self.items - 1)
        return item, self._bound[user] * pair_rates(self.activities, self.weights, user, item)


@dataclass(frozen=True)
class TimesInPeriods:
    """When pairs are met: in a period ∝ activity · weight, and there between the user's first and last row.

    Period and time come from hashes of the pair. Inside a period the time is first + (last − first) · coin^fade.
    """

    activities: np.ndarray = field(repr=False)  # users × periods, as of ByPeriods
    weights: np.ndarray = field(repr=False)
    first: np.ndarray = field(repr=False)  # users × periods, seconds
    last: np.ndarray = field(repr=False)
    begin: int
    end: int
    fade: float = 1.0
    seed: int = 0

    def periods(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """The period in which each pair is met, if it is met at all; else one in which the user is active."""
        parts = [own[users] * other[items] for own, other in zip(self.activities.T, self.weights.T)]
        found = chosen(parts, pair_coins(self.seed, "period", users, items))
        away = self.activities[users, found] == 0
        return np.where(away, self.activities.argmax(axis=1)[users], found)

    def of(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """The time of each pair, in seconds."""
        period = self.periods(users, items)
        first, last = self.first[users, period], self.last[users, period]
        coin = pair_coins(self.seed, "time", users, items) ** self.fade
        return np.asarray(first + ((last - first) * coin).astype(np.int64))

    def relative(self, seconds: np.ndarray) -> np.ndarray:
        """Times with 0 at the begin of the log and 1 at its end."""
        return (seconds - self.begin) / max(self.end - self.begin, 1)


def added(table: np.ndarray) -> np.ndarray:
    """Sums of rows, added in the order of the columns whatever the number of rows."""
    total = np.zeros(len(table))
    for column in table.T:
        total += column
    return total


def pair_rates(activities: np.ndarray, weights: np.ndarray, users: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Σ_t activity · weight of each pair; added in one order, so that shapes and machines change nothing.

    >>> pair_rates(np.array([[1.0, 2.0]]), np.array([[0.5, 0.1]]), np.array([0]), np.array([0])).round(3).tolist()
    [0.7]
    """
    total = np.zeros(np.broadcast_shapes(np.shape(users), np.shape(items)))
    for own, other in zip(activities.T, weights.T):
        total += own[users] * other[items]
    return total


def chosen(parts: list[np.ndarray], coin: np.ndarray) -> np.ndarray:
    """The place of one of the parts, drawn in proportion to them."""
    aim = coin * np.sum(parts, axis=0)
    reached, place = np.zeros(aim.shape), np.zeros(aim.shape, np.int64)
    for part in parts[:-1]:
        reached = reached + part
        place += reached <= aim
    return place


def _in_period(table: np.ndarray, period: np.ndarray, coin: np.ndarray) -> np.ndarray:
    """Rows of a table drawn in proportion to the column of a period."""
    found = np.empty(len(period), np.int64)
    for t in range(table.shape[1]):
        own, total = period == t, np.cumsum(table[:, t])
        found[own] = np.minimum(np.searchsorted(total, coin[own] * total[-1], side="right"), len(total) - 1)
    return found


# ---- sums over all pairs -------------------------------------------------------------------------------------------


def rows_of_users(activities: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Σ_i p of every user, by period (users × periods).

    >>> rows_of_users(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[0.5, 0.1], [0.4, 0.9]])).round(3).tolist()
    [[0.9, 0.0], [0.0, 1.15]]
    """
    return _sums(activities, weights)[0]


def rows_of_items(activities: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Σ_u p of every item, by period (items × periods)."""
    return _sums(activities, weights)[1]


def _sums(activities: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Without the limit, sums are products; what the limit takes away is subtracted, pair by pair that it cuts."""
    cut_user, cut_item = np.zeros_like(activities), np.zeros_like(weights)
    for user, item, rate in _cut_pairs(activities, weights):
        part = 1 - MOST / rate
        for t in range(activities.shape[1]):
            cut_user[:, t] += np.bincount(user, part * weights[item, t], minlength=len(activities))
            cut_item[:, t] += np.bincount(item, part * activities[user, t], minlength=len(weights))
    return activities * (weights.sum(axis=0) - cut_user), weights * (activities.sum(axis=0) - cut_item)


def activities_for(number: np.ndarray, activities: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Activities in the same proportions with which users meet so many items on average, over all periods.

    >>> activities_for(np.array([1.8]), np.array([[0.5, 0.5]]), np.array([[0.9, 0.9], [1.8, 1.8]])).round(3).tolist()
    [[0.472, 0.472]]
    """
    found = activities.copy()
    for _ in range(60):
        found *= (number / np.maximum(added(rows_of_users(found, weights)), 1e-300))[:, None]
    return found


def _cut_pairs(activities: np.ndarray, weights: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The pairs with rates above 0.95: of active users and heavy items, which alone are looked at."""
    active, heavy = added(activities), weights.max(axis=1)
    users, items = np.argsort(-active, kind="stable"), np.argsort(-heavy, kind="stable")
    number = np.searchsorted(-heavy[items], -MOST / np.maximum(active[users], 1e-300))  # falls from user to user
    begin, end = 0, int(np.count_nonzero(number))
    while begin < end:
        size = max(1, _AT_ONCE // int(number[begin]))
        some, few = users[begin : min(begin + size, end)], items[: number[begin]]
        rate = pair_rates(activities, weights, some[:, None], few)
        user, item = np.nonzero(rate > MOST)
        yield some[user], few[item], rate[user, item]
        begin += size
