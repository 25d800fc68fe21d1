"""Reading logs from tables in memory, from logs, and by name."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.data.interactions import Interactions
from trueval.data.read import read, read_pair
from trueval.errors import DataError, DefinitionError

BIG = 2**53 + 1
ROWS = {"user": [BIG, 2, 2], "item": ["a", "b", "a"], "value": [5.0, 3.0, 1.0]}
TABLE = pl.DataFrame(ROWS).rename({"user": "uid", "item": "sku", "value": "rating"})


def rows(log: Interactions) -> dict[str, list[object]]:
    return log.frame.to_dict(as_series=False)


class Exported:
    """Any object that speaks the Arrow stream interface."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "source",
    [
        TABLE,
        TABLE.lazy(),
        TABLE.to_pandas(),
        TABLE.to_arrow(),
        pa.RecordBatchReader.from_batches(TABLE.to_arrow().schema, TABLE.to_arrow().to_batches()),
        Exported(TABLE.to_arrow()),
        TABLE.with_columns(pl.col("sku").cast(pl.Categorical)),
        TABLE.with_columns(pl.col("sku").cast(pl.Categorical)).to_pandas(),
        TABLE.to_pandas().astype({"sku": "category", "uid": "Int64", "rating": "Float32"}),
        TABLE.to_pandas().astype({"sku": object}),
        TABLE.select("rating", "sku", "uid"),
    ],
    ids=lambda source: type(source).__module__.partition(".")[0] + "." + type(source).__name__,
)
def test_every_kind_of_table_gives_the_same_log(source: object) -> None:
    log = read(source)
    assert rows(log) == ROWS
    assert log.frame["user"].dtype == pl.Int64


def test_pandas_without_pyarrow() -> None:
    script = f"""
import sys
sys.modules["pyarrow"] = None
import pandas as pd
from trueval.data.read import read
frame = pd.DataFrame({{"uid": [{BIG}, 2], "sku": ["a", None or "b"], "rating": [1, 2],
                      "time": pd.to_datetime(["2020-01-01", "2020-01-02"])}})
log = read(frame.astype({{"sku": "category"}}))
assert log.frame.rows() == read(frame).frame.rows() == read(frame.astype({{"uid": "Int64"}})).frame.rows()
assert log.frame["user"].to_list() == [{BIG}, 2]
assert log.frame["item"].to_list() == ["a", "b"]
assert log.frame["time"].to_list()[1] - log.frame["time"].to_list()[0] == 86_400_000_000
try:
    read(pd.DataFrame({{"user": ["a", None], "item": [1, 2]}}))
except ValueError as error:
    assert "user ids are missing" in str(error), error
else:
    raise SystemExit("missing id went unnoticed")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", [pl.Int8, pl.UInt32, pl.Int64, pl.UInt64])
def test_integer_ids_of_any_width_are_equal(kind: pl.DataType) -> None:
    log = read(pl.DataFrame({"user": [1, 2], "item": [3, 4]}, schema={"user": kind, "item": kind}))
    assert log.frame.rows() == [(1, 3), (2, 4)]
    assert log.frame["user"].dtype == pl.Int64


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.Series([1, "a"]), "mixes types"),
        (pd.Series([1.0, None]), "integers or strings"),
        (pd.Series([[1], [2]]), "integers or strings"),
        (pd.Series([True, False]), "integers or strings"),
        (pd.Series(["a", None]), "missing"),
    ],
)
def test_columns_that_cannot_be_ids(column: pd.Series, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(pd.DataFrame({"user": column, "item": [1, 2]}))
    assert "user" in caught.value.where


def test_dates_become_comparable_numbers() -> None:
    days = [datetime(2020, 1, 2), datetime(2020, 1, 1)]
    logs = [
        read(pl.DataFrame({"user": [1, 2], "item": [1, 1], "date": times}))
        for times in (days, [day.date() for day in days], [str(day) for day in days])
    ]
    assert len({tuple(log.frame["time"]) for log in logs}) == 1
    assert read(pl.DataFrame({"user": [1], "item": [1], "ts": [12.0]})).frame["time"].to_list() == [12]
    with pytest.raises(DataError, match="times are missing"):
        read(pl.DataFrame({"user": [1], "item": [1], "ts": [float("nan")]}))


def test_empty_table() -> None:
    with pytest.raises(DataError, match="empty"):
        read(pl.DataFrame({"user": [], "item": []}))


def test_pandas_labels() -> None:
    frame = pd.DataFrame([[1, 2], [3, 4]])
    assert read(frame, columns={"user": 0, "item": 1}).frame.rows() == [(1, 2), (3, 4)]
    frame.columns = ["user", "user"]
    with pytest.raises(DataError, match="same name"):
        read(frame)


def test_a_lazy_frame_that_fails() -> None:
    broken = pl.LazyFrame({"user": ["a"], "item": [1]}).with_columns(pl.col("user").cast(pl.Int64))
    with pytest.raises(DataError, match="could not be read"):
        read(broken)


def test_a_log_is_returned_as_it_is() -> None:
    log = read(TABLE)
    assert read(log) is log
    assert read(log, name="x").name == "x"
    assert read(log, columns={"user": "item", "item": "user"}).frame["user"].to_list() == ["a", "b", "a"]
    with pytest.raises(DataError, match="does not exist"):
        read(log, columns={"user": "uid"})


def test_mappings() -> None:
    frame = pl.DataFrame({"a": [1], "b": [2], "c": [3], "rating": [9]})
    log = read(frame, columns={"user": "a", "item": "b", "value": "c"})
    assert log.frame.to_dicts() == [{"user": 1, "item": 2, "value": 3.0, "rating": 9}]
    assert read(frame, columns="user=a,item=b,value=c").frame.equals(log.frame)
    assert not read(frame, columns="user=a,item=b,value=").has("value")
    with pytest.raises(DefinitionError, match="unknown column role"):
        read(frame, columns={"usr": "a"})


@pytest.mark.parametrize("source", [3, None, ["log.csv"], b"log.csv"])
def test_what_is_not_a_source(source: object) -> None:
    with pytest.raises(DataError, match="cannot be read from this"):
        read(source)


@given(st.permutations(["user_id", "movieId", "rating", "timestamp", "extra"]))
def test_column_order_does_not_matter(order: list[str]) -> None:
    frame = pl.DataFrame({"user_id": [1, 2], "movieId": [3, 4], "rating": [5, 6], "timestamp": [7, 8], "extra": [9, 0]})
    assert read(frame.select(order)).frame.rows() == read(frame).frame.rows()


# --- names -------------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRUEVAL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def test_name_of_a_fetched_set(home: Path) -> None:
    (home / "ml-100k").mkdir(parents=True)
    (home / "ml-100k" / "u.data").write_text("1\t2\t3\t4\n")
    log = read("ml-100k")
    assert log.name == "ml-100k"
    assert log.frame.rows() == [(1, 2, 3.0, 4)]


def test_known_name_that_was_not_fetched(home: Path) -> None:
    with pytest.raises(DataError, match="has not been fetched") as caught:
        read("ml-1m")
    assert caught.value.do == "trueval data get ml-1m"
    with pytest.raises(DataError, match="has not been fetched"):
        read_pair("coat")


def test_unknown_name(home: Path) -> None:
    with pytest.raises(DataError, match="no such file or data set") as caught:
        read("ml-1n")
    assert "ml-1m" in caught.value.do
