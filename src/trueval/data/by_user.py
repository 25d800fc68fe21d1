"""Coded interactions grouped by user: the form in which every later stage reads a log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from trueval.data.coded_column import CodedColumn
from trueval.data.ids import Ids
from trueval.kernels import SMALL, blocks, choose, in_order, threads


@dataclass(frozen=True, slots=True)
class ByUser:
    """Rows of user u are `start[u]` to `start[u+1]`; items within a user ascend.

    >>> rows = ByUser.of(np.array([1, 0, 1]), np.array([5, 3, 2]), n_users=2)
    >>> rows.start.tolist(), rows.item.tolist()
    ([0, 1, 3], [3, 2, 5])
    """

    start: np.ndarray
    item: np.ndarray
    value: np.ndarray | None = None
    times: np.ndarray | None = None  # how many rows each row stands for; None where it is one

    @staticmethod
    def of(
        user: np.ndarray, item: np.ndarray, value: np.ndarray | None = None, *, n_users: int, keep: bool = True
    ) -> ByUser:
        """Group coded rows by user. Rows whose user or item is -1 are left out; equal rows keep their order.

        Unless the columns must be kept as they are, users and items are used up.
        """
        kernels = choose("lists", len(user))
        user, item = user.astype(np.int32, copy=False), item.astype(np.int32, copy=False)
        if item.min(initial=0) < 0:
            known = item >= 0
            user, item, value = user[known], item[known], None if value is None else value[known]
        start = np.zeros(n_users + 1, np.int64)
        if kernels.grouped_starts(user, start):
            return _items_sorted(start, item.copy() if keep else item, value)
        item, moved = kernels.group_lists(user, start, item, np.empty(0) if value is None else value, keep=keep)
        return _items_sorted(start, item, None if value is None else moved)

    @staticmethod
    def code(frame: pl.DataFrame, users: Ids, items: Ids, coded: Mapping[str, CodedColumn] | None = None) -> ByUser:
        """Code a table with the columns `user`, `item` and perhaps `value`; `coded` are the first two, where known."""
        value = frame["value"].to_numpy() if "value" in frame.columns else None
        if coded is None:
            return ByUser.of(
                users.codes(frame["user"]), items.codes(frame["item"]), value, n_users=len(users), keep=False
            )
        item, runs = coded["item"].within(items, keep=False), coded["user"].runs_within(users)
        if runs is not None and item.flags.writeable and item.min(initial=0) >= 0:
            start, item, moved = move_to_users(*runs, len(users), item, np.empty(0) if value is None else value)
            return _items_sorted(start, item, None if value is None else moved)
        return ByUser.of(coded["user"].within(users, keep=False), item, value, n_users=len(users), keep=False)

    @property
    def counts(self) -> np.ndarray:
        """Number of rows of each user."""
        return np.diff(self.start)

    @property
    def user(self) -> np.ndarray:
        """User of each row."""
        return np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), self.counts)

    def pick(self, users: np.ndarray) -> ByUser:
        """The rows of some users, in their order, grouped by place."""
        start = np.concatenate([[0], np.cumsum(self.start[users + 1] - self.start[users])])
        further = (None if own is None else self.pick_column(users, own) for own in (self.value, self.times))
        return ByUser(start, self.pick_column(users, self.item), *further)

    def pick_column(self, users: np.ndarray, column: np.ndarray) -> np.ndarray:
        """What a column that goes with the rows has for those of some users, in their order."""
        if column.strides == (0,):  # one value for all
            return np.broadcast_to(column[:1], int((self.start[users + 1] - self.start[users]).sum()))
        begin = self.start[users]
        start = np.concatenate([[0], np.cumsum(self.start[users + 1] - begin)])
        out, none = np.empty(start[-1], column.dtype), np.empty(0, column.dtype)
        kernels = choose("lists", len(out))

        def move(part: slice) -> None:
            kernels.move_lists(begin, start, column, none, part.start, part.stop, out, none)

        for _ in in_order(move, user_blocks(len(users))):
            pass
        return out

    def where(self, keep: np.ndarray) -> ByUser:
        """The rows for which `keep` holds."""
        if keep.all():
            return self
        total = np.concatenate([[0], np.cumsum(keep)])
        further = (None if own is None else own[keep] for own in (self.value, self.times))
        return ByUser(total[self.start], self.item[keep], *further)

    @property
    def repeated(self) -> np.ndarray:
        """Whether a row has the same user and item as the row before it."""
        same = np.zeros(len(self.item), bool)
        same[1:] = self.item[1:] == self.item[:-1]
        same[self.start[:-1][self.counts > 0]] = False
        return same

    def distinct(self) -> ByUser:
        """Each pair once, with the mean of its values and the number of its rows.

        >>> rows = ByUser.of(np.array([0, 0]), np.array([4, 4]), np.array([1.0, 2.0]), n_users=1).distinct()
        >>> rows.item.tolist(), rows.value.tolist(), rows.times.tolist()
        ([4], [1.5], [2])
        """
        again = self.repeated
        if not again.any():
            return self
        kept = self.where(~again)
        pair = np.cumsum(~again) - 1
        times = np.bincount(pair)
        return ByUser(
            kept.start, kept.item, None if self.value is None else np.bincount(pair, self.value) / times, times
        )

    def contains(self, user: np.ndarray, item: np.ndarray) -> np.ndarray:
        """Whether each pair is among the rows.

        >>> rows = ByUser.of(np.array([0, 1]), np.array([4, 2]), n_users=2)
        >>> rows.contains(np.array([1, 1]), np.array([2, 4])).tolist()
        [True, False]
        """
        return self.find(user, item) >= 0

    def find(self, user: np.ndarray, item: np.ndarray) -> np.ndarray:
        """Row of each pair, -1 where there is none."""
        if not len(self.item):
            return np.full(len(item), -1)
        width = max(int(self.item.max()), int(item.max(initial=0))) + 1
        rows = self.user * np.int64(width) + self.item  # ascending, like users and their items
        keys = user.astype(np.int64) * width + item
        place = np.minimum(np.searchsorted(rows, keys), len(rows) - 1)
        return np.where((rows[place] == keys) & (item >= 0), place, -1)  # with -1 a key would be that of another user

    def common(self, other: ByUser) -> int:
        """How many rows of the same users have an item that the other has, too.

        >>> rows = ByUser.of(np.array([0, 1]), np.array([4, 2]), n_users=2)
        >>> rows.common(ByUser.of(np.array([0, 0, 1]), np.array([4, 5, 4]), n_users=2))
        1
        """
        if len(self.item) <= SMALL:
            return int(other.contains(self.user, self.item).sum())
        kernel = choose("seen", len(self.item)).count_seen
        depth = int(self.counts.max(initial=0))

        def count(part: slice) -> int:
            return kernel(self.start, self.item, other.start, other.item, depth, part.start, part.stop)

        return sum(in_order(count, user_blocks(len(self.start) - 1)))

    @staticmethod
    def empty(n_users: int) -> ByUser:
        """No rows at all."""
        return ByUser(np.zeros(n_users + 1, np.int64), np.empty(0, np.int32))


def _items_sorted(start: np.ndarray, item: np.ndarray, value: np.ndarray | None) -> ByUser:
    """Rows by user with items that ascend, which are sorted in place."""
    places = np.empty(0, np.int64) if value is None else np.arange(len(item))
    kernels = choose("lists", len(item))
    for _ in in_order(
        lambda part: kernels.sort_up(start, item, places, part.start, part.stop), user_blocks(len(start) - 1)
    ):
        pass
    return ByUser(start, item, None if value is None else value[places])


def move_to_users(
    codes: np.ndarray, rows: np.ndarray, n_users: int, item: np.ndarray, key: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lists by user, who has one at the most: where each starts, and items and keys (unless there are none).

    The list of `codes[n]`, -1 for users who do not count, is in rows `rows[n]` to `rows[n + 1]`.
    """
    start = np.zeros(n_users + 1, np.int64)
    known, length = codes >= 0, np.diff(rows)
    start[codes[known] + 1] = length[known]
    np.cumsum(start, out=start)
    if known.all() and (codes[1:] > codes[:-1]).all():
        return start, item, key
    begin = np.zeros(n_users, np.int64)
    begin[codes[known]] = rows[:-1][known]
    out_item, out_key = np.empty(start[-1], item.dtype), np.empty(start[-1] if len(key) else 0, key.dtype)
    kernels = choose("lists", len(item))

    def move(part: slice) -> None:
        kernels.move_lists(begin, start, item, key, part.start, part.stop, out_item, out_key)

    for _ in in_order(move, user_blocks(n_users)):
        pass
    return start, out_item, out_key


def user_blocks(n_users: int) -> list[slice]:
    """Users cut for the workers."""
    return blocks(n_users, max(1024, n_users // (4 * threads()) + 1))


def segment_sum(start: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum of each segment; 0 for an empty one.

    >>> segment_sum(np.array([0, 2, 2, 3]), np.array([1.0, 2.0, 4.0])).tolist()
    [3.0, 0.0, 4.0]
    """
    unit = np.repeat(np.arange(len(start) - 1), np.diff(start))
    return np.bincount(unit, weights=values, minlength=len(start) - 1)
