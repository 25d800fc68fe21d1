"""Periods fitted to a log: users come when they came, and items are popular when they were, as far as the log tells."""

from __future__ import annotations

import numpy as np

from trueval.kernels.seeds import derive
from trueval.simulation.observation import MOST, ByPopularity, sum_of_least
from trueval.simulation.periods import ByPeriods, TimesInPeriods, added, rows_of_items, rows_of_users
from trueval.simulation.popularity_moves import drawn_shares

_MOST_PERIODS, _ROWS = 8, 100  # periods, and rows that each should have
_FULL = 0.9 * MOST  # no item is met by more of the users of a period, on average
_CLOSE = 0.002  # sums are fitted up to this share
_TURNS = 30


def in_periods(
    seen: ByPopularity, user: np.ndarray, item: np.ndarray, time: np.ndarray, *, seed: int
) -> tuple[ByPeriods, TimesInPeriods] | None:
    """What a world meets over all time, spread over periods as the rows of a log are; None where all have one time.

    Numbers of rows of users and items stay those of `seen`.

    >>> seen = ByPopularity(np.array([0.5, 0.5]), np.array([0.6, 0.2]))
    >>> rows = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([10, 11, 25, 27])
    >>> observed, times = in_periods(seen, *rows, seed=0)
    >>> observed.activities.shape, bool((times.of(np.array([0, 1]), np.array([0, 0])) // 10 == [1, 2]).all())
    ((2, 2), True)
    """
    period, number = _periods(time)
    if number < 2:
        return None
    users, items = len(seen.activity), len(seen.weight)
    by_user, by_item = (
        np.bincount(owner * number + period, minlength=size * number).reshape(size, number)
        for owner, size in ((user, users), (item, items))
    )
    there = by_user.sum(axis=0) > 0  # rows of one time are not divided, so that periods may be empty
    meet_user = by_user[:, there] * (sum_of_least(seen.activity, seen.weight) / by_user.sum(axis=1))[:, None]
    meet_item = sum_of_least(seen.weight, seen.activity)
    alone = _alone(by_user[:, there]) * _squares(seen.weight, seen.activity)
    rng = np.random.default_rng(int(derive(seed, "popularity moves")))
    shares = drawn_shares(by_item * (meet_item / (meet_item - alone))[:, None], rng)[:, there]
    meet_item = _balanced(shares, meet_item, meet_user)
    activities, weights = _fitted(meet_user, meet_item)
    first, last = _spans(user * number + period, time, users * number)
    first, last = (table.reshape(users, number)[:, there] for table in (first, last))
    times = TimesInPeriods(
        activities, weights, first, last, begin=int(time.min()), end=int(time.max()), seed=seed,
        fade=_fade(user, (np.cumsum(there) - 1)[period], time, first, last),
    )  # fmt: skip
    return ByPeriods(activities, weights, seen.seed), times


def _periods(time: np.ndarray) -> tuple[np.ndarray, int]:
    """The period of each row, of about equal numbers of rows; and their number: 2, 4 or 8, or 1 of equal times."""
    ordered = np.sort(time)
    if ordered[0] == ordered[-1]:
        return np.zeros(len(time), np.int64), 1
    number = 2
    while number < _MOST_PERIODS and len(time) >= 2 * number * _ROWS:
        number *= 2
    middle = (np.searchsorted(ordered, time) + np.searchsorted(ordered, time, side="right")) / 2
    period = np.minimum((number * middle / len(time)).astype(np.int64), number - 1)
    return (period, number) if len(np.unique(period)) > 1 else (np.zeros(len(time), np.int64), 1)


def _squares(weight: np.ndarray, activity: np.ndarray) -> np.ndarray:
    """Σ_u p² of every item.

    Rows of users who come in one period alone vary by Σ p (1 − p) in number: those of popular items are as sure as
    1 / (1 − Σ p² / Σ p) times as many rows would be that come for themselves.
    """
    ordered = np.sort(activity)
    total = np.concatenate([[0.0], np.cumsum(ordered**2)])
    free = np.searchsorted(ordered, MOST / np.maximum(weight, 1e-300), side="right")
    return weight**2 * total[free] + MOST**2 * (len(ordered) - free)


def _alone(by_user: np.ndarray) -> float:
    """How far users come in one period alone: 1 where all do, 0 where everybody comes as all rows do."""
    rows, usual = by_user.sum(axis=1), by_user.sum(axis=0) / by_user.sum()
    apart = ((by_user / rows[:, None] - usual) ** 2).sum(axis=1)
    found = (rows**2 * apart).sum() / (rows**2).sum() / (1 - (usual**2).sum())
    return float(np.clip(found, 0.0, 1.0))


def _balanced(shares: np.ndarray, meet_item: np.ndarray, meet_user: np.ndarray) -> np.ndarray:
    """Rows of items by period, with the sums of the items and of the periods."""
    of_period, most = meet_user.sum(axis=0), _FULL * np.count_nonzero(meet_user, axis=0)
    found = shares * meet_item[:, None]
    for _ in range(50):
        found = found * (of_period / np.maximum(found.sum(axis=0), 1e-300))
        found = np.minimum(found * (meet_item / np.maximum(added(found), 1e-300))[:, None], most)
    return found


def _fitted(meet_user: np.ndarray, meet_item: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Activities and weights with which users and items have these numbers of rows in each period, on average."""
    activities, weights = meet_user.copy(), meet_item / np.maximum(meet_item.sum(axis=0), 1e-300)
    for _ in range(_TURNS):
        by_item = rows_of_items(activities, weights)
        weights *= _towards(meet_item, by_item)
        by_user = rows_of_users(activities, weights)
        activities *= _towards(meet_user, by_user)
        if max(_off(meet_item, by_item), _off(meet_user, by_user)) < _CLOSE:
            break
    return activities, weights


def _off(wanted: np.ndarray, found: np.ndarray) -> float:
    """How far sums over periods are off at most, as a share of them."""
    return float(np.abs(added(found) / np.maximum(added(wanted), 1e-300) - 1).max())


def _towards(wanted: np.ndarray, found: np.ndarray) -> np.ndarray:
    return np.clip(wanted / np.maximum(found, 1e-300), 0.1, 10.0) * (wanted > 0)


def _spans(cell: np.ndarray, time: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last time in each cell; 0 where there is none."""
    far = np.iinfo(np.int64)
    first, last = np.full(cells, far.max), np.full(cells, far.min)
    np.minimum.at(first, cell, time)
    np.maximum.at(last, cell, time)
    return np.where(first <= last, first, 0), np.where(first <= last, last, 0)


def _fade(user: np.ndarray, period: np.ndarray, time: np.ndarray, first: np.ndarray, last: np.ndarray) -> float:
    """How early in their span the rows of a period come: the mean of coin^f is 1/(1+f)."""
    begin, room = first[user, period], last[user, period] - first[user, period]
    part = (time - begin)[room > 0] / room[room > 0]
    return float(np.clip(1 / max(part.mean(), 1e-3) - 1, 0.1, 10)) if len(part) else 1.0
