"""Whatever a file holds, a reader returns a table or says in one of trueval's errors what is wrong with it."""

from __future__ import annotations

import io
import random

import polars as pl
import pytest
from spoiled_texts import TEXTS

from trueval.calibration.predictions import read_predictions
from trueval.data.interactions import Interactions
from trueval.data.items import read_items
from trueval.data.read import read
from trueval.data.run_tables import read_run, scan_run
from trueval.data.users import read_users
from trueval.errors import DataError
from trueval.online.ab.read_table import read_ab_table
from trueval.online.ope.tables import bandit_table, read_roles
from trueval.propensity.sources import read_propensity

LOG = Interactions.of(pl.DataFrame({"user": [1, 2], "item": [1, 2]}))
BANDIT = bandit_table(needs=("item", "reward"), may_have=("user", "propensity"))
READERS = {
    "log": read,
    "run": read_run,
    "streamed run": lambda source: scan_run(source) if not isinstance(source, pl.DataFrame) else None,
    "items": read_items,
    "users": read_users,
    "predictions": read_predictions,
    "ab": lambda source: read_ab_table(source, arm="arm"),
    "bandit": lambda source: read_roles(source, {}, roles=BANDIT, name="log"),
    "propensity": lambda source: read_propensity(source, train=LOG, test=LOG),
}
GOOD = pl.DataFrame({
    "user": [1, 1, 2], "item": [1, 2, 1], "value": [4, 3, 5], "time": [10, 20, 30], "rank": [1, 2, 1],
    "prediction": [0.5, 0.25, 0.75], "label": [1, 0, 1], "arm": ["a", "b", "a"], "reward": [1, 0, 1],
    "p": [0.5, 0.5, 1],
})  # fmt: skip


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".dat", ".inter", ".run", ".jsonl", ".parquet"])
@pytest.mark.parametrize("reader", READERS)
def test_no_text_breaks_a_reader(reader, suffix, tmp_path, assert_result_or_refused):
    path = tmp_path / f"table{suffix}"
    refused = 0
    for text in TEXTS.values():
        path.write_bytes(text if suffix != ".tsv" else text.replace(b",", b"\t"))
        refused += assert_result_or_refused(READERS[reader], path) is not None
    assert refused


JSON = {
    "deep": b'{"user":' * 5000,
    "deep lists": b"[" * 100_000,
    "long integers": b'{"user": ' + b"9" * 5000 + b', "item": 1}\n',
    "nested": b'{"user": [1], "item": {"a": 1}, "value": {"b": [1]}, "rank": [], "label": {}, "arm": []}\n',
    "other keys": b'{"user": 1, "item": 1}\n{"user": 2, "sku": 3}\n{"item": null}\n',
    "other types": b'{"user": 1, "item": 1}\n{"user": "a", "item": [2]}\n',
    "no objects": b"1\n2\n",
    "a list": b'[{"user": 1, "item": 1}]',
    "cut": b'{"user": 1, "item": 1}\n{"user": 2, "it',
    "nothing inside": b"{}\n{}\n",
    "null": b"null\n",
}


@pytest.mark.parametrize("reader", READERS)
def test_no_json_breaks_a_reader(reader, tmp_path, assert_result_or_refused):
    path = tmp_path / "table.jsonl"
    refused = 0
    for text in JSON.values():
        path.write_bytes(text)
        refused += assert_result_or_refused(READERS[reader], path) is not None
    assert refused


def parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


DAMAGED = {
    "a mark": b"PAR1",
    "two marks": b"PAR1PAR1",
    "a footer of absurd length": b"PAR1" + b"\xff\xff\xff\x7f" + b"PAR1",
    "no footer": parquet(GOOD)[:-8],
    "half": parquet(GOOD)[:300],
    "no columns": parquet(pl.DataFrame()),
    "no rows": parquet(GOOD.head(0)),
    "zeros in the footer": parquet(GOOD)[:-300] + b"\0" * 292 + parquet(GOOD)[-8:],
}


@pytest.mark.parametrize("reader", READERS)
def test_no_parquet_breaks_a_reader(reader, tmp_path, assert_result_or_refused):
    path = tmp_path / "table.parquet"
    for content in DAMAGED.values():
        path.write_bytes(content)
        if reader != "streamed run":  # whose rows are read later
            assert assert_result_or_refused(READERS[reader], path) is not None
    rng = random.Random(1)
    for _ in range(40):
        content = bytearray(parquet(GOOD))
        content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(content)
        assert_result_or_refused(READERS[reader], path)


HUGE = 2**70
TYPES = {
    "list": lambda c: pl.concat_list(c),
    "struct": lambda c: pl.struct(a=c),
    "array": lambda c: pl.concat_list(c).list.to_array(1),
    "binary": lambda c: c.cast(pl.String).cast(pl.Binary),
    "duration": lambda c: c.cast(pl.Int64, strict=False).cast(pl.Duration("ms")),
    "time of day": lambda c: c.cast(pl.Int64, strict=False).cast(pl.Time, strict=False),
    "decimal": lambda c: c.cast(pl.Decimal(20, 2), strict=False),
    "128 bits": lambda c: c.cast(pl.Int128, strict=False) * HUGE,
    "64 bits without a sign": lambda c: c.cast(pl.UInt64, strict=False) + 2**63,
    "nothing": lambda c: pl.lit(None),
    "category": lambda c: c.cast(pl.String).cast(pl.Categorical),
    "boolean": lambda c: c.is_not_null(),
    "day of no calendar": lambda c: (c.cast(pl.Int32, strict=False) * 10**7 + 10**9).cast(pl.Date),
    "moment of no calendar": lambda c: (c.cast(pl.Int64, strict=False) + 2**62).cast(pl.Datetime("ms")),
    "late moment": lambda c: (c.cast(pl.Int64, strict=False) + 2**62).cast(pl.Datetime("us")),
    "not a number": lambda c: pl.lit(float("nan")),
    "infinite": lambda c: pl.lit(float("inf")),
    "large": lambda c: c.cast(pl.Float64, strict=False) * 1e300,
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("reader", READERS)
def test_no_type_of_a_column_breaks_a_reader(reader, kind, tmp_path, assert_result_or_refused):
    path = tmp_path / "table.parquet"
    for column in GOOD.columns:
        frame = GOOD.with_columns(TYPES[kind](pl.col(column)).alias(column))
        assert_result_or_refused(READERS[reader], frame)
        frame.write_parquet(path)
        assert_result_or_refused(READERS[reader], path)


@pytest.mark.parametrize("reader", [read, read_run])
def test_ids_beyond_64_bits_are_text_as_in_text_files(reader, tmp_path):
    wide = pl.DataFrame({"user": [HUGE, 7], "item": [1, 2], "value": [1.0, 2.0]}, schema_overrides={"user": pl.Int128})
    wide.write_csv(tmp_path / "wide.csv")
    found = [getattr(table, "frame", table)["user"].to_list() for table in map(reader, (wide, tmp_path / "wide.csv"))]
    assert found == [[str(HUGE), "7"]] * 2


def test_narrow_ids_in_wide_columns_are_integers():
    log = read(pl.DataFrame({"user": [5], "item": [2**63]}, schema_overrides={"user": pl.Int128, "item": pl.Int128}))
    assert log.frame.schema["user"] == pl.Int64
    assert log.frame["item"].to_list() == [2**63]


def test_old_line_ends_are_named(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(TEXTS["carriage returns"])
    with pytest.raises(DataError, match="carriage return alone"):
        read(path)


@pytest.mark.parametrize("name", ["utf-16", "utf-16 without a mark", "utf-32", "only null characters"])
def test_other_encodings_are_named(name, tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(TEXTS[name])
    with pytest.raises(DataError, match="UTF-8"):
        read(path)


def test_long_fields_are_no_error(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text(f'item,text\n1,"{"a, " * 100_000}"\n2,short\n')
    assert read_items(path)["text"].str.len_chars().to_list() == [300_000, 5]


def test_days_become_microseconds_as_before():
    log = read(pl.DataFrame({"user": [1], "item": [1], "time": [1]}).with_columns(pl.col("time").cast(pl.Date)))
    assert log.frame["time"].to_list() == [86_400 * 10**6]
