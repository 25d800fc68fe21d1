"""W1 data: recommendations already made, and what the users really liked, as parquet files.

Items are drawn by popularity (Zipf with exponent 0.8); a user's relevant items favour the head of the
list, so that hits are neither rare nor constant. Ids are not dense: item ids lie anywhere below ten
million and user ids have gaps, as in real logs. Files are what pyarrow writes by default (snappy, row
groups of 2^20 rows), because that is what pandas and Spark users have.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

LIST_LENGTH, RELEVANT, ITEMS = 100, 20, 50_000
OUTSIDE = 60  # items beyond the list from which the remaining relevant ones come
ROWS_PER_GROUP = 1 << 20
VARIANTS = ("ints", "strings", "shuffled", "strings-shuffled")


def make_w1(folder: Path, *, users: int, variants: tuple[str, ...] = VARIANTS) -> None:
    """Write {variant}/recs.parquet and {variant}/test.parquet unless they are there already."""
    wanted = [v for v in variants if not (folder / v / "done").exists()]
    if not wanted:
        return
    writers = {v: _Files(folder / v) for v in wanted}
    rng = np.random.default_rng(20_240_501)
    item_ids = rng.choice(10_000_000, ITEMS, replace=False)
    user_ids = np.cumsum(rng.integers(1, 8, users))
    weights = 1.0 / np.arange(1, ITEMS + 1) ** 0.8
    cumulative = np.cumsum(weights) / weights.sum()
    for start in range(0, users, 20_000):
        chunk = user_ids[start : start + 20_000]
        lists, relevant, scores = _draw(rng, cumulative, len(chunk))
        recs = [np.repeat(chunk, LIST_LENGTH), item_ids[lists].ravel(), scores.ravel()]
        test = [np.repeat(chunk, RELEVANT), item_ids[relevant].ravel()]
        for variant, files in writers.items():
            files.add(_as_variant(recs, variant), _as_variant(test, variant))
    for variant, files in writers.items():
        files.close(shuffle=variant.endswith("shuffled"))


def _draw(rng: np.random.Generator, cumulative: np.ndarray, users: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Item positions of each user's list and of the relevant items, and strictly falling scores."""
    needed = LIST_LENGTH + OUTSIDE
    draws = np.searchsorted(cumulative, rng.random((users, needed + 120))).astype(np.int32)
    order = np.argsort(draws, axis=1, kind="stable")
    in_order = np.take_along_axis(draws, order, axis=1)
    repeated = np.zeros(draws.shape, bool)
    np.put_along_axis(repeated, order[:, 1:], in_order[:, 1:] == in_order[:, :-1], axis=1)
    if (repeated.sum(axis=1) > 120).any():
        raise RuntimeError("a user has too few distinct items: draw more per user")
    distinct = np.take_along_axis(draws, np.argsort(repeated, axis=1, kind="stable")[:, :needed], axis=1)

    attraction = np.concatenate([3.0 / (1 + np.arange(LIST_LENGTH) / 5), np.ones(OUTSIDE)])
    keys = rng.exponential(size=(users, needed)) / attraction
    chosen = np.argpartition(keys, RELEVANT, axis=1)[:, :RELEVANT]
    relevant = np.take_along_axis(distinct, chosen, axis=1)
    gaps = rng.uniform(0.005, 0.05, (users, LIST_LENGTH))
    return distinct[:, :LIST_LENGTH], relevant, (8 - np.cumsum(gaps, axis=1)).astype(np.float32)


def _as_variant(columns: list[np.ndarray], variant: str) -> list:
    if not variant.startswith("strings"):
        return columns
    import polars as pl

    user = pl.select(pl.format("user-{}", pl.Series(columns[0]))).to_series()
    item = pl.select(pl.format("sku_{}", pl.Series(columns[1]))).to_series()
    return [user.to_arrow(), item.to_arrow(), *columns[2:]]


class _Files:
    """The two files of one variant, written chunk by chunk so that memory stays bounded."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.writers = folder, {}

    def add(self, recs: list, test: list) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        for name, columns in (("recs", recs), ("test", test)):
            table = pa.table(dict(zip(("user", "item", "score"), columns)))
            if name not in self.writers:
                self.writers[name] = pq.ParquetWriter(self.folder / f"{name}.parquet", table.schema)
            self.writers[name].write_table(table, row_group_size=ROWS_PER_GROUP)

    def close(self, *, shuffle: bool) -> None:
        for name, writer in self.writers.items():
            writer.close()
            if shuffle:
                _shuffle_rows(self.folder / f"{name}.parquet")
        (self.folder / "done").touch()


def _shuffle_rows(path: Path) -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    order = np.random.default_rng(7).permutation(len(table))
    pq.write_table(table.take(order), path, row_group_size=ROWS_PER_GROUP)
