"""Runs that stand in order in their files: coded piece by piece as they are whole, or left to be read otherwise."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.data import first_seen, kept_items, sorted_runs
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


@given(
    lists=st.lists(st.lists(st.integers(-5, 40), min_size=1, max_size=30), min_size=1, max_size=6),
    cuts=st.lists(st.integers(1, 60), max_size=4), depth=st.integers(1, 12), far=st.sampled_from([1, 1000]),
    span=st.sampled_from([1 << 27, 1 << 9]),
)  # fmt: skip
def test_marked_items_are_kept_as_coded_ones_are(lists, cuts, depth, far, span):
    items = pl.Series([far * item for items in lists for item in items])
    starts = np.cumsum([0, *map(len, lists)])
    ends = sorted({*(cut for cut in cuts if cut < len(items)), len(items)})
    known = {name: getattr(kept_items, name) for name in ("_SPAN", "_LEAST", "_SPARE")}
    try:
        kept_items._SPAN, kept_items._LEAST, kept_items._SPARE = span, 2, 2  # tables that grow, and bits that run out
        ways = kept_items._Coded(depth, len(items)), kept_items._Marked(depth)
        sound = [True, True]
        for begin, end in pairwise([0, *ends]):
            inside = starts[(starts > begin) & (starts < end)] - begin
            number = int(np.searchsorted(starts, begin, side="right")) - 1
            for n, way in enumerate(ways):
                bounds = np.concatenate([[0], inside, [end - begin]])
                sound[n] = sound[n] and way.add(items[begin:end], bounds, number, begin - int(starts[number]))
    finally:
        for name, value in known.items():
            setattr(kept_items, name, value)
    fits = items.max() // 64 - items.min() // 64 + 1 <= span // 64 + 1
    assert sound[0] == all(len(set(items)) == len(items) for items in lists)
    assert sound[1] == (sound[0] and fits)
    if all(sound):
        (ids, codes), (own, own_codes) = (way.coded() for way in ways)
        assert own.values.to_list() == ids.values.to_list() == sorted(set(items.to_list()))
        assert own_codes.tolist() == codes.tolist()
        assert own.decode(own_codes).to_list() == [far * item for items in lists for item in items[:depth]]
