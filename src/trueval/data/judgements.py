"""Judgements: what the test set says about each user's items, in codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trueval.data.by_user import ByUser
from trueval.data.coded_column import CodedColumn
from trueval.data.ids import Ids, recode
from trueval.data.interactions import Interactions
from trueval.errors import DataError, rows_found
from trueval.kernels import mark_present


@dataclass(frozen=True, slots=True)
class Judged:
    """One row per judged pair, with its value (1 for implicit data) and whether it is relevant."""

    rows: ByUser
    relevant: np.ndarray
    highest: float = 0.0  # value of the whole test set, whatever part of it this is

    def items(self, number: int) -> np.ndarray:
        """Which of this many items are judged for anybody."""
        present = np.zeros(number, bool)
        mark_present(self.rows.item, present)
        return present

    def recoded(self, users: np.ndarray | None, n_users: int, items: np.ndarray) -> Judged:
        """The same in larger vocabularies: the new codes of the users (None: as they are) and of the items.

        These are sorted, like all vocabularies, so that rows keep their order.

        >>> judged = Judged(ByUser.of(np.array([0, 1]), np.array([1, 0]), n_users=2), np.array([True, True]))
        >>> found = judged.recoded(np.array([0, 2]), 3, np.array([4, 7])).rows
        >>> found.start.tolist(), found.item.tolist()
        ([0, 1, 1, 2], [7, 4])
        """
        start = self.rows.start
        if users is not None:
            start = np.zeros(n_users + 1, np.int64)
            start[users + 1] = self.rows.counts
            np.cumsum(start, out=start)
        rows = ByUser(start, recode(items, self.rows.item), self.rows.value, self.rows.times)
        return Judged(rows, self.relevant, self.highest)

    def pick(self, users: np.ndarray) -> Judged:
        """The judgements of some users, in their order."""
        return Judged(self.rows.pick(users), self.rows.pick_column(users, self.relevant), self.highest)

    def where(self, keep: np.ndarray) -> Judged:
        """The judgements for which `keep` holds."""
        return Judged(self.rows.where(keep), self.relevant[keep], self.highest)


def judge(
    test: Interactions, users: Ids, items: Ids, *, threshold: float | None = None,
    coded: Mapping[str, CodedColumn] | None = None,
) -> Judged:  # fmt: skip
    """Code and judge a test set; `coded` are its users and items, where they have been looked at before.

    With a threshold an item is relevant when its value reaches it; without one, when its value is positive.
    The same pair twice with one value is one judgement; with two values it is an error.

    >>> import polars as pl
    >>> test = Interactions.of(pl.DataFrame({"user": [1, 1], "item": [7, 8], "value": [5.0, 2.0]}))
    >>> judge(test, Ids(pl.Series([1])), Ids(pl.Series([7, 8])), threshold=4).relevant.tolist()
    [True, False]
    """
    check_threshold(test, threshold)
    rows = ByUser.code(test.frame, users, items, coded)
    value = np.broadcast_to(1.0, len(rows.item)) if rows.value is None else rows.value  # ones that take no memory
    rows = _distinct(ByUser(rows.start, rows.item, value), users, items, where=test.name)
    assert rows.value is not None
    alike = rows.value.strides == (0,)  # one value for all is looked at once
    value = rows.value[:1] if alike else rows.value
    relevant = value >= threshold if threshold is not None else value > 0
    if not relevant.any():
        raise _nothing_relevant(threshold, value, test.name)
    return Judged(rows, np.broadcast_to(relevant, len(rows.item)) if alike else relevant, float(value.max()))


def check_threshold(test: Interactions, threshold: float | None) -> None:
    """Refuse a threshold without values, and one that none of them reaches."""
    if threshold is None:
        return
    if not test.has("value"):
        raise DataError(
            "a threshold needs a value column",
            where=test.name,
            found="columns " + ", ".join(test.frame.columns),
            do="name it with columns={'value': …} (--columns value=…), or leave the threshold out",
        )
    value = test.frame["value"].to_numpy()
    if len(value) and not value.max() >= threshold:
        raise _nothing_relevant(threshold, value, test.name)


def _nothing_relevant(threshold: float | None, value: np.ndarray, where: str) -> DataError:
    limit = f"reaches the threshold {threshold:g}" if threshold is not None else "is above 0"
    return DataError(
        f"no value {limit}, so no user has a relevant item",
        where=where,
        found=f"values from {value.min():g} to {value.max():g}",
        do="lower the threshold",
    )


def _distinct(rows: ByUser, users: Ids, items: Ids, *, where: str) -> ByUser:
    """Each pair once. Rows are sorted by user and item, so equal pairs are neighbours."""
    again = rows.repeated
    if not again.any():
        return rows
    user, value = rows.user, rows.value
    assert value is not None
    differs = np.flatnonzero(again & (value != np.roll(value, 1)))
    if len(differs):
        pairs = np.sort(np.unique(np.concatenate([differs - 1, differs])))[:5]
        examples = zip(users.decode(user[pairs]), items.decode(rows.item[pairs]), value[pairs])
        raise DataError(
            "the same user and item are judged twice with different values",
            where=where,
            found=rows_found([f"user {u}, item {i}: {v:g}" for u, i, v in examples], len(differs) + 1),
            do="keep one judgement per user and item (the last, or the mean)",
        )
    return rows.where(~again)


def check_overlap(known: np.ndarray, *, what: str, where: str, examples: tuple[list, list]) -> None:
    """Refuse two tables without a common id: every value would silently be zero."""
    if len(known) and not known.any():
        left, right = examples
        raise DataError(
            f"the two tables have no {what} in common",
            where=where,
            found=f"{', '.join(map(repr, left[:3]))}… and {', '.join(map(repr, right[:3]))}…",
            do="check that both tables use the same ids",
        )
