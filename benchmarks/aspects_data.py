"""Data for aspect metrics: lists, ratings, profiles, and an item table with 20 aspects, as parquet files.

100,000 users with lists of 100 items; each has rated about 36 test items and 40 train items of 20,000. Items have
one to five aspects, drawn by popularity like genres are: some 2,000 distinct sets. A third of the rated test items
are in the list.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

ITEMS, ASPECTS, LIST_LENGTH, TRAIN = 20_000, 20, 100, 40
SHOWN, HIDDEN = 14, 30  # test items in the list and outside it, at most; about 82 % of them are rated


def make_aspects(folder: Path, *, users: int) -> None:
    """Write recs, test, train and items.parquet unless they are there already."""
    if (folder / "done").exists():
        return
    import polars as pl

    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20_260_501)
    names = [f"aspect {a:02}" for a in range(ASPECTS)]
    weights = 1 / np.arange(1, ASPECTS + 1) ** 0.7
    counts = 1 + np.minimum(rng.geometric(0.55, ITEMS) - 1, 4)
    sets = [sorted(rng.choice(ASPECTS, n, replace=False, p=weights / weights.sum())) for n in counts]
    aspects = [[names[a] for a in own] for own in sets]
    pl.DataFrame({"item": np.arange(ITEMS), "aspects": aspects}).write_parquet(folder / "items.parquet")
    tables: dict[str, list[pl.DataFrame]] = {"recs": [], "test": [], "train": []}
    for start in range(0, users, 10_000):
        block = np.arange(start, min(start + 10_000, users))
        for name, table in _draw(rng, block).items():
            tables[name].append(pl.DataFrame(table))
    for name, parts in tables.items():
        pl.concat(parts).write_parquet(folder / f"{name}.parquet")
    (folder / "done").touch()


def _draw(rng: np.random.Generator, users: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
    needed = LIST_LENGTH + HIDDEN + TRAIN
    own = np.array([rng.choice(ITEMS, needed, replace=False) for _ in users], np.int64)
    shown = np.argsort(rng.random((len(users), LIST_LENGTH)), axis=1)[:, :SHOWN]
    rated = np.concatenate([np.take_along_axis(own, shown, axis=1), own[:, LIST_LENGTH : LIST_LENGTH + HIDDEN]], axis=1)
    kept = rng.random(rated.shape) < 0.82
    train = own[:, LIST_LENGTH + HIDDEN :]
    return {
        "recs": {
            "user": np.repeat(users, LIST_LENGTH),
            "item": own[:, :LIST_LENGTH].ravel(),
            "rank": np.tile(np.arange(1, LIST_LENGTH + 1), len(users)),
        },
        "test": {
            "user": np.repeat(users, rated.shape[1])[kept.ravel()],
            "item": rated[kept],
            "value": rng.integers(1, 6, int(kept.sum())).astype(np.float64),
        },
        "train": {
            "user": np.repeat(users, TRAIN),
            "item": train.ravel(),
            "value": rng.integers(1, 6, train.size).astype(np.float64),
        },
    }
