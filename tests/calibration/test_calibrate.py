"""tv.calibrate: before and after, the guard against the test part, and the command."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest
from prediction_worlds import world

import trueval as tv
from trueval.errors import DataError


@pytest.fixture
def parts():
    """A test and a validation part of an over-confident model, users and items apart."""
    return world(2000, 1, slope=0.5), world(3000, 2, slope=0.5, first=1000)


@pytest.fixture
def two_files(tmp_path, parts):
    for name, table in zip(("test", "validation"), parts):
        renamed = table.rename({"user": "uid", "item": "sku", "prediction": "ctr", "label": "clicked"})
        renamed.write_csv(tmp_path / f"{name}.csv")
    return tmp_path


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_calibration_mends_an_overconfident_model(parts, method):
    test, validation = parts
    found = tv.calibrate(test, validation=validation, method=method, clip=1e-6, resamples=200)
    for metric in ("logloss", "brier", "ece"):
        assert found.changes[metric].verdict == "better"
        assert found.changes[metric].high < 0
        assert found.after[metric].value < found.before[metric].value
    assert found.changes["auc"].verdict == "not shown"
    assert found.frame["calibrated"].to_list() == found.calibrator.apply(test["prediction"]).tolist()
    assert found.frame["item"].to_list() == test["item"].to_list()


def test_platt_changes_no_area(parts):
    test, validation = parts
    found = tv.calibrate(test, validation=validation, metrics=["auc", "gauc"], resamples=50)
    for metric in ("auc", "gauc"):
        assert found.after[metric] == found.before[metric]
        assert found.changes[metric].difference == 0


def test_a_change_is_paired(parts):
    """Its interval is narrower than those of its ends, for both see the same rows."""
    test, validation = parts
    found = tv.calibrate(test, validation=validation, metrics=["logloss"])
    change, before = found.changes["logloss"], found.before["logloss"]
    assert change.low < change.difference < change.high
    assert change.high - change.low < before.high - before.low


def test_isotonic_ties_are_said(parts):
    test, validation = parts
    found = tv.calibrate(test, validation=validation, method="isotonic", metrics=["auc"], interval="none")
    assert any("distinct predictions became" in text for text in found.warnings)
    assert math.isnan(found.after["auc"].low)


def test_scores_are_judged_by_order_only_before(parts):
    test, validation = (t.with_columns(pl.col("prediction") * 20 - 10) for t in parts)
    found = tv.calibrate(test, validation=validation, metrics=["brier", "auc"], resamples=20)
    assert found.calibrator.input == "score"
    assert list(found.before.estimates) == ["auc"]
    assert list(found.after.estimates) == ["brier", "auc"]
    assert "not a probability" in str(found)
    assert "reliability before" not in str(found)


def test_scores_in_one_table_are_scores_in_both(parts):
    test, validation = parts
    wide = test.with_columns(prediction=pl.col("prediction") * 3)
    assert tv.calibrate(wide, validation=validation, metrics=["auc"], interval="none").calibrator.input == "score"
    with pytest.raises(DataError, match="not probabilities"):
        tv.calibrate(wide, validation=validation, input="probability")


def test_the_test_part_is_refused_as_validation(parts):
    test, validation = parts
    with pytest.raises(DataError, match="share rows") as caught:
        tv.calibrate(test, validation=test)
    assert "2,000 rows" in caught.value.found
    with pytest.raises(DataError, match="share rows") as caught:
        tv.calibrate(test, validation=pl.concat([validation, test[:3]]))
    assert "3 rows" in caught.value.found


def test_the_same_pair_at_another_time_is_another_row(parts):
    test, validation = parts
    later = pl.concat([validation, test[:3]])
    for given, time in ((test, 1), (later, 0)):
        assert len(given.with_columns(time=pl.lit(time))) == len(given)
    found = tv.calibrate(
        test.with_columns(time=pl.lit(1)),
        validation=later.with_columns(time=pl.lit(0)),
        metrics=["auc"],
        interval="none",
    )
    assert found.warnings == []
    with pytest.raises(DataError, match="share rows"):
        tv.calibrate(test.with_columns(time=pl.lit(1)), validation=later.with_columns(time=pl.lit(1)))
    with pytest.raises(DataError, match="share rows") as caught:
        tv.calibrate(test, validation=later.with_columns(time=pl.lit(1)))
    assert "time" in caught.value.do


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl"])
def test_the_table_written_is_the_one_read_with_a_column_more(trueval, tmp_path, parts, suffix):
    """Other columns, roles in odd places, columns called like roles, ids with leading zeros, labels that are words."""
    writers = {".parquet": "write_parquet", ".csv": "write_csv", ".tsv": "write_csv", ".jsonl": "write_ndjson"}
    readers = {".parquet": pl.read_parquet, ".csv": pl.read_csv, ".tsv": pl.read_csv, ".jsonl": pl.read_ndjson}
    extra = {"separator": "\t"} if suffix == ".tsv" else {}
    for name, table in zip(("test", "validation"), parts):
        odd = table.select(
            note=pl.lit("a, b"), clicked=pl.col("label") == 1, weight=pl.lit(2.0), guess="prediction",
            sku=pl.format("00{}", "item"), prediction=pl.lit("none"), uid="user",
        )  # fmt: skip
        getattr(odd, writers[suffix])(tmp_path / f"{name}{suffix}", **extra)
    out = tmp_path / f"out{suffix}"
    ran = trueval(
        "calibrate", tmp_path / f"test{suffix}", "--validation", tmp_path / f"validation{suffix}", "--columns",
        "prediction=guess,weight=", "--interval", "none", "-o", out,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    read = {"infer_schema": False, **extra} if suffix in (".csv", ".tsv") else {}
    given, written = (readers[suffix](path, **read) for path in (tmp_path / f"test{suffix}", out))
    assert written.columns == [*given.columns, "calibrated"]
    assert written.drop("calibrated").equals(given)


def test_a_calibrator_fitted_earlier_serves_but_not_on_its_own_table(parts, tmp_path):
    test, validation = parts
    fitted = tv.fit_calibrator(validation)
    fresh = tv.calibrate(test, validation=validation, metrics=["brier"], interval="none")
    again = tv.calibrate(test, validation=fitted, metrics=["brier"], interval="none")
    assert again.after["brier"].value == fresh.after["brier"].value
    fitted.save(tmp_path / "c.json")
    assert tv.calibrate(test, validation=str(tmp_path / "c.json"), interval="none").frame.equals(fresh.frame)
    with pytest.raises(DataError, match="fitted on rows of the test table"):
        tv.calibrate(validation, validation=fitted)


def test_id_types_must_agree(parts):
    test, validation = parts
    with pytest.raises(DataError, match="different types"):
        tv.calibrate(test, validation=validation.with_columns(pl.col("user").cast(pl.String)))


def test_one_result_whatever_the_order_of_rows(parts):
    test, validation = parts
    shuffled = [t.sample(fraction=1, shuffle=True, seed=3) for t in parts]
    one = tv.calibrate(test, validation=validation, resamples=30)
    two = tv.calibrate(shuffled[0], validation=shuffled[1], resamples=30)
    assert one.to_json() == two.to_json()


def test_a_column_called_calibrated_is_not_overwritten(parts):
    test, validation = parts
    with pytest.raises(DataError, match="already has a column calibrated"):
        tv.calibrate(test.with_columns(calibrated=pl.lit(0.5)), validation=validation)


def test_command_prints_before_and_after_and_writes_the_table(trueval, two_files):
    out = two_files / "calibrated.csv"
    ran = trueval(
        "calibrate", two_files / "test.csv", "--validation", two_files / "validation.csv", "-o", out, "--save",
        two_files / "c.json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    for word in ("before", "after", "logloss ↓", "gauc ↑", "mce ↓", "reliability before", "reliability after", "█"):
        assert word in ran.out
    written = pl.read_csv(out)
    given = pl.read_csv(two_files / "test.csv")
    assert written.drop("calibrated").equals(given)
    assert written.columns == [*given.columns, "calibrated"] == ["uid", "sku", "ctr", "clicked", "calibrated"]
    calibrator = tv.Calibrator.load(two_files / "c.json")
    assert written["calibrated"].to_numpy() == pytest.approx(calibrator.apply(written["ctr"]))
    assert np.corrcoef(written["calibrated"].rank(), written["ctr"].rank())[0, 1] == pytest.approx(1)


def test_command_json(trueval, two_files):
    ran = trueval(
        "calibrate", two_files / "test.csv", "--validation", two_files / "validation.csv", "--method", "isotonic",
        "--format", "json", "--bins", "4", "--by", "width",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    record = json.loads(ran.out, parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))
    assert set(record) == {"calibrator", "before", "after", "changes", "manifest", "warnings"}
    assert set(record["after"]["metrics"]["ece"]) == {
        "value", "low", "high", "n", "undefined", "by_chance", "p",
    }  # fmt: skip
    assert "p" not in record["after"]["metrics"]["auc"]
    assert record["after"]["metrics"]["ece"]["value"] < record["before"]["metrics"]["ece"]["value"]
    assert [row["high"] for row in record["before"]["reliability"]["bins"]] == [0.25, 0.5, 0.75, 1]
    assert set(record["after"]["brier"]) >= {"brier", "reliability", "resolution", "uncertainty", "within_variance"}
    assert set(record["manifest"]["definitions"]) == set(record["after"]["metrics"])


def test_command_reads_roles_and_a_saved_calibrator(trueval, two_files):
    for name in ("test", "validation"):
        table = pl.read_csv(two_files / f"{name}.csv").rename({"ctr": "guess", "clicked": "bought"})
        table.write_parquet(two_files / f"{name}.parquet")
    roles = ("--columns", "user=uid,item=sku,prediction=guess,label=bought", "--interval", "none", "--quiet")
    first = trueval(
        "calibrate", two_files / "test.parquet", "--validation", two_files / "validation.parquet", *roles, "--save",
        two_files / "c.json",
    )  # fmt: skip
    assert first.code == 0, first.err
    second = trueval("calibrate", two_files / "test.parquet", "--validation", two_files / "c.json", *roles)
    assert second.code == 0, second.err
    assert first.out.split("\n")[:9] == second.out.split("\n")[:9]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--method", "beta"], "unknown method 'beta'"),
        (["--format", "xml"], "unknown format"),
        (["--metrics", "ndcg"], "unknown pointwise metric"),
        (["--bins", "0"], "number of bins"),
        (["--by", "size"], "unknown kind of bins"),
        (["--clip", "2"], "clip must lie between"),
        (["--interval", "t"], "unknown interval"),
        (["--columns", "prediction=nothing"], "the column given for prediction does not exist"),
        (["--columns", "score=ctr"], "did you mean prediction"),
        (["--columns", "label=sku"], "labels must be 0 or 1"),
        (["-o", "{}/no/out.csv"], "cannot be written"),
        (["-o", "{}/out.xml"], "there is no output format"),
        (["--validation", "{}/test.csv"], "share rows"),
        (["--validation", "{}/nothing.csv"], "no such file"),
    ],
)
def test_command_refuses_with_exit_code_2_and_writes_nothing(trueval, two_files, options, word):
    before = {path.name for path in two_files.iterdir()}
    options = [text.format(two_files) for text in options]
    ran = trueval("calibrate", two_files / "test.csv", "--validation", two_files / "validation.csv", *options)
    assert ran.code == 2
    assert word in ran.err
    assert ran.out == ""
    assert {path.name for path in two_files.iterdir()} == before


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("u,i,1.7,1", "not probabilities"),
        ("u,i,nan,1", "finite numbers"),
        ("u,i,,1", "finite numbers"),
        ("u,i,,", "finite numbers"),
        ("u,i,high,1", "must be numbers"),
        ("u,i,0.5,3", "labels must be 0 or 1"),
        ("u,i,0.5,", "labels must be 0 or 1"),
    ],
)
def test_command_refuses_bad_rows(trueval, two_files, line, word):
    """The bad row is the last, beyond what types are guessed from."""
    path = two_files / "test.csv"
    path.write_text(path.read_text() + line + "\n")
    ran = trueval(
        "calibrate", path, "--validation", two_files / "validation.csv", "--columns", "user=,item=", "--input",
        "probability",
    )  # fmt: skip
    assert ran.code == 2
    assert word in ran.err


def test_a_wrong_row_far_behind_is_found(trueval, two_files):
    rows = "\n".join("0,1" if i % 3 else "1,0" for i in range(12_000))
    (two_files / "long.csv").write_text("p,y\n" + rows + "\n0.5,maybe\n")
    ran = trueval("calibrate", two_files / "long.csv", "--validation", two_files / "validation.csv")
    assert ran.code == 2
    assert "labels must be 0 or 1" in ran.err
    assert "1 row:" in ran.err
    assert "row 12001: label 'maybe'" in ran.err


def test_a_narrow_window_cuts_no_line(parts):
    from trueval.calibration.render import calibration_text

    test, validation = parts
    found = tv.calibrate(test, validation=validation, resamples=20)
    for width in (80, 100, 104):
        assert max(map(len, calibration_text(found, width=width).split("\n"))) <= width
    assert "[" in calibration_text(found, width=80).split("\n")[2]
