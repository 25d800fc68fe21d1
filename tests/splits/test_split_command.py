"""trueval split and its folder: what is written comes back, and nothing is half written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer
from typer.testing import CliRunner

from trueval.cli.split import split_command
from trueval.cli.split_options import SplitCommand
from trueval.data.interactions import Interactions
from trueval.errors import DataError, DefinitionError, OutputError
from trueval.splits import Parts, load_parts, save_parts, split
from trueval.splits import folder as folder_module

app = typer.Typer()
app.command("split", cls=SplitCommand)(split_command)


@pytest.fixture
def log_file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "uid": rng.integers(0, 30, 600),
            "sku": rng.integers(0, 40, 600),
            "ts": rng.permutation(600),
            "rating": 4,
        }
    )
    frame.write_csv(tmp_path / "log.csv")
    return tmp_path / "log.csv"


def run(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (
            ["--how", "holdout", "--ratio", "0.3", "--by", "user", "--validation", "0.1"],
            {"ratio": 0.3, "by": "user", "validation": 0.1},
        ),
        (["--how", "leave_one_out", "--n", "2", "--validation", "1"], {"n": 2, "validation": 1}),
        (["--how", "temporal", "--at", "400"], {"at": "400"}),
        (["--how", "user_temporal", "--ratio", "0.25"], {"ratio": 0.25}),
        (
            ["--how", "uniform_test", "--ratio", "0.1", "--eps", "0.4", "--round", "nearest"],
            {"ratio": 0.1, "eps": 0.4, "round": "nearest"},
        ),
    ],
)
def test_round_trip(log_file, tmp_path, words, options):
    out = tmp_path / "parts"
    text = run(log_file, *words, "--seed", 3, "--columns", "user=uid,item=sku,time=ts", "-o", out)
    log = Interactions.of(pl.read_csv(log_file).rename({"uid": "user", "sku": "item", "ts": "time", "rating": "value"}))
    expected, loaded = split(log, words[1], seed=3, **options), load_parts(out)
    for name in ("train", "validation", "test"):
        one, other = getattr(expected, name), getattr(loaded, name)
        assert (one is None) == (other is None)
        assert one is None or one.frame.equals(other.frame)
    assert loaded.how == expected.how
    assert loaded.report() == expected.report()
    assert (loaded.dropped is None) == (expected.dropped is None)
    assert loaded.dropped is None or loaded.dropped.equals(expected.dropped)
    assert loaded.candidates is None or loaded.candidates.equals(expected.candidates)
    told = json.loads((out / "split.json").read_text())
    assert told["fingerprint"] == log.fingerprint()
    assert set(told["leakage"]["checks"]) >= {"overlap", "own_future", "new_users"}
    assert "leakage:" in text
    assert f"{len(expected.test):,}" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.csv", "parts"]


@pytest.mark.parametrize(
    ("words", "number"),
    [
        (["--how", "kfold", "--folds", 3], 3),
        (["--how", "rolling", "--windows", 2], 2),
        (["--how", "rolling", "--at", 300, "--at", 400], 2),
    ],
)
def test_several_parts(log_file, tmp_path, words, number):
    out = tmp_path / "parts"
    text = run(log_file, *words, "-o", out)
    folds = [load_parts(out / f"fold-{fold}") for fold in range(1, number + 1)]
    assert all(parts.rows == 600 for parts in folds)
    assert f"fold-{number}" in text
    with pytest.raises(DataError, match="several splits"):
        load_parts(out)


def test_quiet_prints_nothing(log_file, tmp_path):
    assert run(log_file, "--quiet", "-o", tmp_path / "parts") == ""


def test_existing_folders_are_respected(log_file, tmp_path):
    out = tmp_path / "parts"
    out.mkdir()
    run(log_file, "-o", out)
    with pytest.raises(OutputError, match="--force"):
        run(log_file, "-o", out)
    run(log_file, "--ratio", "0.4", "--force", "-o", out)
    assert load_parts(out).how["ratio"] == 0.4
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years of work")
    with pytest.raises(OutputError, match="another folder"):
        run(log_file, "--force", "-o", mine)
    assert (mine / "thesis.tex").read_text() == "years of work"
    with pytest.raises(OutputError, match="a file"):
        run(log_file, "--force", "-o", log_file)


@pytest.mark.parametrize(
    ("words", "kind", "word"),
    [
        (["--how", "holdot"], DefinitionError, "did you mean holdout"),
        (["--how", "holdout", "--folds", "3"], DefinitionError, "no option 'folds'"),
        (["--how", "holdout", "--at", "3"], DefinitionError, "no option 'at'"),
        (["--how", "temporal", "--at", "3", "--at", "4"], DefinitionError, "could not be read"),
        (["--how", "uniform_test", "--ratio", "0.9"], DefinitionError, "largest possible ratio"),
        (["--columns", "user=nobody"], DataError, "nobody"),
    ],
)
def test_bad_requests_write_nothing(log_file, tmp_path, words, kind, word):
    with pytest.raises(kind, match=word):
        run(log_file, *words, "-o", tmp_path / "parts")
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_nothing_is_half_written(tmp_path, monkeypatch, problem):
    log = Interactions.of(pl.DataFrame({"user": [1] * 9, "item": range(9)}))
    parts = split(log, by="user")
    save_parts(parts, tmp_path / "parts")

    def fail(*_: object) -> None:
        raise problem

    monkeypatch.setattr(folder_module, "_write_json", fail)
    expected = OutputError if isinstance(problem, OSError) else KeyboardInterrupt
    for name, force in (("new", False), ("parts", True)):
        with pytest.raises(expected):
            save_parts(parts, tmp_path / name, force=force)
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]
    assert len(load_parts(tmp_path / "parts").test) == len(parts.test)


def test_unwritable_output(tmp_path):
    (tmp_path / "file").write_text("")
    log = Interactions.of(pl.DataFrame({"user": [1] * 9, "item": range(9)}))
    with pytest.raises(OutputError, match="could not be written"):
        save_parts(split(log, by="user"), tmp_path / "file" / "parts")


def test_side_tables_and_the_observed_part_travel_along(tmp_path):
    items = pl.DataFrame({"item": range(9), "genre": list("abcabcabc")})
    log = Interactions.of(pl.DataFrame({"user": [1] * 9, "item": range(9)}), items=items)
    part = log.keep(log.frame[:3])
    save_parts(Parts(log, part, observed=part, how={"how": "by hand"}), tmp_path / "parts")
    loaded = load_parts(tmp_path / "parts")
    assert loaded.train.items.equals(items)
    assert len(loaded.observed) == 3


def test_broken_folders(tmp_path):
    with pytest.raises(DataError, match="not a folder written by trueval split"):
        load_parts(tmp_path)
    log = Interactions.of(pl.DataFrame({"user": [1] * 9, "item": range(9)}))
    out = save_parts(split(log, by="user"), tmp_path / "parts")
    log.frame.write_parquet(out / "test.parquet")
    with pytest.raises(DataError, match="9 rows instead of 2"):
        load_parts(out)
    (out / "test.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(DataError, match="could not be read"):
        load_parts(out)
    (out / "test.parquet").unlink()
    with pytest.raises(DataError, match="0 rows instead of 2"):
        load_parts(out)
