"""Orders that give every aspect its share: the selection behind ideal rankings and proportional removals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.data.aspects import Aspects
from trueval.data.by_user import segment_sum
from trueval.kernels.aspect_rows import EQUAL

NO_ASPECT = -1


class BalancedOrder(NamedTuple):
    """Rows in their new order, and the aspect that each was taken for (−1 for items that show none, which are last)."""

    row: np.ndarray
    aspect: np.ndarray


def balanced_order(start: np.ndarray, item: np.ndarray, value: np.ndarray, aspects: Aspects) -> BalancedOrder:
    """Order each user's rows so that aspects appear in proportion to their weight among them.

    Place by place, the aspect is chosen whose weight among all rows of the user exceeds its weight among the rows
    ordered so far by most (ties go to the smaller code), and the first row that shows it is taken; it counts for all
    aspects of its item. The weight of an aspect is the sum of the values of rows that show it, divided by that sum over
    all aspects. All users go on together, one place at a time.

    Parameters
    ----------
    start : array
        Rows of user u are `start[u]` to `start[u+1]-1`, best first.
    item, value : array
        Item code and value (0 or more) of each row.
    aspects : Aspects
        Aspects of the items.

    Examples
    --------
    >>> import polars as pl
    >>> shown = Aspects.of(np.array([0, 1, 2]), pl.Series(["a", "a", "b"]), n_items=3)
    >>> order = balanced_order(np.array([0, 3]), np.array([0, 1, 2]), np.array([5.0, 4.0, 3.0]), shown)
    >>> order.row.tolist(), [shown.names[a] for a in order.aspect]
    ([0, 2, 1], ['a', 'b', 'a'])
    """
    queues = _Queues.of(start, item, aspects)
    wanted = aspect_weights(start, item, value, aspects)
    units, number = wanted.shape
    got, total = np.zeros((units, number)), np.zeros(units)
    taken = np.zeros(len(item), bool)
    left = np.diff(queues.first)[: units * number].reshape(units, number)
    row, aspect = np.full(len(item), -1, np.int64), np.full(len(item), NO_ASPECT, np.int32)
    place, active = 0, np.arange(units)
    while len(active := active[(left[active] > 0).any(axis=1)]):
        so_far = got[active] / np.where(total[active] > 0, total[active], 1.0)[:, None]
        lack = np.where(left[active] > 0, wanted[active] - so_far, -np.inf)
        chosen = (lack >= lack.max(axis=1, keepdims=True) - EQUAL).argmax(axis=1)
        found = queues.pop(active * number + chosen, taken)
        row[start[active] + place], aspect[start[active] + place] = found, chosen
        owner, shown = _aspects_of(item[found], aspects)
        who = active[owner]
        np.add.at(got, (who, shown), value[found][owner])
        np.add.at(total, who, value[found][owner])
        np.subtract.at(left, (who, shown), 1)
        place += 1
    return BalancedOrder(_with_the_rest(row, taken, start), aspect)


def aspect_weights(start: np.ndarray, item: np.ndarray, value: np.ndarray, aspects: Aspects) -> np.ndarray:
    """Weight of each aspect for each user, one row per user: its share of the user's values, 0 without any.

    >>> import polars as pl
    >>> shown = Aspects.of(np.array([0, 1, 1]), pl.Series(["a", "a", "b"]), n_items=2)
    >>> aspect_weights(np.array([0, 2]), np.array([0, 1]), np.array([5.0, 4.0]), shown).round(3).tolist()
    [[0.692, 0.308]]
    """
    units, number = len(start) - 1, max(len(aspects), 1)
    owner, shown = _aspects_of(item, aspects)
    unit = np.repeat(np.arange(units), np.diff(start))[owner]
    sums = np.bincount(unit * number + shown, weights=value[owner], minlength=units * number).reshape(units, number)
    total = sums.sum(axis=1, keepdims=True)
    return np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)


def _aspects_of(item: np.ndarray, aspects: Aspects) -> tuple[np.ndarray, np.ndarray]:
    """One row per item given and aspect that it shows: the place of the item, and the aspect."""
    counts = aspects.start[item + 1] - aspects.start[item]
    owner = np.repeat(np.arange(len(item)), counts)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return owner, aspects.aspect[aspects.start[item][owner] + within]


class _Queues(NamedTuple):
    """Rows by user and aspect, in their order; `next` is where each queue goes on."""

    first: np.ndarray
    row: np.ndarray
    next: np.ndarray

    @staticmethod
    def of(start: np.ndarray, item: np.ndarray, aspects: Aspects) -> _Queues:
        units, number = len(start) - 1, max(len(aspects), 1)
        owner, shown = _aspects_of(item, aspects)
        unit = np.repeat(np.arange(units), np.diff(start))[owner]
        queue = unit * number + shown
        order = np.argsort(queue, kind="stable")
        first = np.concatenate([[0], np.cumsum(np.bincount(queue, minlength=units * number))])
        return _Queues(first, owner[order], first[:-1].copy())

    def pop(self, queue: np.ndarray, taken: np.ndarray) -> np.ndarray:
        """The first row of each queue that no other queue has taken; it is marked."""
        at = self.next[queue]
        while (late := taken[self.row[at]]).any():
            at = at + late
        self.next[queue] = at + 1
        taken[self.row[at]] = True
        return self.row[at]


def _with_the_rest(row: np.ndarray, taken: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Rows without any aspect, behind the others of their user, in their order."""
    if taken.all():
        return row
    rest = np.flatnonzero(~taken)
    unit = np.searchsorted(start, rest, side="right") - 1
    ordered = segment_sum(start, taken.astype(np.float64)).astype(np.int64)
    behind = np.arange(len(rest)) - np.searchsorted(unit, unit)
    row[start[unit] + ordered[unit] + behind] = rest
    return row
