"""Runs that are read before they are asked for: the same rows, the same errors, and never those of another file."""

from __future__ import annotations

import polars as pl
import pytest

from trueval.data import whole_runs
from trueval.data.whole_runs import read_ahead, read_at_once, read_whole
from trueval.errors import DataError
from trueval.kernels import use_kernels

RUN = pl.DataFrame({"user": [1, 1, 2], "item": [5, 6, 5], "score": [2.0, 1.0, 0.5]})


@pytest.fixture(autouse=True)
def nothing_left():
    with use_kernels("plain"):  # so few rows are read whole, whatever other tests have loaded
        yield
    whole_runs.forget()


@pytest.fixture
def path(tmp_path):
    RUN.write_parquet(tmp_path / "recs.parquet")
    return str(tmp_path / "recs.parquet")


def test_what_was_read_ahead_is_given_once(path, monkeypatch):
    read_ahead(path)
    begun = next(iter(whole_runs._ahead.values()))
    assert read_at_once(path) is begun.result()
    assert not whole_runs._ahead
    assert read_at_once(path).frame.equals(RUN)


def test_a_file_that_was_written_anew_is_read_anew(path):
    read_ahead(path)
    next(iter(whole_runs._ahead.values())).result()
    other = RUN.with_columns(score=pl.Series([1.0, 2.0, 3.0]), more=pl.lit("so that the size differs"))
    other.write_parquet(path)
    assert read_at_once(path).frame["score"].to_list() == [1.0, 2.0, 3.0]


def test_columns_that_are_named_are_those_of_the_caller(path):
    read_ahead(path)
    assert read_at_once(path, {"user": "item", "item": "user", "score": "score"}).frame["user"].to_list() == [5, 6, 5]
    assert read_at_once(path).frame["user"].to_list() == [1, 1, 2]


def test_a_large_file_is_left_to_be_streamed(path, monkeypatch):
    monkeypatch.setattr(whole_runs, "MANY_ROWS", 2)
    read_ahead(path)
    assert next(iter(whole_runs._ahead.values())).result() is None
    assert read_whole(path).frame.equals(RUN)  # where it turns out not to be sorted


@pytest.mark.parametrize("rows", [b"", b"PAR1 and no more"])
def test_what_goes_wrong_is_told_when_it_is_asked_for(path, rows):
    with open(path, "wb") as file:
        file.write(rows)
    read_ahead(path)
    with pytest.raises(DataError, match=r"recs\.parquet"):
        read_at_once(path)


@pytest.mark.parametrize("name", ["nowhere.parquet", "recs.csv", "."])
def test_other_sources_wait(tmp_path, name):
    (tmp_path / "recs.csv").write_text("user,item,score\n1,2,3\n")
    read_ahead(str(tmp_path / name))
    assert not whole_runs._ahead
