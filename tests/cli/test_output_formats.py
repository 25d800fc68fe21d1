"""Where results go: the ending of a file decides its format, and what cannot be written is said before the work."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import typer.main

from trueval.cli.app import make_app
from trueval.report.output_formats import FORMATS, RESULTS, ROWS

# A command with inputs that do not exist: a refusal that does not speak of them came before any of the work.
WITHOUT_INPUT = {
    "evaluate": ["none.csv", "--test", "none.csv"],
    "compare": ["none"],
    "gate": ["none", "none"],
    "audit": ["--train", "none.csv", "--test", "none.csv"],
    "run": ["none.toml"],
    "ab": ["none.csv", "--arm", "arm"],
    "ope": ["none.csv", "--target", "uniform"],
    "calibrate": ["none.csv", "--validation", "none.csv"],
    "track": ["none.csv"],
    "split": ["none.csv"],
    "demo": [],
    "reproduce": ["bellogin2017", "--data", "none.csv"],
}
FILE_OPTIONS = {"--output", "--report", "--per-user", "--save"}
FOLDERS = ("run", "split", "demo", "reproduce")  # -o is a folder


def file_options() -> dict[str, list[str]]:
    """The commands that write files, with their options for it."""
    commands = typer.main.get_command(make_app()).commands
    given = {name: [opt for p in command.params for opt in p.opts] for name, command in commands.items()}
    found = {name: sorted(FILE_OPTIONS.intersection(options)) for name, options in given.items()}
    return {name: options for name, options in found.items() if options}


def test_no_command_that_writes_is_forgotten_here() -> None:
    assert set(file_options()) == set(WITHOUT_INPUT)


@pytest.mark.parametrize("ending", [".pdf", ".xlsx", ".CSVX"])
@pytest.mark.parametrize(("command", "option"), [(c, o) for c, options in file_options().items() for o in options])
def test_unknown_endings_are_refused_before_the_work(
    trueval: Callable, tmp_path: Path, command: str, option: str, ending: str
) -> None:
    if command in FOLDERS and ending == ".CSVX":
        pytest.skip("a folder may be called so")
    target = tmp_path / f"out{ending}"
    ran = trueval(command, *WITHOUT_INPUT[command], option, target)
    assert ran.code == 2
    assert "none" not in ran.err.replace(str(tmp_path), "")
    assert f"the ending {ending}" in ran.err
    if command not in FOLDERS:
        assert "use one of the available endings: ." in ran.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["evaluate", "compare", "ab", "ope"])
def test_a_format_and_another_ending_are_refused_with_both_named(
    trueval: Callable, tmp_path: Path, command: str
) -> None:
    for name, format in FORMATS.items():
        if name not in RESULTS:
            continue
        other = "json" if name == "csv" else "csv"
        ran = trueval(command, *WITHOUT_INPUT[command], "-o", tmp_path / f"out{format.ending}", "--format", other)
        assert ran.code == 2
        assert f"--format {other}" in ran.err
        assert f"the ending {format.ending}" in ran.err
    assert not list(tmp_path.iterdir())


@pytest.fixture
def asked(files: Path, trueval: Callable) -> dict[str, list[object]]:
    """Commands whose result can be had in every format."""
    evaluate = ["evaluate", files / "recs.csv", files / "other.csv", "--test", files / "test.csv"]
    evaluate += ["--metrics", "ndcg@3,rr,coverage@5", "--quiet"]
    assert trueval(*evaluate, "-o", files / "result").code == 0
    third = [files / "recs.csv", files / "other.csv", files / "third.csv"]
    pl.read_csv(files / "recs.csv").with_columns(score=1 - pl.col("score")).write_csv(files / "third.csv")
    three = ["evaluate", *third, *evaluate[3:], "-o", files / "three"]
    assert trueval(*three).code == 0
    arms = {"user": range(40), "arm": ["a", "b"] * 20, "bought": [u % 3 == 0 for u in range(40)]}
    pl.DataFrame(arms).with_columns(pl.col("bought").cast(int)).write_csv(files / "ab.csv")
    shown = {"item": ["x", "y"] * 20, "reward": [0, 1, 1, 0] * 10, "propensity": [0.5] * 40}
    pl.DataFrame(shown).write_csv(files / "log.csv")
    return {
        "evaluate": [*evaluate, "--baseline", "other"],
        "compare": ["compare", files / "result", "--baseline", "other"],
        "agreement": ["compare", files / "three", "--agreement"],
        "ab": ["ab", files / "ab.csv", "--arm", "arm", "--metrics", "bought", "--user", "user"],
        "ope": ["ope", files / "log.csv", "--target", "uniform"],
        "audit": [
            "audit",
            "--test",
            files / "test.csv",
            "--recs",
            files / "recs.csv",
            "--metrics",
            "ndcg@3",
            "--quiet",
        ],
    }


@pytest.mark.parametrize("command", ["evaluate", "compare", "agreement", "ab", "ope", "audit"])
def test_a_file_holds_what_its_ending_says(trueval: Callable, files: Path, asked: dict, command: str) -> None:
    """The same as `--format` prints, and what it is called."""
    for name in RESULTS:
        printed = trueval(*asked[command], "--format", name)
        assert printed.code == 0, printed.err
        for ending in FORMATS[name].endings:
            target = files / f"out{ending.upper()}"
            written = trueval(*asked[command], "-o", target)
            assert (written.code, written.out) == (0, ""), written.err
            assert target.read_text() == printed.out
    rows = list(csv.DictReader(io.StringIO((files / "out.CSV").read_text())))
    assert rows == list(csv.DictReader(io.StringIO((files / "out.TSV").read_text()), delimiter="\t"))
    assert [list(row) for row in rows] == [list(json.loads(line)) for line in (files / "out.JSONL").open()]
    assert json.loads((files / "out.JSON").read_text())
    assert (files / "out.TEX").read_text().count(r"\begin{tabular}") >= 1
    assert (files / "out.MD").read_text().count("|---") >= 1


@pytest.mark.parametrize("name", RESULTS)
def test_no_format_drops_the_comparison(trueval: Callable, files: Path, asked: dict, name: str) -> None:
    found = json.loads(trueval(*asked["evaluate"], "--format", "json").out)["comparisons"]
    assert {(c["system"], c["metric"]) for c in found} == {("recs", "ndcg@3"), ("recs", "rr"), ("recs", "coverage@5")}
    target = files / f"out{FORMATS[name].ending}"
    trueval(*asked["evaluate"], "-o", target)
    text = target.read_text()
    if name in ROWS:
        rows = {"csv": pl.read_csv, "tsv": lambda p: pl.read_csv(p, separator="\t"), "jsonl": pl.read_ndjson}[name](
            target
        )
        by_place = {(row["system"], row["metric"]): row for row in rows.to_dicts()}
        for c in found:
            row = by_place[c["system"], c["metric"]]
            same = {"difference": "difference", "difference_low": "low", "difference_high": "high", "p": "p"}
            same |= {"p_corrected": "p_corrected", "verdict": "verdict", "baseline": "baseline"}
            assert {column: row[column] for column in same} == {column: c[key] for column, key in same.items()}
        assert by_place["other", "rr"]["baseline"] is None
        assert by_place["other", "rr"]["verdict"] is None
    else:
        assert "compared with other" in text or '"comparisons"' in text
        (rr,) = [c for c in found if c["metric"] == "rr"]
        assert f"{rr['difference']:.4f}" in text or str(rr["difference"]) in text


def test_without_a_baseline_there_are_no_columns_of_differences(trueval: Callable, files: Path) -> None:
    ran = trueval("evaluate", files / "recs.csv", "--test", files / "test.csv", "--metrics", "rr", "--format", "csv")
    assert ran.out.splitlines()[0] == "system,metric,value,low,high,n,undefined"


@pytest.mark.parametrize("name", [name for name in RESULTS if name != "json"])
def test_no_format_drops_the_groups(trueval: Callable, files: Path, name: str) -> None:
    pl.DataFrame({"user": [f"u{u}" for u in range(10)], "kind": ["ash", "oak"] * 5}).write_csv(files / "users.csv")
    ask = ["evaluate", files / "recs.csv", "--test", files / "test.csv", "--metrics", "rr"]
    ask += ["--users", files / "users.csv", "--by", "kind", "--min-group", "1"]
    groups = json.loads(trueval(*ask, "--format", "json").out)["systems"]["recs"]["groups"]["kind"]["values"]
    ran = trueval(*ask, "--format", name)
    assert "kind" in ran.out
    for group, values in groups.items():
        lines = [line for line in ran.out.splitlines() if group in line]
        assert any(f"{values['rr']['value']:.1f}" in line for line in lines), ran.out


def test_a_name_without_an_ending_is_a_folder(trueval: Callable, files: Path) -> None:
    ask = ["evaluate", files / "recs.csv", "--test", files / "test.csv", "--metrics", "rr"]
    for name in ("plain", "slash/", "dotted.v2/"):
        ran = trueval(*ask, "-o", f"{files}/{name}")
        assert ran.code == 0
        assert f"wrote the result folder {files}/{name}" in ran.err
        assert {p.name for p in (files / name).iterdir()} == {"results.parquet", "summary.json", "manifest.json"}
    assert trueval(*ask, "-o", files / "dotted.v2").code == 0  # the folder is there
    assert trueval("compare", files / "plain", "--metrics", "rr", "-o", files / "c").code == 2


def test_a_folder_is_not_written_over_a_file_or_in_a_format(trueval: Callable, files: Path) -> None:
    ask = ["evaluate", "none.csv", "--test", "none.csv"]
    (files / "taken").write_text("mine")
    ran = trueval(*ask, "-o", files / "taken")
    assert ran.code == 2
    assert "a file has its name" in ran.err
    assert f"{files}/taken.csv" in ran.err
    assert (files / "taken").read_text() == "mine"
    ran = trueval(*ask, "-o", files / "new", "--format", "csv")
    assert ran.code == 2
    assert "--format csv" in ran.err
    assert "new.csv" in ran.err
    assert not (files / "new").exists()


@pytest.mark.parametrize("command", ["compare", "ab", "ope"])
def test_where_there_is_no_folder_a_name_needs_an_ending_or_a_format(
    trueval: Callable, files: Path, asked: dict, command: str
) -> None:
    ran = trueval(*asked[command], "-o", files / "bare")
    assert ran.code == 2
    assert "no ending" in ran.err
    assert trueval(*asked[command], "-o", files / "bare", "--format", "csv").code == 0
    assert (files / "bare").read_text() == trueval(*asked[command], "--format", "csv").out


def test_devices_are_not_replaced(trueval: Callable, tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe.csv")
    for command in ("evaluate", "compare", "ab", "ope"):
        ran = trueval(command, *WITHOUT_INPUT[command], "-o", tmp_path / "pipe.csv")
        assert ran.code == 2
        assert "not a regular file" in ran.err
    assert (tmp_path / "pipe.csv").is_fifo()


@pytest.mark.parametrize("ending", [FORMATS[name].ending for name in ROWS])
def test_values_of_users_in_every_format_of_tables(trueval: Callable, files: Path, ending: str) -> None:
    target = files / f"users{ending}"
    ask = ["evaluate", files / "recs.csv", "--test", files / "test.csv", "--metrics", "rr"]
    assert trueval(*ask, "--per-user", target).code == 0
    read = {".csv": pl.read_csv, ".tsv": lambda p: pl.read_csv(p, separator="\t"), ".jsonl": pl.read_ndjson}
    found = read.get(ending, pl.read_parquet)(target)
    assert found.columns == ["system", "user", "rr"]
    assert found["rr"].to_list() == [1.0] * 10


def test_short_commands_refuse_formats_they_do_not_have(trueval: Callable) -> None:
    for ask in (
        ["ab-plan", "--baseline", "0.1", "--users", "1000", "--format", "csv"],
        ["data", "info", "none.csv", "--format", "csv"],
        ["calibrate", *WITHOUT_INPUT["calibrate"], "--format", "csv"],
    ):
        ran = trueval(*ask)
        assert ran.code == 2
        assert "unknown format 'csv'" in ran.err
        assert "json" in ran.err
