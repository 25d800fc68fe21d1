"""W2 data: factors of a model, train and test interactions, at the size of MovieLens 20M.

A user's number of interactions is log-normal (about 180, at least 20, a fifth of them test); items are
drawn by popularity. The first factor carries popularity, so that test items rank above the average item.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

RANK = 64


def make_w2(folder: Path, *, users: int = 138_000, items: int = 27_000) -> None:
    """Write user_factors.npy, item_factors.npy, train.parquet and test.parquet (columns user, item)."""
    import polars as pl

    if (folder / "done").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20_240_502)
    popularity = 1.0 / (np.arange(items) + 20.0)
    cumulative = np.cumsum(popularity) / popularity.sum()
    user_factors = rng.normal(size=(users, RANK)).astype(np.float32) / 8
    item_factors = rng.normal(size=(items, RANK)).astype(np.float32)
    user_factors[:, 0] = rng.uniform(0.3, 1.0, users)
    item_factors[:, 0] = np.log(popularity / popularity.mean())
    np.save(folder / "user_factors.npy", user_factors)
    np.save(folder / "item_factors.npy", item_factors)

    pairs = [_pairs(rng, cumulative, range(start, min(start + 10_000, users))) for start in range(0, users, 10_000)]
    pair = np.concatenate(pairs)
    is_test = rng.random(len(pair)) < 0.2
    for name, rows in (("train", pair[~is_test]), ("test", pair[is_test])):
        pl.DataFrame({"user": rows // items, "item": rows % items}).write_parquet(folder / f"{name}.parquet")
    (folder / "done").touch()


def _pairs(rng: np.random.Generator, cumulative: np.ndarray, users: range) -> np.ndarray:
    """Distinct (user, item) pairs as user * items + item, ordered."""
    items = len(cumulative)
    counts = np.clip(rng.lognormal(4.84, 1.0, len(users)), 20, 2_500).astype(np.int64)
    owner = np.repeat(np.arange(users.start, users.stop), counts)
    item = np.searchsorted(cumulative, rng.random(len(owner)))
    return np.unique(owner * items + item)
