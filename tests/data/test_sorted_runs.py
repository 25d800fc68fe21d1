"""Runs that stand in order in their files: coded piece by piece as they are whole, or left to be read otherwise."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.data import first_seen, sorted_runs
from trueval.data.first_seen import FirstSeen
from trueval.data.sorted_runs import looks_sorted, read_sorted
from trueval.kernels import use_kernels


@pytest.fixture(autouse=True)
def compiled():
    with use_kernels("compiled"):
        yield


def texts(numbers: list[int], *, long: int) -> list[str]:
    """Text ids, of which every seventh has `long` letters more."""
    return [f"{'x' * (long if number % 7 == 0 else 0)}{number}" for number in numbers]


@given(
    numbers=st.lists(st.integers(-60, 60), min_size=1, max_size=200),
    cuts=st.lists(st.integers(0, 200), max_size=4),
    kind=st.sampled_from(["whole", "wide", "short", "long"]),
    least=st.sampled_from([4, 16, 4096]),
)
def test_ids_get_codes_in_the_order_in_which_they_are_first_seen(numbers, cuts, kind, least):
    ids = {
        "whole": numbers,
        "wide": [number * 2**55 for number in numbers],
        "short": texts(numbers, long=0),
        "long": texts(numbers, long=30),
    }[kind]
    column, codes = pl.Series(ids), np.full(len(ids), -7, np.int32)
    bounds = [0, *sorted(min(cut, len(ids)) for cut in cuts), len(ids)]
    before, first_seen._LEAST = first_seen._LEAST, least  # tables that are soon full
    try:
        seen = FirstSeen()
        for begin, end in pairwise(bounds):
            seen.code(column[begin:end].rechunk(), codes[begin:end])
    finally:
        first_seen._LEAST = before
    distinct = list(dict.fromkeys(ids))
    assert seen.ids.to_list() == distinct
    assert len(seen) == len(distinct)
    assert codes.tolist() == [distinct.index(value) for value in ids]


def run_of(lists: dict, *, kind: str = "whole") -> pl.DataFrame:
    rows = [(user, item, -float(place)) for user, items in lists.items() for place, item in enumerate(items)]
    frame = pl.DataFrame(rows, schema={"user": pl.Int64, "item": pl.Int64, "score": pl.Float64}, orient="row")
    if kind == "whole":
        return frame
    begin = "a long beginning " if kind == "long" else ""
    return frame.with_columns(pl.format(begin + "{}", role).alias(role) for role in ("user", "item"))


@given(
    lists=st.dictionaries(
        st.integers(0, 30), st.lists(st.integers(0, 40), min_size=1, max_size=9, unique=True), min_size=1, max_size=9
    ),
    kind=st.sampled_from(["whole", "short", "long"]),
    rows=st.sampled_from([1, 2, 7, 100]),
    depth=st.sampled_from([None, 1, 3, 20]),
    arrays=st.integers(1, 4),
)
def test_a_sorted_run_is_read_as_it_is_whatever_the_pieces(lists, kind, rows, depth, arrays):
    run = run_of(lists, kind=kind)
    size = -(-len(run) // arrays)
    parted = pl.concat([run[begin : begin + size] for begin in range(0, len(run), size)], rechunk=False)
    before, sorted_runs._BYTES = sorted_runs._BYTES, rows * (8 if kind == "whole" else 16)
    try:
        found = read_sorted(parted.lazy(), len(run), depth=depth)
    finally:
        sorted_runs._BYTES = before
    heads = run["user"].unique(maintain_order=True)
    assert found is not None
    assert found.users.to_list() == heads.to_list()
    assert found.length.tolist() == [len(items) for items in lists.values()]
    assert found.items.values.to_list() == sorted(set(run["item"].to_list()))
    kept = run.filter(pl.int_range(pl.len()).over("user") < (depth or len(run)))
    assert found.items.decode(found.item).to_list() == kept["item"].to_list()
    assert np.diff(found.start).tolist() == kept.group_by("user", maintain_order=True).len()["len"].to_list()
    assert [found.reaches(other) for other in (None, 2)] == [depth is None, depth is None or depth >= 2]


SOUND = run_of({1: [5, 6, 7], 2: [6, 5], 3: [9]})
SCORES = pl.col("score")


@pytest.mark.parametrize("rows", [1, 2, 100])
@pytest.mark.parametrize(
    "run",
    [
        SOUND.with_columns(score=pl.Series([3.0, 2.0, 2.0, 5.0, 4.0, 1.0])),  # equal
        SOUND.with_columns(score=pl.Series([3.0, 2.0, 1.0, 4.0, 5.0, 1.0])),  # rising
        *(SOUND.with_columns(pl.when(pl.int_range(6) == row).then(bad).otherwise(SCORES).alias("score"))
          for row in range(6) for bad in (float("nan"), float("inf"), float("-inf"), None)),
        SOUND.with_columns(item=pl.Series([5, None, 7, 6, 5, 9])),
        SOUND.with_columns(item=pl.Series([5, 6, 5, 6, 5, 9])),  # twice in a list
        SOUND.with_columns(user=pl.Series([1, 1, None, 2, 2, 3])),
        SOUND.with_columns(rank=pl.Series([1, 2, 3, 1, 2, 1])),
        SOUND.drop("score"),
        SOUND.with_columns(SCORES.cast(pl.Int64)),
        SOUND.with_columns(pl.col("item").cast(pl.String).cast(pl.Categorical)),
    ],
)  # fmt: skip
def test_what_is_not_sorted_or_looks_wrong_is_left_to_be_read_whole(monkeypatch, run, rows):
    monkeypatch.setattr(sorted_runs, "_BYTES", 8 * rows)
    assert read_sorted(SOUND.lazy(), len(SOUND)) is not None
    assert read_sorted(run.lazy(), len(run)) is None
    assert read_sorted(run.lazy(), len(run), depth=1) is None  # behind the depth, too
    assert read_sorted(SOUND.lazy(), len(SOUND) + 1) is None  # a file that was written anew meanwhile


def test_users_who_come_back_at_once_are_told_by_the_first_rows(monkeypatch):
    back = pl.concat([SOUND, SOUND.head(1)])
    assert looks_sorted(SOUND.lazy())
    assert not looks_sorted(back.lazy())
    monkeypatch.setattr(sorted_runs, "_SAMPLE", len(SOUND))
    assert looks_sorted(back.lazy())
    assert read_sorted(back.lazy(), len(back)) is not None  # this one is seen by whoever brings lists to their users


def test_a_file_that_cannot_be_read_to_its_end_is_left_too(tmp_path):
    path = tmp_path / "recs.parquet"
    run_of({user: range(50) for user in range(200)}).write_parquet(path, row_group_size=1000)
    lazy = pl.scan_parquet(path)
    lazy.collect_schema()
    spoiled = bytearray(path.read_bytes())
    spoiled[len(spoiled) // 4 : len(spoiled) // 2] = b"\xff" * (len(spoiled) // 2 - len(spoiled) // 4)
    path.write_bytes(bytes(spoiled))
    assert read_sorted(lazy, 10_000) is None
    path.unlink()
    assert not looks_sorted(lazy)
