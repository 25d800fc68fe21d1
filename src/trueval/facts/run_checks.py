"""What no run may have: items outside the catalogue, an item twice in a list, ranks that cannot be."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from trueval.errors import DataError, rows_found
from trueval.facts.truth import Truth


def check_catalogue(run: pl.DataFrame, item: np.ndarray, catalogue: np.ndarray, name: str) -> None:
    """Refuse items (as codes, -1 for unknown ones) that `catalogue` does not mark."""
    outside = item < 0
    outside[~outside] = ~catalogue[item[~outside]]
    if outside.any():
        examples = [
            f"user {u}, item {i}" for u, i in run.select("user", "item").filter(pl.Series(outside)).head(5).rows()
        ]
        raise DataError(
            "recommended items are outside the catalogue",
            where=name,
            found=rows_found(examples, int(outside.sum())),
            do="add them to the catalogue if they can be recommended; otherwise choose what becomes of their places: "
            "invalid=miss (--invalid miss) keeps them as misses, invalid=drop moves up what is below them",
        )


def refuse_duplicates(start: np.ndarray, item: np.ndarray, truth: Truth, name: str) -> None:
    """Say which items a list has twice, once it is known that there are some."""
    pairs = pl.DataFrame({"unit": _units(start), "item": item}).filter(pl.struct("unit", "item").is_duplicated())
    examples = pairs.unique().sort("unit", "item").head(5)
    ids = zip(truth.users.decode(examples["unit"].to_numpy()), truth.item_ids(examples["item"].to_numpy()))
    raise DataError(
        "an item is recommended to the same user twice",
        where=name,
        found=rows_found([f"user {u}, item {i}" for u, i in ids], len(pairs)),
        do="keep each item once in a list; or let its lower places count as misses (invalid=miss, --invalid miss), "
        "or drop them (invalid=drop)",
    )


def check_ranks(start: np.ndarray, key: np.ndarray, item: np.ndarray, truth: Truth, name: str) -> None:
    """Refuse negative ranks, and the same rank twice in a list; `key` is the negative rank, lists are in order."""
    unit = _units(start)
    below = np.flatnonzero(key > 0)  # lists numbered from 0 are as good as from 1
    if len(below):
        users, items = truth.users.decode(unit[below[:5]]), truth.item_ids(item[below[:5]])
        found = [f"user {u}, item {i}: rank {-key[j] + 0.0:g}" for u, i, j in zip(users, items, below)]
        raise DataError(
            "ranks cannot be negative",
            where=name,
            found=rows_found(found, len(below)),
            do="number each user's items 1, 2, 3…; where a higher number is better, call the column score",
        )
    same = np.flatnonzero((key[1:] == key[:-1]) & (unit[1:] == unit[:-1]))
    if len(same):
        users = truth.users.decode(unit[same[:5]])
        found = [
            f"user {u}, items {' and '.join(map(str, truth.item_ids(item[j : j + 2])))}: rank {-key[j]:g}"
            for u, j in zip(users, same)
        ]
        raise DataError(
            "a list has the same rank twice",
            where=name,
            found=rows_found(found, len(same)),
            do="give every item its own rank",
        )


def not_finite(rows: Iterable[tuple[object, object, float]], number: int, name: str) -> DataError:
    """For scores that are no numbers to order by: some of them (user, item, score), and how many there are."""
    return DataError(
        "scores must be finite numbers",
        where=name,
        found=rows_found([f"user {u}, item {i}: {s}" for u, i, s in rows], number),
        do="drop these rows or give them a score",
    )


def check_agreement(run: pl.DataFrame, user: np.ndarray, name: str) -> None:
    """Where both are given, a better rank must not have a worse score; users as codes, -1 for unknown ones."""
    rows = run.select("user", "item", "score", "rank").with_columns(pl.Series("unit", user)).filter(pl.col("unit") >= 0)
    odd = rows.filter(~pl.col("score").cast(pl.Float64).is_finite())
    if len(odd):  # NaN compares as higher than all: it would look like a contradiction
        raise not_finite(odd.select("user", "item", "score").head(5).rows(), len(odd), name)
    rows = rows.sort("unit", "rank")
    falls = rows["score"].diff() > 0
    wrong = falls & (rows["unit"].diff() == 0)
    if wrong.fill_null(False).any():
        examples = rows.filter(wrong.fill_null(False)).head(5)
        found = [
            f"user {u}, item {i}: rank {r}, score {s:g}"
            for u, i, s, r in examples.select("user", "item", "score", "rank").rows()
        ]
        raise DataError(
            "ranks contradict scores: a lower place has a higher score",
            where=name,
            found=rows_found(found, int(wrong.sum())),
            do="drop the wrong column (score, if lower scores are better)",
        )


def _units(start: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(start) - 1), np.diff(start))
