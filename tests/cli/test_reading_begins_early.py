"""The run of `trueval evaluate` is read while the command is put together, where the words say which file it is."""

from __future__ import annotations

import polars as pl
import pytest

from trueval.cli.ahead import PLAIN, begin_reading
from trueval.data import whole_runs
from trueval.metrics.compute import weighs_items
from trueval.metrics.grammar import parse


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """Names of files that were begun, by the words of a command line."""
    monkeypatch.chdir(tmp_path)
    for name in ("recs.parquet", "more.parquet"):
        pl.DataFrame({"user": [1], "item": [2], "score": [0.5]}).write_parquet(name)
    names = []
    monkeypatch.setattr(whole_runs, "read_ahead", lambda name, depth: names.append(name))
    return lambda line: begin_reading(line.split()) or names


@pytest.mark.parametrize("line", ["evaluate recs.parquet --test test.parquet", "evaluate recs.parquet"])
def test_a_run_is_begun(begun, line):
    assert begun(line) == ["recs.parquet"]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "evaluate",
        "evaluate --test test.parquet recs.parquet",
        "evaluate recs.csv --test test.csv",
        "evaluate recs.parquet more.parquet --test test.parquet",
        "evaluate recs.parquet --test test.parquet --columns user=u",
        "evaluate recs.parquet --test test.parquet --columns=user=u",
        "evaluate recs.parquet --test test.parquet --sorted-by-user",
        "evaluate recs.parquet --test test.parquet --engine spark",
        "evaluate recs.parquet --test test.parquet --threads 1",
        "evaluate recs.parquet --help",
        "audit recs.parquet --test test.parquet",
    ],
)
def test_what_is_read_in_another_way_waits(begun, line):
    assert begun(line) == []


@pytest.mark.parametrize("name", PLAIN)
def test_metrics_whose_lists_are_cut_ahead_need_no_more(name):
    spec = parse(f"{name}@7")
    assert spec.k == 7
    assert not spec.metric.exact
    assert not weighs_items(spec)
