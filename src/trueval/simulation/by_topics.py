"""Who meets what by popularity, activity and time, and by topics: what people meet together beyond these three.

The tables are of users or items × periods and × topics: never of users × items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from trueval.kernels.seeds import derive
from trueval.simulation.observation import MOST, Rows, rate_bound
from trueval.simulation.pair_draws import as_coins, pair_keys
from trueval.simulation.periods import ByPeriods, added, chosen, pair_rates

_AT_ONCE = 2_000_000  # pairs that are looked at together
_TURNS, _CLOSE = 60, 0.001  # sums are fitted up to this share
_LOOK_AGAIN = (0, 2, 6, 15, 30)  # turns after which all pairs are looked at for those that are cut
_NEARLY = 0.6  # of the limit: pairs that may be cut before they are looked for again


@dataclass(frozen=True)
class ByTopics(ByPeriods):
    """Every pair for itself: p = min(Σ_t activity · weight × Σ_k topic of the user · topic of the item, 0.95).

    >>> seen = ByTopics(
    ...     np.array([[0.5], [0.5]]), np.array([[1.0], [0.5]]), user_topics=np.array([[1.5, 0.5], [0.5, 1.5]]),
    ...     item_topics=np.array([[1.0, 0.0], [0.5, 0.5]]),
    ... )
    >>> seen.probability(np.array([[0], [1]]), np.array([[0, 1]])).round(3).tolist()
    [[0.75, 0.25], [0.25, 0.25]]
    """

    user_topics: np.ndarray = field(repr=False, kw_only=True)  # users × topics
    item_topics: np.ndarray = field(repr=False, kw_only=True)

    @property
    def visits(self) -> np.ndarray:
        """The mean number of visits of every user, before they are thinned."""
        return self._bound * added(self._by_topic)

    def affinities(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """How many times as likely as by popularity, activity and time alone each pair is met."""
        return pair_rates(self.user_topics, self.item_topics, users, items)

    def rates(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """The probability of each pair before it is cut."""
        return pair_rates(self.activities, self.weights, users, items) * self.affinities(users, items)

    def probability(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """min(Σ activity · weight · affinity, 0.95)."""
        return np.minimum(self.rates(users, items), MOST)

    def expected(self) -> float:
        """The sum of all probabilities."""
        return float(self.rows_of_users().sum())

    def rows_of_users(self) -> np.ndarray:
        """Σ_i p of every user."""
        pairs = _CutPairs.of(self, MOST)
        return added(rows_by_topics(self, pairs)[0])

    def for_rows(self, number: np.ndarray) -> ByTopics:
        """The same with activities in the same proportions, by which users meet so many items on average."""
        found = self
        for _ in range(_TURNS):
            rows = found.rows_of_users()
            found = replace(found, activities=found.activities * (number / np.maximum(rows, 1e-300))[:, None])
            if np.abs(rows / np.maximum(number, 1e-300) - 1).max() < _CLOSE:
                break
        return found

    def likely(self, rng: np.random.Generator, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs drawn ∝ their rates, and the share of each that is met: below 1 where p is cut."""
        periods, topics = self.activities.shape[1], self.user_topics.shape[1]
        places = [(t, k) for t in range(periods) for k in range(topics)]
        heavy = np.array([
            (self.activities[:, t] * self.user_topics[:, k]).sum() * (self.weights[:, t] * self.item_topics[:, k]).sum()
            for t, k in places
        ])  # fmt: skip
        place = rng.choice(len(places), number, p=heavy / heavy.sum())
        user, item = np.empty(number, np.int64), np.empty(number, np.int64)
        for which, (t, k) in enumerate(places):
            own = np.flatnonzero(place == which)
            for found, table, sort in (
                (user, self.activities, self.user_topics),
                (item, self.weights, self.item_topics),
            ):
                total = np.cumsum(table[:, t] * sort[:, k])
                drawn = np.searchsorted(total, rng.random(len(own)) * total[-1], side="right")
                found[own] = np.minimum(drawn, len(total) - 1)
        rate = self.rates(user, item)
        return user, item, np.minimum(rate, MOST) / np.maximum(rate, 1e-300)

    @cached_property
    def _heavy(self) -> np.ndarray:
        """Σ_i weight · topic, by period and topic."""
        return np.asarray(np.einsum("it,ik->tk", self.weights, self.item_topics))

    @cached_property
    def _by_topic(self) -> np.ndarray:
        """Σ_i of the rates of every user, by topic."""
        return np.asarray(np.einsum("ut,tk->uk", self.activities, self._heavy)) * self.user_topics

    @cached_property
    def _bound(self) -> np.ndarray:
        most = np.array([[(one * other).max() for other in self.item_topics.T] for one in self.weights.T])
        return rate_bound(added(np.einsum("ut,tk->uk", self.activities, most) * self.user_topics))

    @cached_property
    def _columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights by period and topic one after the other, added up; where each of them begins."""
        total = np.cumsum(np.concatenate([one * other for one in self.weights.T for other in self.item_topics.T]))
        return total, np.append(0.0, total[self.items - 1 :: self.items])

    def _visit(self, user: np.ndarray, turn: np.ndarray) -> Rows:
        total, edges = self._columns
        which, when, drawn = (
            as_coins(pair_keys(derive(self.seed, f"world {what}"), user, turn))
            for what in ("topic", "period", "visited")
        )
        topics = self.user_topics.shape[1]
        topic = chosen([self._by_topic[user, k] for k in range(topics)], which)
        period = chosen(
            [self.activities[user, t] * self._heavy[t, topic] for t in range(self.activities.shape[1])], when
        )
        column = period * topics + topic
        place = np.searchsorted(total, edges[column] + drawn * (edges[column + 1] - edges[column]), side="right")
        item = np.clip(place - column * self.items, 0, self.items - 1)
        return item, self._bound[user] * self.rates(user, item)


def with_topics(seen: ByPeriods, user_topics: np.ndarray, item_topics: np.ndarray) -> ByTopics:
    """Topics in what is met, where every user and item meets as many as before in each period, on average.

    >>> seen = ByPeriods(np.array([[0.5], [0.2]]), np.array([[1.0], [0.5]]))
    >>> found = with_topics(seen, np.array([[1.5, 0.5], [0.5, 1.5]]), np.array([[1.0, 0.0], [0.5, 0.5]]))
    >>> found.rows_of_users().round(2).tolist(), added(seen.activities * seen.weights.sum()).round(2).tolist()
    ([0.75, 0.3], [0.75, 0.3])
    """
    none = ByTopics(
        seen.activities, seen.weights, seen.seed, user_topics=np.ones((len(seen.activities), 1), np.float32),
        item_topics=np.ones((len(seen.weights), 1), np.float32),
    )  # fmt: skip
    meet_user, meet_item = rows_by_topics(none, _CutPairs.of(none, MOST))
    activities, weights = seen.activities.copy(), seen.weights.copy()
    found = ByTopics(activities, weights, seen.seed, user_topics=user_topics, item_topics=item_topics)
    for turn in range(_TURNS):
        if turn in _LOOK_AGAIN:
            pairs = _CutPairs.of(found, _NEARLY * MOST)
        by_item = rows_by_topics(found, pairs)[1]
        weights *= _towards(meet_item, by_item)
        by_user = rows_by_topics(found, pairs)[0]
        activities *= _towards(meet_user, by_user)
        off = max(_off(one, other) for one, other in ((meet_item, by_item), (meet_user, by_user)))
        if off < _CLOSE and turn > _LOOK_AGAIN[1]:
            break
    return ByTopics(activities, weights, seen.seed, user_topics=user_topics, item_topics=item_topics)


@dataclass(frozen=True)
class _CutPairs:
    """The pairs whose rates may be above the limit, and their affinities."""

    user: np.ndarray
    item: np.ndarray
    affinity: np.ndarray

    @staticmethod
    def of(seen: ByTopics, least: float) -> _CutPairs:
        """All pairs with rates above `least`: of active users and heavy items, which alone are looked at."""
        found = [np.stack(pair) for pair in _pairs_above(seen, least)]
        user, item = np.concatenate(found, axis=1) if found else np.zeros((2, 0), np.int64)
        return _CutPairs(user, item, seen.affinities(user, item))


def rows_by_topics(seen: ByTopics, pairs: _CutPairs) -> tuple[np.ndarray, np.ndarray]:
    """Σ_i p of every user, and Σ_u p of every item, by period: products, less what the limit takes away."""
    activities, weights = seen.activities, seen.weights
    heavy = np.einsum("it,ik->tk", weights, seen.item_topics)
    active = np.einsum("ut,uk->tk", activities, seen.user_topics)
    by_user = activities * np.einsum("uk,tk->ut", seen.user_topics, heavy)
    by_item = weights * np.einsum("ik,tk->it", seen.item_topics, active)
    rate = pair_rates(activities, weights, pairs.user, pairs.item) * pairs.affinity
    cut = rate > MOST
    user, item, part = pairs.user[cut], pairs.item[cut], pairs.affinity[cut] * (1 - MOST / rate[cut])
    for t in range(activities.shape[1]):
        lost = part * activities[user, t] * weights[item, t]
        by_user[:, t] -= np.bincount(user, lost, minlength=len(activities))
        by_item[:, t] -= np.bincount(item, lost, minlength=len(weights))
    return by_user, by_item


def _pairs_above(seen: ByTopics, least: float) -> Iterator[Rows]:
    """Pairs with rates above `least`, by users; an inner product is at most the product of the lengths."""
    active = added(seen.activities) * np.sqrt(added(seen.user_topics.astype(np.float64) ** 2))
    heavy = seen.weights.max(axis=1) * np.sqrt(added(seen.item_topics.astype(np.float64) ** 2))
    users, items = np.argsort(-active, kind="stable"), np.argsort(-heavy, kind="stable")
    number = np.searchsorted(-heavy[items], -least / np.maximum(active[users], 1e-300))  # falls from user to user
    begin, end = 0, int(np.count_nonzero(number))
    while begin < end:
        size = max(1, _AT_ONCE // int(number[begin]))
        some, few = users[begin : min(begin + size, end)], items[: number[begin]]
        near = (seen.activities[some] @ seen.weights[few].T) * (seen.user_topics[some] @ seen.item_topics[few].T)
        user, item = np.nonzero(near > 0.999 * least)  # a product of matrices rounds as it likes
        user, item = some[user], few[item]
        above = seen.rates(user, item) > least
        yield user[above], item[above]
        begin += size


def _towards(wanted: np.ndarray, found: np.ndarray) -> np.ndarray:
    return np.clip(wanted / np.maximum(found, 1e-300), 0.1, 10.0) * (wanted > 0)


def _off(wanted: np.ndarray, found: np.ndarray) -> float:
    """How far sums over periods are off at most, as a share of them."""
    return float(np.abs(added(found) / np.maximum(added(wanted), 1e-300) - 1).max())
