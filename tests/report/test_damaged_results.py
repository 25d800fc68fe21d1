"""Results of which a part is missing, broken or of another kind: one error, never a traceback."""

from __future__ import annotations

import json
import random

import polars as pl
import pytest

import trueval as tv
from trueval.errors import DataError, TruevalError
from trueval.report.saved_results import load_results, save_per_user


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    test = pl.DataFrame({"user": [1, 1, 2, 3], "item": [1, 2, 2, 3], "value": [1, 1, 1, 1]})
    run = pl.DataFrame({"user": [1, 1, 2, 2, 3, 3], "item": [1, 3, 1, 2, 2, 3], "score": [2.0, 1, 2, 1, 2, 1]})
    result = tv.evaluate_run({"one": run, "two": run}, test, metrics="ndcg@2,coverage@2", resamples=50)
    save_per_user(result.evaluation, folder / "good.parquet")
    return folder / "good.parquet"


def again(path, saved, change):
    """The saved result with another record."""
    record = change(json.loads(pl.read_parquet_metadata(saved)["trueval"]))
    text = record if isinstance(record, str) else json.dumps(record)
    pl.read_parquet(saved).write_parquet(path, metadata={"trueval": text})
    return path


def places(value, path=()):
    """Every place in a record."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


def changed(record, path, new):
    if not path:
        return new
    inside = record
    for key in path[:-1]:
        inside = inside[key]
    if new is KeyError:
        del inside[path[-1]]
    else:
        inside[path[-1]] = new
    return record


def test_the_good_one_is_read(saved, tmp_path):
    assert set(load_results(again(tmp_path / "x.parquet", saved, lambda r: r))[""].systems) == {"one", "two"}


@pytest.mark.parametrize(
    "text", ["", "{", "null", "[]", "1", "[" * 100_000, '{"a":' * 5000, "9" * 5000, '{"manifest": 1}']
)
def test_records_that_are_none(text, saved, tmp_path):
    with pytest.raises(DataError):
        load_results(again(tmp_path / "x.parquet", saved, lambda _: text))


def test_any_part_of_another_kind(saved, tmp_path, assert_result_or_refused):
    """Wherever something else stands in a record, comparing works or is refused."""
    record = json.loads(pl.read_parquet_metadata(saved)["trueval"])
    rng = random.Random(3)
    every = [path for path in places(record) if path]
    outcomes = set()
    for path in rng.sample(every, min(len(every), 120)):
        for new in (None, "x", -1, [], {}, KeyError):
            spoiled = changed(json.loads(json.dumps(record)), path, new)
            again(tmp_path / "x.parquet", saved, lambda _, spoiled=spoiled: spoiled)
            for sources in ([tmp_path / "x.parquet"], [saved, tmp_path / "x.parquet"]):
                outcomes.add(assert_result_or_refused(tv.compare, sources) is None)
    assert outcomes == {True, False}


def test_damaged_tables(saved, tmp_path):
    path, good = tmp_path / "x.parquet", saved.read_bytes()
    rng = random.Random(2)
    for content in (b"", b"PAR1", b"PAR1PAR1", good[:100], good[:-8], good + b"x"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"could not be read as a result|is empty"):
            load_results(path)
    for _ in range(40):
        content = bytearray(good)
        content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(content)
        try:
            load_results(path)
        except TruevalError:
            continue


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.drop("user"), lambda f: f.drop("system"), lambda f: f.head(0),
        lambda f: f.with_columns(user=pl.concat_list("user")), lambda f: f.with_columns(pl.lit("x").alias("ndcg@2")),
        lambda f: f.with_columns(pl.lit(None).alias("ndcg@2")), lambda f: f.with_columns(system=pl.lit(None)),
        lambda f: f.with_columns(pl.lit(b"x").alias("ndcg@2")), lambda f: f.drop("coverage@2|numerator", strict=False),
    ],
)  # fmt: skip
def test_tables_with_other_columns(change, saved, tmp_path, assert_result_or_refused):
    text = pl.read_parquet_metadata(saved)["trueval"]
    change(pl.read_parquet(saved)).write_parquet(tmp_path / "x.parquet", metadata={"trueval": text})
    assert_result_or_refused(load_results, tmp_path / "x.parquet")


def test_a_manifest_beside_that_is_damaged(tmp_path):
    pl.DataFrame({"user": [1], "system": ["a"]}).write_parquet(tmp_path / "results.parquet")
    for content in (b"{", b"\xff\xfe", b"[" * 100_000, b"[]", b'{"definitions": []}'):
        (tmp_path / "manifest.json").write_bytes(content)
        with pytest.raises(DataError):
            load_results(tmp_path)


def test_a_result_in_a_folder_called_like_a_pattern(saved, tmp_path):
    (tmp_path / "[a]*").mkdir()
    (tmp_path / "[a]*" / "results.parquet").write_bytes(saved.read_bytes())
    assert load_results(tmp_path / "[a]*")[""].systems
