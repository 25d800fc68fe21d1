"""Descriptions of logs against naive counts."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.data.describe import describe
from trueval.data.interactions import Interactions
from trueval.data.read import read
from trueval.data.render_description import described_lines
from trueval.statistics.inequality import gini_index

EVENTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7), st.integers(1, 5)), min_size=1, max_size=40)


@given(EVENTS, st.sampled_from(["users", "rows"]))
def test_against_naive_counts(events: list[tuple[int, int, int]], count: str) -> None:
    frame = pl.DataFrame(events, schema=["user", "item", "value"], orient="row")
    numbers = describe(Interactions.of(frame, count=count))
    users, items = Counter(u for u, _, _ in events), Counter(i for _, i, _ in events)
    pairs = {(u, i) for u, i, _ in events}
    assert (numbers["rows"], numbers["users"], numbers["items"]) == (len(events), len(users), len(items))
    assert numbers["duplicates"] == len(events) - len(pairs)
    assert numbers["density"] == len(pairs) / (len(users) * len(items))
    assert numbers["per_user"]["min"] == min(users.values())
    assert numbers["per_item"]["max"] == max(items.values())
    assert numbers["per_user"]["median"] == np.median(list(users.values()))
    head = -(-len(items) // 10)
    popularity = items if count == "rows" else Counter(i for _, i in pairs)
    assert numbers["top_10_percent_share"] == sum(sorted(popularity.values())[-head:]) / sum(popularity.values())
    assert numbers["item_gini"] == gini_index(np.array(sorted(popularity.values())))
    several = [rows for rows in Counter((u, i) for u, i, _ in events).values() if rows > 1]
    assert (numbers["repeated_pairs"], numbers["repeated_rows"]) == (len(several), sum(several))
    histogram = {bar["low"]: bar["rows"] for bar in numbers["values"]["histogram"]}
    assert histogram == Counter(float(v) for _, _, v in events)
    json.dumps(numbers)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12).filter(any))
def test_gini_is_the_mean_difference(counts: list[int]) -> None:
    differences = sum(abs(a - b) for a, b in itertools.product(counts, repeat=2))
    expected = differences / (2 * len(counts) ** 2 * (sum(counts) / len(counts)))
    assert gini_index(np.array(counts)) == pytest.approx(expected, abs=1e-12)


def test_many_values_are_binned_and_none_is_lost() -> None:
    equal = describe(read(pl.DataFrame({"user": range(100), "item": [1] * 100, "value": range(100)})))["values"]
    assert [bar["rows"] for bar in equal["histogram"]] == [10] * 10
    plays = [1, 2, 3, 5, 8, 9, 11, 12, 13, 20, 30, 40, 50, 3000]
    skewed = describe(read(pl.DataFrame({"user": range(14), "item": [1] * 14, "plays": plays})))["values"]
    assert [bar["rows"] for bar in skewed["histogram"]] == [6, 7, 0, 1]
    assert [bar["low"] for bar in skewed["histogram"]] == [1, 10, 100, 1000]


@pytest.mark.parametrize(("factor", "unit"), [(1, "s"), (10**3, "ms"), (10**6, "us"), (10**9, "ns")])
def test_time_span_whatever_the_unit(factor: int, unit: str) -> None:
    times = [978307200 * factor, (978307200 + 86400) * factor]
    span = describe(read(pl.DataFrame({"user": [1, 2], "item": [1, 1], "time": times})))["time"]
    assert (span["first"], span["last"], span["unit"]) == ("2001-01-01 00:00:00", "2001-01-02 00:00:00", unit)
    assert span["days"] == 1


def test_small_numbers_are_not_dates() -> None:
    span = describe(read(pl.DataFrame({"user": [1, 2], "item": [1, 1], "time": [3, 9]})))["time"]
    assert (span["first"], span["last"], span["days"]) == (3, 9, None)


def test_side_tables_and_missing_fields() -> None:
    frame = pl.DataFrame({"user": [1, 2], "item": ["a", "b"], "city": ["x", None]})
    items = pl.DataFrame({"item": ["a", "z"], "title": ["A", None], "aspects": [["p", "q"], ["p"]]})
    numbers = describe(Interactions.of(frame, items=items))
    assert numbers["missing"] == {"city": 1}
    assert numbers["user_table"] is None
    assert numbers["item_table"] == {
        "rows": 2,
        "columns": ["title", "aspects"],
        "not_in_table": 1,
        "not_in_log": 1,
        "missing": {"title": 1},
        "aspects": 2,
    }
    text = dict(described_lines(numbers))
    assert "2 aspects" in text["item table"]
    assert text["missing"] == "city 1"
    assert text["user table"] == "none"


@pytest.mark.data
def test_movielens(data_folder: Callable[[str], Path]) -> None:
    numbers = describe(read(data_folder("ml-1m")))
    assert (numbers["rows"], numbers["users"], numbers["items"]) == (1_000_209, 6040, 3706)
    assert numbers["per_user"] == {"min": 20, "median": 96.0, "max": 2314, "mean": pytest.approx(165.6, abs=0.01)}
    assert numbers["item_table"]["not_in_log"] == 3883 - 3706
    assert numbers["item_table"]["aspects"] == 18
    assert numbers["duplicates"] == 0
