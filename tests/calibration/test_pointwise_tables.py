"""Tables of predictions: what pointwise metrics say at the edges, what they refuse, how they read and print."""

from __future__ import annotations

import math

import polars as pl
import pytest
from prediction_worlds import TOY, world

import trueval as tv
from trueval.errors import DataError, DefinitionError


def test_infinite_logloss_is_said_and_can_be_bounded():
    table = pl.DataFrame({"p": [0.0, 0.5, 1.0, 1.0], "y": [1, 0, 1, 0]})
    found = tv.pointwise(table, ["logloss"])
    assert found["logloss"].value == math.inf
    assert math.isnan(found["logloss"].low)
    assert "2 rows give probability 0" in found.warnings[0]
    assert found.to_dict()["metrics"]["logloss"]["value"] is None
    bounded = tv.pointwise(table, ["logloss"], clip=0.01)
    expected = -(2 * math.log(0.01) + math.log(0.5) + math.log(0.99)) / 4
    assert bounded["logloss"].value == pytest.approx(expected)
    assert "3 of 4 rows were clipped" in bounded.warnings[0]


def test_users_with_one_class_are_counted():
    table = pl.DataFrame({"user": [1, 1, 2, 2, 3], "p": [0.1, 0.2, 0.4, 0.3, 0.5], "y": [0, 1, 1, 1, 0]})
    found = tv.pointwise(table)
    assert (found["gauc"].value, found["gauc"].n, found["gauc"].undefined) == (1.0, 1, 2)
    assert any("2 of 3 users" in text for text in found.warnings)


def test_one_class_leaves_auc_undefined():
    found = tv.pointwise(pl.DataFrame({"p": [0.1, 0.2], "y": [0, 0]}))
    assert math.isnan(found["auc"].value)
    assert (found["auc"].n, found["auc"].undefined) == (0, 2)
    assert "undefined" in str(found)


def test_scores_have_an_area_but_no_loss():
    table = pl.DataFrame({"score": [-3.0, 2.0, 7.0], "y": [0, 1, 1]})
    assert tv.pointwise(table, ["auc"])["auc"].value == 1
    with pytest.raises(DataError, match="not probabilities") as caught:
        tv.pointwise(table, ["auc", "brier"])
    assert "row 1: prediction -3.0" in caught.value.found
    assert "3 rows" in caught.value.found


@pytest.mark.parametrize(
    ("columns", "what", "found"),
    [
        ({"p": [0.5, 1.5], "y": [0, 1]}, "not probabilities", "row 2: prediction 1.5"),
        ({"p": [0.5, -0.1], "y": [0, 1]}, "not probabilities", "row 2: prediction -0.1"),
        ({"p": [0.5, math.nan], "y": [0, 1]}, "finite numbers", "row 2: prediction nan"),
        ({"p": [0.5, None], "y": [0, 1]}, "finite numbers", "row 2: prediction None"),
        ({"p": ["0.5", "high"], "y": [0, 1]}, "must be numbers", "row 2: prediction 'high'"),
        ({"p": [0.5, 0.4], "y": [0, 2]}, "labels must be 0 or 1", "row 2: label 2"),
        ({"p": [0.5, 0.4], "y": [-1, 1]}, "labels must be 0 or 1", "row 1: label -1"),
        ({"p": [0.5, 0.4], "y": [0, None]}, "labels must be 0 or 1", "row 2: label None"),
        ({"p": [0.5, 0.4], "y": ["no", "yes"]}, "labels must be 0 or 1", "row 1: label 'no'"),
        ({"p": [0.5, 0.4], "y": [0, 1], "weight": [1, -1]}, "not be negative", "row 2: weight -1"),
        ({"p": [0.5, 0.4], "y": [0, 1], "weight": [0, 0]}, "all weights are 0", ""),
        ({"p": [0.5, 0.4], "y": [0, 1], "user": [None, 1]}, "user ids are missing", "row 1"),
        ({"p": [0.5, 0.4]}, "there is no label column", "columns p"),
        ({"q": [0.5, 0.4], "y": [0, 1]}, "there is no prediction column", "columns q, y"),
        ({"p": [0.5], "pred": [0.5], "y": [1]}, "more than one column looks like the prediction", "p, pred"),
        ({"p": [], "y": []}, "the table is empty", "0 rows"),
    ],
)
def test_bad_tables(columns, what, found):
    with pytest.raises(DataError, match=what) as caught:
        tv.pointwise(pl.DataFrame(columns, strict=False))
    assert found in caught.value.found


@pytest.mark.parametrize(
    ("metric", "what"),
    [
        ("ecce", "unknown pointwise metric"),
        ("ece[bin=3]", "no parameter 'bin'"),
        ("ece[bins=2.5]", "whole number"),
        ("ece[bins=0]", "must be from 1"),
        ("ece[by=size]", "cannot be 'size'"),
        ("brier[bins=3]", "no parameter"),
        ("ece[bins=3,bins=4]", "once"),
        ("ece@10", "name"),
    ],
)
def test_bad_metrics(metric, what):
    with pytest.raises(DefinitionError, match=what):
        tv.pointwise(TOY, [metric])


def test_bad_choices():
    with pytest.raises(DefinitionError, match="is given twice"):
        tv.pointwise(TOY, ["ece", "ece[bins=10]"])
    with pytest.raises(DefinitionError, match="no metric"):
        tv.pointwise(TOY, [])
    for clip in (0, 0.5, -1, math.nan):
        with pytest.raises(DefinitionError, match="clip"):
            tv.pointwise(TOY, clip=clip)
    with pytest.raises(DefinitionError, match="interval"):
        tv.pointwise(TOY, interval="t")
    with pytest.raises(DataError, match="gauc needs a user column"):
        tv.pointwise(TOY, ["gauc"])
    with pytest.raises(DefinitionError, match="too many bins"):
        tv.pointwise(world(8000, 1), ["ece[by=value]"], columns="user=")
    with pytest.raises(DefinitionError, match="whole number"):
        tv.pointwise(TOY).reliability(bins=0)


def test_pandas_and_files_give_the_same(tmp_path):
    table = world(200, 9)
    expected = repr(tv.pointwise(table, resamples=20).estimates)
    assert repr(tv.pointwise(table.to_pandas(), resamples=20).estimates) == expected
    for name in ("t.csv", "t.parquet", "t.jsonl", "t.tsv"):
        path = tmp_path / name
        suffix = path.suffix
        writers = {".csv": "write_csv", ".parquet": "write_parquet", ".jsonl": "write_ndjson", ".tsv": "write_csv"}
        extra = {"separator": "\t"} if suffix == ".tsv" else {}
        getattr(table, writers[suffix])(path, **extra)
        assert repr(tv.pointwise(str(path), resamples=20).estimates) == expected, name


def test_a_result_prints_and_tells_its_definitions():
    found = tv.pointwise(world(500, 10, slope=0.5), resamples=50)
    text = str(found)
    assert "logloss ↓" in text
    assert "◆" in text
    assert "ece[by=mass] = " in text
    assert "95 % bootstrap over 30 users" in text
    assert found.table().columns == ["metric", "value", "low", "high", "n", "undefined", "by_chance", "p"]
    diagram = found.reliability(bins=5).table()
    assert diagram["n"].sum() == 500
    assert set(diagram.columns) >= {"bin", "n", "predicted", "observed", "observed_low", "observed_high"}
