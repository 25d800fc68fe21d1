"""--csv-safe: no cell of CSV is a formula; without it, and in other formats, data stay as they are."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer.main

from trueval.cli.app import make_app
from trueval.report.csv_safety import BEGINNINGS, csv_safe
from trueval.report.output_formats import FORMATS

FORMULA = '=HYPERLINK("http://x","y")'
WRITE_CSV = {"evaluate", "compare", "gate", "audit", "ab", "ope", "calibrate", "run", "track", "simulate loop"}


def cells(text: str, separator: str = ",") -> list[str]:
    return [cell for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) for cell in row]


def formulas(found: list[str]) -> list[str]:
    """Cells that a spreadsheet would run; numbers are none."""

    def number(cell: str) -> bool:
        try:
            float(cell)
        except ValueError:
            return False
        return True

    return [cell for cell in found if cell.startswith(BEGINNINGS) and not number(cell)]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    users = [FORMULA, "+1+1", "-1-1", "@SUM(A1)", "\tx", "plain"]
    pl.DataFrame({"user": users, "item": users}).write_parquet(tmp_path / "test.parquet")
    for name in ("=cmd", "b"):
        frame = pl.DataFrame({"user": users, "item": users, "rank": [1] * 6})
        frame.write_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


def test_every_command_that_writes_csv_has_the_option() -> None:
    commands = dict(typer.main.get_command(make_app()).commands)
    commands |= {f"simulate {name}": one for name, one in commands["simulate"].commands.items()}
    having = {name for name, command in commands.items() if any("--csv-safe" in p.opts for p in command.params)}
    assert having == WRITE_CSV


@pytest.mark.parametrize(("ending", "separator"), [("csv", ","), ("tsv", "\t")])
def test_evaluations(trueval: Callable, files: Path, ending: str, separator: str) -> None:
    runs = [files / "=cmd.parquet", files / "b.parquet"]
    arguments = ["evaluate", *runs, "--test", files / "test.parquet", "--metrics", "hit@1", "--baseline", "b"]
    kept, table = files / f"users.{ending}", files / f"table.{ending}"
    ran = trueval(*arguments, "--per-user", kept, "-o", table)
    assert ran.code == 0, ran.err
    assert formulas(cells(kept.read_text(), separator))
    assert formulas(cells(table.read_text(), separator)) == ["=cmd"]
    safe = trueval(*arguments, "--per-user", kept, "-o", table, "--csv-safe")
    assert safe.code == 0, safe.err
    assert not formulas(cells(kept.read_text(), separator))
    assert not formulas(cells(table.read_text(), separator))
    assert f"'{FORMULA}" in cells(kept.read_text(), separator)
    assert "16 cells begin like a formula and got an apostrophe" in safe.err  # 5 users of two runs, and 6 times =cmd
    assert "1 cell begins like a formula" in safe.err
    printed = trueval(*arguments, "--format", ending, "--csv-safe").out
    assert printed == table.read_text()


def test_other_formats_keep_the_data(trueval: Callable, files: Path) -> None:
    arguments = ["evaluate", files / "=cmd.parquet", "--test", files / "test.parquet", "--metrics", "hit@1"]
    ran = trueval(*arguments, "--per-user", files / "users.parquet", "--format", "csv", "--csv-safe")
    assert ran.code == 0, ran.err
    assert "'=cmd" in ran.out
    assert FORMULA in pl.read_parquet(files / "users.parquet")["user"].to_list()


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "none.csv", "--test", "none.csv", "--format", "json"],
        ["evaluate", "none.csv", "--test", "none.csv", "-o", "folder/"],
        ["compare", "none"],
        ["run", "none.toml"],
        ["ab", "none.csv", "--arm", "arm", "--format", "jsonl"],
        ["ope", "none.csv", "--target", "uniform", "--format", "md"],
        ["calibrate", "none.csv", "--validation", "none.csv", "-o", "out.parquet"],
    ],
)
def test_it_is_refused_before_the_work_where_no_csv_is_written(
    trueval: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = trueval(*arguments, "--csv-safe")
    assert ran.code == 2
    assert "--csv-safe concerns CSV and TSV, and none is written" in ran.err
    assert not list(tmp_path.iterdir())


def test_ab_compare_ope_calibrate_and_run(trueval: Callable, tmp_path: Path, files: Path) -> None:
    rng = np.random.default_rng(0)
    n = 400
    arms = pl.DataFrame({"arm": rng.choice(["=old", "+new"], n), "bought": rng.integers(0, 2, n)})
    arms.write_csv(tmp_path / "ab.csv")
    ab = ["ab", tmp_path / "ab.csv", "--arm", "arm", "--metrics", "bought", "--control", "=old", "--format", "csv"]

    runs = [files / "=cmd.parquet", files / "b.parquet"]
    saved = trueval("evaluate", *runs, "--test", files / "test.parquet", "--metrics", "hit@1", "-o", tmp_path / "res/")
    assert saved.code == 0, saved.err
    compare = ["compare", tmp_path / "res", "--baseline", "b", "--format", "csv"]

    predicted = rng.uniform(0.1, 0.9, n)
    frame = pl.DataFrame({"prediction": predicted, "label": (rng.random(n) < predicted).astype(int)})
    for name, part in (("validation", frame[:200]), ("test", frame[200:])):
        notes = [FORMULA] * len(part)
        part.with_columns(pl.Series("@note", notes)).write_csv(tmp_path / f"{name}.csv")
    calibrate = ["calibrate", tmp_path / "test.csv", "--validation", tmp_path / "validation.csv", "--interval", "none"]

    log = pl.DataFrame({"item": rng.choice(["=a", "b"], n), "reward": rng.integers(0, 2, n), "propensity": [0.5] * n})
    log.write_csv(tmp_path / "log.csv")
    ope = ["ope", tmp_path / "log.csv", "--target", "uniform", "--format", "csv"]

    rows = [(u, (u + j * j) % 11) for u in range(30) for j in range(4)]
    pl.DataFrame(rows, ["user", "item"], orient="row").write_parquet(tmp_path / "rows.parquet")
    text = '[data]\npath = "rows.parquet"\n[evaluation]\nmetrics = ["auc"]\n[systems]\n'
    text += '"=pop" = { system = "popularity" }\n'
    (tmp_path / "exp.toml").write_text(text)

    for command, some in ((ab, True), (compare, True), (ope, False)):
        before, after = trueval(*command), trueval(*command, "--csv-safe")
        assert (before.code, after.code) == (0, 0), before.err + after.err
        assert bool(formulas(cells(before.out))) == some
        assert not formulas(cells(after.out))
        assert "like a formula" in after.err
    for number, safe in enumerate(([], ["--csv-safe"])):
        ran = trueval(*calibrate, "-o", tmp_path / "calibrated.csv", *safe)
        assert ran.code == 0, ran.err
        assert bool(formulas(cells((tmp_path / "calibrated.csv").read_text()))) == (not safe)
        ran = trueval("run", tmp_path / "exp.toml", "-o", tmp_path / f"out{number}", "--format", "csv", *safe)
        assert ran.code == 0, ran.err
        assert bool(formulas(cells(ran.out))) == (not safe)
    assert "201 cells begin like a formula" in trueval(*calibrate, "-o", tmp_path / "c.csv", "--csv-safe").err


def test_names_that_would_be_the_same_stay_apart() -> None:
    made, changed = csv_safe(pl.DataFrame({"=a": [1], "'=a": [2], "b": ["x"]}))
    assert made.columns == ["''=a", "'=a", "b"]
    assert changed == 1


def test_kinds_of_columns() -> None:
    frame = pl.DataFrame({"c": ["-x", None, "y"], "n": [-1, None, 2], "f": [-0.5, 1.0, None]})
    made, changed = csv_safe(frame.with_columns(pl.col("c").cast(pl.Categorical)))
    assert (made.rows(), changed) == ([("'-x", -1, -0.5), (None, None, 1.0), ("y", 2, None)], 1)
    assert csv_safe(pl.DataFrame({"c": pl.Series([], dtype=pl.String)}))[1] == 0
    assert {made.name for made in FORMATS.values() if made.separator} == {"csv", "tsv"}


def test_snapshots_and_rounds(trueval: Callable, tmp_path: Path) -> None:
    """Names of snapshots and of groups come from files."""
    rows = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 3]})
    for name in ("=a", "=b"):
        rows.write_parquet(tmp_path / f"{name}.parquet")
    pl.DataFrame({"item": [1, 2, 3], "brand": [FORMULA, "x", "y"]}).write_csv(tmp_path / "items.csv")
    words = [
        "track",
        tmp_path / "=a.parquet",
        tmp_path / "=b.parquet",
        "--items",
        tmp_path / "items.csv",
        "--by",
        "brand",
    ]
    ran = trueval(*words, "--format", "csv")
    assert formulas(cells(ran.out)) == ["=a", "=b"]
    ran = trueval(*words, "--format", "csv", "--csv-safe")
    assert ran.code == 0, ran.err
    assert not formulas(cells(ran.out))
