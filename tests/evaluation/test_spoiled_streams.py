"""Runs that are read piece by piece and are empty, or cannot be read to their end."""

from __future__ import annotations

import polars as pl
import pytest

import trueval as tv
from trueval.errors import DataError

TEST = pl.DataFrame({"user": [1, 2], "item": [1, 2], "value": [1, 1]})
RUN = pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 2], "score": [2.0, 1.0, 1.0]})


def streamed(path):
    return tv.evaluate_run(path, TEST, metrics="ndcg@2", sorted_by_user=True, resamples=20)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_run_without_rows_is_empty(suffix, tmp_path):
    path = tmp_path / f"run{suffix}"
    nothing = RUN.head(0)
    nothing.write_csv(path) if suffix == ".csv" else nothing.write_parquet(path)
    with pytest.raises(DataError, match="the table is empty"):
        streamed(path)


@pytest.mark.parametrize("content", [b"user,item,score\n1,1,2\n1,2\n2,2,x\n", b"user,item,score\n1,1,2\n1,2,3,4,5\n"])
def test_a_broken_line_is_named(content, tmp_path):
    (tmp_path / "run.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"could not be read|missing|finite|number"):
        streamed(tmp_path / "run.csv")


@pytest.mark.parametrize("content", [b"a,i,1\n,i,2\n", b"1,1,1\n2,,1\n", b"a,i,1\nb,i,1\n,i,1\n"])
def test_missing_ids_are_refused(content, tmp_path):
    (tmp_path / "run.csv").write_bytes(b"user,item,score\n" + content)
    with pytest.raises(DataError, match=rf"ids are missing(.|\n)*row {content.count(10)}"):
        streamed(tmp_path / "run.csv")


@pytest.mark.parametrize("kind", [pl.Int128, pl.Binary, pl.List(pl.Int64), pl.Date, pl.Categorical])
@pytest.mark.parametrize("column", ["user", "item", "score"])
def test_no_type_breaks_a_streamed_run(kind, column, tmp_path, assert_result_or_refused):
    text = pl.col(column).cast(pl.Int64).cast(pl.String)
    cast = {
        pl.Int128: pl.col(column).cast(pl.Int128) * 2**70,
        pl.Binary: text.cast(pl.Binary),
        pl.Date: pl.col(column).cast(pl.Int32).cast(pl.Date),
        pl.Categorical: text.cast(pl.Categorical),
    }
    RUN.with_columns(cast.get(kind, pl.concat_list(column)).alias(column)).write_parquet(tmp_path / "run.parquet")
    assert_result_or_refused(streamed, tmp_path / "run.parquet")
