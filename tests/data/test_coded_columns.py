"""Columns whose ids are found without coding every row: the same codes as row by row."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.data import coded_column, key_tables
from trueval.data.coded_column import CodedColumn
from trueval.data.column_pieces import in_one_array
from trueval.data.ids import Ids
from trueval.data.together import first_rows, users_together
from trueval.kernels import gather, use_kernels

KINDS = {
    "text": lambda code: f"id-{code}",
    "long": lambda code: f"an-identifier-{code}",
    "of both": lambda code: f"id-{'ü' * (code % 9)}-{code}",  # up to 20 bytes; 12 fit into what is compared as it is
    "empty": lambda code: "\0" * code,  # differ in nothing but their length
    "whole": lambda code: code,
    "apart": lambda code: 7 - code * 100_000,  # few in a span for which there would be a table
    "wide": lambda code: code * 2**40,
}


def in_pieces(values: list, cuts: list[int]) -> pl.Series:
    """A column of several arrays, as a file with row groups has."""
    bounds = sorted({min(cut, len(values)) for cut in cuts} | {0, len(values)})
    kind = pl.Series(values).dtype
    return pl.concat([pl.Series(values[a:b], dtype=kind) for a, b in pairwise(bounds)])


columns = st.tuples(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), min_size=1, max_size=12),
    st.lists(st.integers(0, 40), max_size=4),
    st.sampled_from(sorted(KINDS)),
)


@given(columns)
def test_first_rows(drawn):
    runs, cuts, kind = drawn
    values = [KINDS[kind](code) for code, times in runs for _ in range(times)]
    column = in_pieces(values, cuts)
    assert first_rows(column).tolist() == [j for j, v in enumerate(values) if j == 0 or v != values[j - 1]]


@given(columns, st.sets(st.integers(0, 5), min_size=1))
def test_users_together(drawn, known):
    runs, cuts, kind = drawn
    values = [KINDS[kind](code) for code, times in runs for _ in range(times)]
    users = Ids.of(pl.Series([KINDS[kind](code) for code in known]))
    found = users_together(in_pieces(values, cuts), users)
    heads = [j for j, v in enumerate(values) if j == 0 or v != values[j - 1]]
    codes = users.codes(pl.Series([values[j] for j in heads])).tolist()
    again = len({c for c in codes if c >= 0}) < sum(c >= 0 for c in codes)
    if found is None:
        assert again or 2 * len(heads) > len(values) + 2
    else:
        assert not again
        assert (found[0].tolist(), found[1].tolist()) == (codes, [*heads, len(values)])


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("sorted_rows", [True, False])
@pytest.mark.parametrize(("first", "ahead"), [(5, False), (10**6, False), (10**6, True)])
def test_codes_are_those_of_every_row(kind, sorted_rows, first, ahead, monkeypatch):
    monkeypatch.setattr(key_tables, "_MANY", 100)  # as large columns are
    monkeypatch.setattr(coded_column, "_FIRST", first)
    rng = np.random.default_rng(3)
    drawn = rng.integers(0, 60, 2000)
    values = [KINDS[kind](int(code)) for code in (np.sort(drawn) if sorted_rows else drawn)]
    column = in_pieces(values, [300, 301, 1500])
    vocabulary = Ids.of(pl.Series([KINDS[kind](code) for code in range(0, 90, 2)]))
    with use_kernels("compiled"):
        coded = CodedColumn.of(column, ahead=ahead)
        found, own = coded.within(vocabulary), coded.within(Ids.of(column))
    assert coded.ids.values.to_list() == sorted(set(values))
    assert coded.ids.decode(own).to_list() == values
    places = {value: code for code, value in enumerate(vocabulary.values.to_list())}
    assert found.tolist() == [places.get(value, -1) for value in values]


@pytest.mark.parametrize(
    "likely", [["id-1", "id-2"], [f"id-{code}" for code in range(70)], [f"id-{code}" for code in range(20, 90)], [1, 2]]
)
def test_ids_that_are_likely_change_nothing(likely, monkeypatch):
    monkeypatch.setattr(key_tables, "_MANY", 100)
    drawn = np.random.default_rng(4).integers(0, 60, 2000)
    column = in_pieces([f"id-{code}" for code in drawn], [700])
    with use_kernels("compiled"):
        found = CodedColumn.of(column, Ids.of(pl.Series(likely)))
        codes = found.within(found.ids)
    assert found.ids.values.to_list() == sorted(set(column.to_list()))
    assert found.ids.decode(codes).to_list() == column.to_list()


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float32, bool])
def test_gather(kind):
    rng = np.random.default_rng(1)
    values, places = rng.integers(0, 2, 1000).astype(kind), rng.integers(0, 1000, 700_000).astype(np.int32)
    found = gather(values, places)
    assert found.dtype == kind
    assert np.array_equal(found, values[places])


def test_numbers_in_one_array():
    values = np.random.default_rng(2).normal(size=500).astype(np.float32)
    assert np.array_equal(in_one_array(in_pieces(values.tolist(), [100, 101]).cast(pl.Float32)), values)
    one = pl.Series(values)
    assert np.shares_memory(in_one_array(one), one.to_numpy())


@pytest.mark.parametrize("kinds", [("<i8", "<i8"), ("<i8", "<u8"), ("<U4", "<U4")])
@given(st.sets(st.integers(0, 9)), st.lists(st.lists(st.integers(0, 12), max_size=8), max_size=3))
def test_a_vocabulary_joined_with_columns_is_that_of_all(kinds, known, columns):
    ids = Ids(pl.Series(np.sort(np.array(sorted(known)).astype(kinds[0]))))
    more = [pl.Series(np.array(column, int).astype(kinds[1])) for column in columns]
    every = sorted({*ids.values.to_list(), *(value for column in more for value in column.to_list())})
    assert ids.joined(*more).values.to_list() == every
    with_gaps = [pl.concat([column, pl.Series([None], dtype=column.dtype)]) for column in more]
    assert ids.joined(*with_gaps).values.to_list() == every
    assert every != ids.values.to_list() or kinds[0] != kinds[1] or ids.joined(*more) is ids


@pytest.mark.parametrize("low", [-(2**63), -1000, 5, 2**62])
@pytest.mark.parametrize("span", [10, 64, 70_000, 30_000_000])
def test_whole_numbers_that_lie_close_together_have_a_bit_each(low, span):
    rows = 30_000
    drawn = np.random.default_rng(span).integers(0, span, rows)
    drawn[:2] = 0, span - 1
    parts = np.split(low + drawn, [7, 20_000])
    column = pl.concat([pl.Series(part) for part in parts], rechunk=False)
    with use_kernels("compiled"):
        coded = CodedColumn.of(column)
    assert coded.ids.values.to_list() == np.unique(low + drawn).tolist()
    assert coded.within(coded.ids).tolist() == np.unique(drawn, return_inverse=True)[1].tolist()
    # bits only where they are few beside the rows
    assert (coded.places is not None and coded.codes is None) == (span < 64 * rows)


@pytest.mark.parametrize("order", ["first middle last", "first middle first", "middle last middle", "last first last"])
def test_rows_of_an_id_that_come_again_later_do_not_stand_together(order: str) -> None:
    """Whichever id it is: that of the code 0 like any other."""
    ids, values = Ids(pl.Series(["first", "last", "middle"])), order.split()
    places, runs = ids.codes(pl.Series(values)), np.array([0, 2, 3, 6])
    column = CodedColumn(pl.Series(np.repeat(values, np.diff(runs))), ids, places, np.arange(3, dtype=np.int32), runs)
    found = column.runs_within(ids)
    assert (found is None) == (len(set(values)) < 3)
    assert found is None or (found[0].tolist(), found[1].tolist()) == ([0, 2, 1], runs.tolist())
