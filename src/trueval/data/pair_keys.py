"""Pairs of user and item as one number each: what repeats is found by sorting numbers, not by hashing rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

_LARGEST = 2**63  # numbers of pairs stay below


def pair_keys(frames: Sequence[pl.DataFrame]) -> list[np.ndarray] | None:
    """A number for each row, equal where user and item are, over all tables; None where ids are no whole numbers, or
    too far apart.

    >>> one, other = pl.DataFrame({"user": [1, 2], "item": [7, 9]}), pl.DataFrame({"user": [2], "item": [9]})
    >>> [keys.tolist() for keys in pair_keys([one, other])]
    [[0, 5], [5]]
    """
    columns = {name: [frame[name] for frame in frames if len(frame)] for name in ("user", "item")}
    every = [column for own in columns.values() for column in own]
    if not all(column.dtype.is_integer() and not column.null_count() for column in every):
        return None
    if not every:
        return [np.empty(0, np.int64) for _ in frames]
    (low, users), (least, items) = (_range(own) for own in columns.values())
    if users * items >= _LARGEST:
        return None
    return [_from(frame["user"], low) * items + _from(frame["item"], least) for frame in frames]


def _range(columns: Sequence[pl.Series]) -> tuple[int, int]:
    """The smallest id, and how many there are from it to the largest."""
    low = min(int(column.min()) for column in columns)  # type: ignore[arg-type]
    return low, max(int(column.max()) for column in columns) - low + 1  # type: ignore[arg-type]


def _from(column: pl.Series, low: int) -> np.ndarray:
    ids = column.to_numpy()
    return (ids - ids.dtype.type(low)).astype(np.int64, copy=False) if len(ids) else np.empty(0, np.int64)


def repeated_rows(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The rows whose user and item are there more than once, in all tables together; where ids are no whole numbers,
    all rows.

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
