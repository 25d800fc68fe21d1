"""Recommendation tables: the same run from every format, eagerly and lazily."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from trueval.data.run_tables import read_run, scan_run
from trueval.errors import DataError

RUN = pl.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "a"], "score": [0.5, 0.25, 1.0], "rank": [1, 2, 1]})
SOURCE = RUN.rename({"user": "userId", "item": "sku", "score": "prediction"}).with_columns(
    pl.Series("genre", ["x", "y", "z"]), pl.Series("time", [7, 8, 9])
)


def as_csv(path: Path) -> None:
    SOURCE.write_csv(path)


def as_gz(path: Path) -> None:
    path.write_bytes(gzip.compress(SOURCE.write_csv().encode()))


def as_colons(path: Path) -> None:
    path.write_text(SOURCE.write_csv().replace(",", "::"))


def as_trec(path: Path) -> None:
    path.write_text("".join(f"{u} Q0 {i} {r} {s} tag\n" for u, i, s, r in RUN.rows()))


def as_trec_with_tabs(path: Path) -> None:
    path.write_text("".join(f"{u}\tQ0\t{i}\t{r}\t{s}\ttag\n" for u, i, s, r in RUN.rows()))


def as_loose_trec(path: Path) -> None:
    path.write_text("".join(f" {u}  Q0 {i}\t{r}   {s} tag \n" for u, i, s, r in RUN.rows()))


def as_parts(path: Path) -> None:
    path.mkdir()
    for part, frame in enumerate(SOURCE.iter_slices(2)):
        frame.write_parquet(path / f"part-{part}.parquet")
    (path / "_SUCCESS").touch()


FORMATS: list[tuple[str, Callable[[Path], None]]] = [
    ("r.parquet", SOURCE.write_parquet),
    ("r.csv", as_csv),
    ("r.csv.gz", as_gz),
    ("r.tsv", lambda path: SOURCE.write_csv(path, separator="\t")),
    ("r.txt", as_colons),
    ("r.jsonl", SOURCE.write_ndjson),
    ("r.run", as_trec),
    ("r.run", as_trec_with_tabs),
    ("r.run", as_loose_trec),
    ("parts", as_parts),
]


@pytest.mark.parametrize(("name", "write"), FORMATS)
def test_every_format_gives_the_same_run(tmp_path: Path, name: str, write: Callable[[Path], None]) -> None:
    path = tmp_path / name
    write(path)
    assert read_run(path).equals(RUN)
    assert scan_run(path).collect().equals(RUN)
    assert read_run(str(path)).schema == RUN.schema


@pytest.mark.parametrize(
    "source", [SOURCE, SOURCE.lazy(), SOURCE.to_pandas(), SOURCE.to_arrow()], ids=lambda s: type(s).__module__
)
def test_every_table_gives_the_same_run(source: object) -> None:
    assert read_run(source).equals(RUN)


def test_only_the_needed_columns_are_read(tmp_path: Path) -> None:
    SOURCE.write_parquet(tmp_path / "r.parquet")
    SOURCE.write_csv(tmp_path / "r.csv")
    for name in ("r.parquet", "r.csv"):
        plan = scan_run(tmp_path / name).explain()
        assert "PROJECT 4/6 COLUMNS" in plan
        assert "DF [" not in plan  # scanned, not loaded


def test_single_precision_is_kept_and_integers_become_floats() -> None:
    run = pl.DataFrame({"user": [1], "item": [2], "score": [3]})
    assert read_run(run.with_columns(pl.col("score").cast(pl.Float32)))["score"].dtype == pl.Float32
    assert read_run(run)["score"].dtype == pl.Float64


def test_scores_or_ranks_alone_or_neither() -> None:
    run = pl.DataFrame({"user": [1], "item": [2]})
    assert read_run(run).columns == ["user", "item"]
    assert read_run(run.with_columns(position=pl.lit(3))).columns == ["user", "item", "rank"]


def test_ids_written_with_zeros(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("user,item,score\n1,007,0.5\n2,8,0.25\n")
    for run in (read_run(path), scan_run(path).collect()):
        assert run["item"].to_list() == ["007", "8"]
        assert run["user"].to_list() == [1, 2]


def test_parquet_ids_stay_strings(tmp_path: Path) -> None:
    pl.DataFrame({"user": ["1"], "item": ["2"]}).write_parquet(tmp_path / "r.parquet")
    assert read_run(tmp_path / "r.parquet").rows() == [("1", "2")]
    assert scan_run(tmp_path / "r.parquet").collect().rows() == [("1", "2")]


def test_mapping_by_name_and_position(tmp_path: Path) -> None:
    frame = pl.DataFrame({"who": [1], "what": [2], "points": [0.5], "n": [1]})
    expected = [(1, 2, 0.5, 1)]
    columns = "user=who,item=what,score=points,rank=n"
    assert read_run(frame, columns=columns).rows() == expected
    path = tmp_path / "r.csv"
    path.write_text("1,2,0.5,1\n")
    assert read_run(path, columns="user=0,item=1,score=2,rank=3").rows() == expected
    assert scan_run(path, columns={"user": 0, "item": 1, "score": 2, "rank": 3}).collect().rows() == expected
    # one mapping serves all tables of a command: roles of logs are not this table's business
    assert read_run(frame, columns={"user": "who", "item": "what", "value": "stars"}).columns == ["user", "item"]


def test_ranks_as_whole_floats() -> None:
    run = pd.DataFrame({"user": [1, 1], "item": [2, 3], "rank": [1.0, 2.0]})
    assert read_run(run)["rank"].to_list() == [1, 2]
    assert read_run(run)["rank"].dtype == pl.Int64


BAD = [
    ({"user": [], "item": []}, "empty"),
    ({"user": [1, None], "item": [1, 2]}, "user ids are missing"),
    ({"user": [1, 2], "item": [None, "x"]}, "item ids are missing"),
    ({"user": [1.5], "item": [1]}, "integers or strings"),
    ({"user": [1], "item": [[1, 2]]}, "integers or strings"),
    ({"user": [1], "item": [1], "score": ["high"]}, "scores must be numbers"),
    ({"user": [1], "item": [1], "rank": [1.5]}, "whole numbers"),
    ({"user": [1], "item": [1], "rank": ["first"]}, "ranks must be numbers"),
    ({"user": [1], "score": [1]}, "no item column"),
    ({"user": [1], "item": [1], "score": [1.0], "prediction": [2.0]}, None),
    ({"user_id": [1], "item": [1], "score": [1.0], "prediction": [2.0]}, "more than one column looks like the score"),
]


@pytest.mark.parametrize(("columns", "message"), BAD)
def test_tables_that_are_no_runs(columns: dict[str, list[object]], message: str | None) -> None:
    frame = pl.DataFrame(columns)
    if message is None:  # a table in trueval's own words: score is the score
        assert read_run(frame)["score"].to_list() == [1.0]
        return
    with pytest.raises(DataError, match=message) as caught:
        read_run(frame)
    assert caught.value.where
    assert caught.value.found
    assert caught.value.do


BROKEN = [
    ("r.csv", b"", "empty"),
    ("r.csv", b"user,item,score\n", "empty"),
    ("r.csv", b"user,item,score\n1,2,high\n", "could not be read"),
    ("r.csv", b"1,2,0.5\n", "no header"),
    ("r.parquet", b"PAR1 not really", "could not be read"),
    ("r.jsonl", b'{"user": 1', "could not be read"),
    ("r.run", b"1 Q0 a 1 0.5\n", "6 fields"),
    ("r.run", b"1 Q0 a 1 high tag\n", "scores must be numbers"),
    ("r.doc", b"x", "unknown file format"),
]


@pytest.mark.parametrize(("name", "content", "message"), BROKEN)
@pytest.mark.parametrize("lazily", [False, True])
def test_broken_runs(tmp_path: Path, name: str, content: bytes, message: str, lazily: bool) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    if lazily and content == b"user,item,score\n":
        assert not len(scan_run(path).collect())
        return
    with pytest.raises(DataError, match=message) as caught:
        scan_run(path) if lazily else read_run(path)
    assert str(path) in caught.value.where


def test_missing_run(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_run(tmp_path / "bpr.parquet")
    with pytest.raises(DataError, match="no such file"):
        scan_run(tmp_path / "bpr.parquet")
