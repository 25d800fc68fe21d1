"""Pairs of user and item as one number each: what repeats is found by sorting numbers, not by hashing rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from trueval.data.column_pieces import pieces
from trueval.data.first_seen import FirstSeen
from trueval.data.key_tables import by_hash

_LARGEST = 2**63  # numbers of pairs stay below


def pair_keys(frames: Sequence[pl.DataFrame]) -> list[np.ndarray] | None:
    """A number for each row, equal where user and item are, over all tables; None where ids are no whole numbers and no
    long columns of text, or too far apart.

    >>> one, other = pl.DataFrame({"user": [1, 2], "item": [7, 9]}), pl.DataFrame({"user": [2], "item": [9]})
    >>> [keys.tolist() for keys in pair_keys([one, other])]
    [[0, 5], [5]]
    """
    given = [frame for frame in frames if len(frame)]
    if not given:
        return [np.empty(0, np.int64) for _ in frames]
    users, items = (_numbers([frame[role] for frame in given]) for role in ("user", "item"))
    if users is None or items is None or users.size * items.size >= _LARGEST:
        return None
    keys = iter([user * items.size + item for user, item in zip(users.columns, items.columns)])
    return [next(keys) if len(frame) else np.empty(0, np.int64) for frame in frames]


class _Numbers(NamedTuple):
    """Ids of several columns as numbers from 0 on, below `size`."""

    columns: list[np.ndarray]
    size: int


def _numbers(columns: list[pl.Series]) -> _Numbers | None:
    if any(column.null_count() for column in columns):
        return None
    if all(column.dtype.is_integer() for column in columns):
        low = min(int(column.min()) for column in columns)  # type: ignore[arg-type]
        high = max(int(column.max()) for column in columns)  # type: ignore[arg-type]
        if low < 0 and any(column.dtype == pl.UInt64 for column in columns):
            return None
        ids = [column.to_numpy() for column in columns]
        return _Numbers([(own - own.dtype.type(low)).astype(np.int64, copy=False) for own in ids], high - low + 1)
    if any(column.dtype != pl.String for column in columns) or not any(map(by_hash, columns)):
        return None
    seen, codes = FirstSeen(), [np.empty(len(column), np.int32) for column in columns]
    for column, own in zip(columns, codes):
        for piece, rows in pieces(column):
            seen.code(piece, own[rows])
    return _Numbers([own.astype(np.int64) for own in codes], len(seen))


def repeated_rows(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The rows whose user and item are there more than once, in all tables together; where they
    have no numbers (see `pair_keys`), all rows.

    >>> train, test = (pl.DataFrame({"user": [1, 1], "item": items}) for items in ([5, 6], [6, 7]))
    >>> {name: own["item"].to_list() for name, own in repeated_rows({"train": train, "test": test}).items()}
    {'train': [6], 'test': [6]}
    """
    keys = pair_keys(list(frames.values()))
    if keys is None:
        return dict(frames)
    twice = pl.Series(_repeated(np.concatenate(keys) if keys else np.empty(0, np.int64)))
    if not len(twice):
        return {name: frame.head(0) for name, frame in frames.items()}
    found = [frame.filter(pl.Series(own).is_in(twice.implode())) for frame, own in zip(frames.values(), keys)]
    return dict(zip(frames, found))


def unique_pairs(frame: pl.DataFrame) -> pl.DataFrame:
    """Each user and item once, in no order.

    >>> len(unique_pairs(pl.DataFrame({"user": [1, 1, 2], "item": [5, 5, 5]})))
    2
    """
    pairs = frame.select("user", "item")
    keys = pair_keys([pairs])
    return pairs.unique() if keys is None or len(_repeated(keys[0])) else pairs


def _repeated(keys: np.ndarray) -> np.ndarray:
    """Numbers that are there more than once, each once."""
    ordered = np.sort(keys)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    return np.unique(again)
