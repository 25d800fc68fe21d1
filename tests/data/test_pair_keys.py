"""Pairs as numbers: the same rows are found as by comparing users and items themselves."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

from trueval.data.pair_keys import pair_keys, repeated_rows, unique_pairs
from trueval.kernels import use_kernels

Frames = dict[str, pl.DataFrame]


def tables(kind: str, seed: int) -> Frames:
    """Two tables with pairs that repeat, within one and over both, and ids of some kind."""
    rng = np.random.default_rng(seed)
    low = {"negative": -40, "far": 2**62, "unsigned": 2**63, "small": 0, "text": 0, "apart": -(2**62)}[kind]
    dtype = pl.String if kind == "text" else pl.UInt64 if kind == "unsigned" else pl.Int64
    found = {}
    for name, rows in (("train", 60), ("test", 40), ("none", 0)):
        user, item = ([low + int(one) for one in rng.integers(0, 12, rows)] for _ in range(2))
        if kind == "apart" and rows:
            user[0], item[0] = 2**62, 2**62
        columns = {"user": pl.Series(user).cast(dtype), "item": pl.Series(item).cast(dtype)}
        found[name] = pl.DataFrame(columns).with_columns(row=pl.int_range(pl.len()))
    return found


def pairs_of(frame: pl.DataFrame) -> list[tuple[object, object]]:
    return list(zip(frame["user"].to_list(), frame["item"].to_list()))


KINDS = ["small", "negative", "far", "unsigned", "text", "apart"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_rows_of_pairs_that_are_there_twice(kind: str, seed: int) -> None:
    frames = tables(kind, seed)
    times = Counter(pair for frame in frames.values() for pair in pairs_of(frame))
    found = repeated_rows(frames)
    assert list(found) == list(frames)
    for name, frame in frames.items():
        own = frame.filter(pl.Series([times[pair] > 1 for pair in pairs_of(frame)], dtype=pl.Boolean))
        if kind in ("text", "apart"):  # every row may be one
            own = frame
        assert found[name].equals(own)


@pytest.mark.parametrize("kind", KINDS)
def test_each_pair_once(kind: str) -> None:
    frame = tables(kind, 1)["train"]
    found = pairs_of(unique_pairs(frame))
    assert len(found) < len(frame)
    assert Counter(found) == Counter(set(pairs_of(frame)))
    once = unique_pairs(frame)
    assert Counter(pairs_of(unique_pairs(once))) == Counter(pairs_of(once))


def test_numbers_differ_where_pairs_do() -> None:
    frames = list(tables("negative", 3).values())
    keys = pair_keys(frames)
    assert keys is not None
    every = [pair for frame in frames for pair in pairs_of(frame)]
    by_key = dict(zip(np.concatenate(keys).tolist(), every))
    assert len(by_key) == len(set(every))
    assert [by_key[key] for key in np.concatenate(keys).tolist()] == every


def test_missing_and_fractional_ids_have_no_number() -> None:
    assert pair_keys([pl.DataFrame({"user": [1, None], "item": [1, 2]})]) is None
    assert pair_keys([pl.DataFrame({"user": [1.5], "item": [1.0]})]) is None


def test_long_columns_of_text_have_numbers() -> None:
    rng = np.random.default_rng(2)

    def ids(role: str, rows: int) -> pl.Series:
        return pl.Series([f"{role}, and more {one}" for one in rng.integers(0, 400, rows)], dtype=pl.String)

    sizes = {"train": 25_000, "test": 3_000, "none": 0}
    frames = {name: pl.DataFrame({role: ids(role, rows) for role in ("user", "item")}) for name, rows in sizes.items()}
    times = Counter(pair for frame in frames.values() for pair in pairs_of(frame))
    with use_kernels("compiled"):
        assert pair_keys(list(frames.values())) is not None
        found = repeated_rows(frames)
    for name, frame in frames.items():
        assert pairs_of(found[name]) == [pair for pair in pairs_of(frame) if times[pair] > 1]
    with use_kernels("plain"):
        assert pair_keys(list(frames.values())) is None


def test_numbers_below_0_and_above_int64_are_not_compared() -> None:
    below, above = pl.DataFrame({"user": [-1], "item": [1]}), pl.DataFrame({"user": [1], "item": [1]})
    assert pair_keys([below, above.with_columns(pl.all().cast(pl.UInt64))]) is None
