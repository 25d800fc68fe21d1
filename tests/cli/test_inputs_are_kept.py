"""No command overwrites what it reads, under whatever name, nor one of its outputs with another."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import typer.main

from trueval.cli.app import make_app
from trueval.cli.guard import OUTPUTS
from trueval.data.locks import LOCK

ROWS = [(user, item, (user * 7 + item) % 5 + 1, user * 100 + item) for user in range(20) for item in range(8)]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with inputs of every command, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    log = pl.DataFrame(ROWS, schema=["user", "item", "value", "time"], orient="row")
    log.write_csv("log.csv")
    log.filter(pl.col("item") < 4).write_csv("test.csv")
    log.select("user", "item", score="value").write_csv("recs.csv")
    named = log.select("user", "item", prediction=pl.col("value") / 6, label=(pl.col("time") % 3 == 0).cast(int))
    named.filter(pl.col("item") < 4).write_csv("predictions.csv")
    named.filter(pl.col("item") >= 4).write_csv("validation.csv")
    log.select("user", arm=pl.col("user") % 2, spend="value").unique("user").write_csv("ab.csv")
    log.select("item", reward="value", propensity=pl.lit(0.125)).write_csv("ope.csv")
    for name in ("log", "test", "recs", "predictions", "validation", "ab", "ope"):
        Path(f"{name}.html").write_bytes(Path(f"{name}.csv").read_bytes())
        Path(f"{name}.json").write_bytes(Path(f"{name}.csv").read_bytes())
    text = '[data]\npath = "log.csv"\n[evaluation]\nmetrics = ["ndcg@5"]\n[systems]\npopularity = {}\n'
    Path("experiment.toml").write_text(text)
    return tmp_path


def contents(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


COMMANDS = {
    "evaluate --per-user": (["evaluate", "recs.csv", "--test", "test.csv", "--per-user"], ["recs.csv", "test.csv"]),
    "evaluate -o": (["evaluate", "recs.csv", "--test", "test.csv", "-o"], ["recs.csv", "test.csv"]),
    "evaluate --train": (["evaluate", "recs.csv", "--test", "test.csv", "--train", "log.csv", "-o"], ["log.csv"]),
    "evaluate --report": (["evaluate", "recs.csv", "--test", "test.html", "--report"], ["test.html"]),
    "evaluate --propensity": (
        ["evaluate", "recs.csv", "--test", "test.csv", "--propensity", "display_share:log.csv", "-o"], ["log.csv"]),
    "calibrate -o": (
        ["calibrate", "predictions.csv", "--validation", "validation.csv", "-o"],
        ["predictions.csv", "validation.csv"]),
    "calibrate --save": (
        ["calibrate", "predictions.csv", "--validation", "validation.json", "--save"], ["validation.json"]),
    "ab -o": (["ab", "ab.csv", "--arm", "arm", "-o"], ["ab.csv"]),
    "ab --report": (["ab", "ab.html", "--arm", "arm", "--report"], ["ab.html"]),
    "ope -o": (["ope", "ope.csv", "--target", "log.csv", "-o"], ["ope.csv", "log.csv"]),
    "compare -o": (["compare", "recs.csv", "-o"], ["recs.csv"]),
    "audit -o": (
        ["audit", "--train", "log.csv", "--test", "test.csv", "--recs", "recs.csv", "-o"],
        ["log.csv", "test.csv", "recs.csv"]),
    "gate -o": (["gate", "recs.csv", "test.csv", "-o"], ["recs.csv", "test.csv"]),
    "track -o": (["track", "log.csv", "test.csv", "--items", "recs.csv", "-o"], ["log.csv", "test.csv", "recs.csv"]),
    "simulate loop -o": (["simulate", "loop", "log.csv", "-o"], ["log.csv"]),
    "study analyse -o": (["study", "analyse", "recs.csv", "-o"], ["recs.csv"]),
    "study analyse --report": (["study", "analyse", "recs.html", "--report"], ["recs.html"]),
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_no_file_that_is_read_is_written(place: Path, trueval: Callable, command: str) -> None:
    words, read = COMMANDS[command]
    os.mkdir("sub")
    for name in read:
        ending = Path(name).suffix
        os.symlink(name, f"link{ending}")
        os.link(name, f"hard{ending}")
        before = contents(place)
        for other in (name, f"./sub/../{name}", str(place / name), f"link{ending}", f"hard{ending}"):
            ran = trueval(*words, other)
            assert ran.code == 2, other
            assert "would overwrite an input" in ran.err
            assert contents(place) == before
        os.unlink(f"link{ending}")
        os.unlink(f"hard{ending}")


def test_every_command_that_writes_is_guarded() -> None:
    """`run` guards itself, since only the experiment knows what it reads."""
    commands = dict(typer.main.get_command(make_app()).commands)
    groups = {name: one.commands for name, one in commands.items() if hasattr(one, "commands")}
    assert groups.keys() == {"simulate", "data", "study"}
    commands |= {f"{group} {name}": one for group, inner in groups.items() for name, one in inner.items()}
    writing = {name for name, command in commands.items() if OUTPUTS.keys() & {p.name for p in command.params}}
    tried = {" ".join(words[: 1 + (words[0] in groups)]) for words, _ in COMMANDS.values()}
    tried |= {
        "split",
        "demo",
        "run",
        "reproduce",
        *(f"simulate {kind}" for kind in ("world", "skew", "opposed", "like")),
        *(f"study {name}" for name in ("new", "export", "invite", "backup")),
    }
    assert writing == tried
    assert {name for name, command in commands.items() if hasattr(command.callback, "guarded")} == writing - {"run"}


@pytest.mark.parametrize("other", ["x.csv", "./x.csv", "link.csv"])
def test_two_outputs_of_one_name(place: Path, trueval: Callable, other: str) -> None:
    os.symlink("x.csv", "link.csv")
    ran = trueval("evaluate", "recs.csv", "--test", "test.csv", "-o", "x.csv", "--per-user", other)
    assert ran.code == 2
    assert "two outputs are the same file" in ran.err
    assert not Path("x.csv").exists()
    ran = trueval("evaluate", "recs.csv", "--test", "test.csv", "-o", "r/", "--per-user", "r/results.parquet")
    assert "two outputs are the same file" in ran.err
    assert not Path("r").exists()


def test_folders_that_contain_an_input(place: Path, trueval: Callable) -> None:
    assert trueval("split", "log.csv", "--how", "holdout", "-o", "parts").code == 0
    before = contents(place)
    for words in (
        ["split", "log.csv", "--how", "holdout", "-o", "."],
        ["split", "parts/train.parquet", "--how", "holdout", "-o", "parts", "--force"],
        ["simulate", "like", "log.csv", "-o", "."],
        ["simulate", "skew", "parts/train.parquet", "-o", "parts", "--force"],
        ["simulate", "opposed", "log.csv", "-o", "sub/.."],
        ["run", "experiment.toml", "-o", "."],
        ["run", "experiment.toml", "-o", "sub/.."],
        ["evaluate", "recs.csv", "--test", "parts/test.parquet", "-o", "parts/"],
    ):
        ran = trueval(*words)
        assert ran.code == 2
        assert "contains an input" in ran.err
        assert contents(place) == before


def test_folders_that_are_read(place: Path, trueval: Callable) -> None:
    assert trueval("split", "log.csv", "--how", "holdout", "-o", "parts").code == 0
    Path("logs").mkdir()
    pl.read_csv("log.csv").write_parquet("logs/one.parquet")
    before = contents(place)
    for words, said in (
        (["split", "logs", "--how", "holdout", "-o", "logs/parts"], "become a part of an input"),
        (["evaluate", "recs.csv", "--test", "logs", "--per-user", "logs/two.parquet"], "become a part of an input"),
        (["evaluate", "recs.csv", "--test", "logs", "--per-user", "logs/one.parquet"], "overwrite a part of an input"),
        (["evaluate", "recs.csv", "--test", "parts/test.parquet", "--per-user", "parts/train.parquet"],
         "would overwrite an input"),
    ):  # fmt: skip
        ran = trueval(*words)
        assert ran.code == 2
        assert said in ran.err
        assert contents(place) == before


def test_results_may_be_joined_by_a_comparison_but_not_overwritten(place: Path, trueval: Callable) -> None:
    pl.read_csv("recs.csv").with_columns(score=pl.col("score") * -1).write_csv("other.csv")
    assert trueval("evaluate", "recs.csv", "other.csv", "--test", "test.csv", "--metrics", "rr", "-o", "r/").code == 0
    before = contents(place)
    for name in ("summary.json", "manifest.json"):
        ran = trueval("compare", "r", "-o", f"r/{name}")
        assert ran.code == 2
        assert "overwrite a part of an input" in ran.err
    assert contents(place) == before
    for _ in range(2):
        assert trueval("compare", "r", "-o", "r/comparison.csv").code == 0


def test_an_experiment_knows_all_that_it_reads(place: Path, trueval: Callable) -> None:
    Path("runs").mkdir()
    Path("runs/recs-0.csv").write_bytes(Path("recs.csv").read_bytes())
    text = Path("experiment.toml").read_text()
    Path("experiment.toml").write_text(text + 'mine = { run = "runs/recs-{seed}.csv" }\n')
    before = contents(place)
    ran = trueval("run", "experiment.toml", "-o", "runs")
    assert ran.code == 2
    assert "recs-0.csv is read" in ran.err
    assert contents(place) == before


def test_the_copy_of_an_experiment_may_be_run_in_its_folder(place: Path, trueval: Callable) -> None:
    text = Path("experiment.toml").read_text().replace("log.csv", str(place / "log.csv"))
    Path("experiment.toml").write_text(text)
    assert trueval("run", "experiment.toml", "-o", "out").code == 0
    assert trueval("run", "out/experiment.toml", "-o", "out", "--resume").code == 0
    assert Path("out/experiment.toml").read_text() == text


def test_a_dash_is_no_name(place: Path, trueval: Callable) -> None:
    for words in (["evaluate", "recs.csv", "--test", "test.csv"], ["demo"], ["run", "experiment.toml"]):
        ran = trueval(*words, "-o", "-")
        assert ran.code == 2
        assert "omit -o" in ran.err
    assert not Path("-").exists()


# ---- failures leave nothing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("made_before", [False, True])
def test_a_command_that_fails_leaves_no_folder(place: Path, trueval: Callable, made_before: bool) -> None:
    Path("bad.csv").write_text("user,item\n1,\n")
    Path("bad.toml").write_text(Path("experiment.toml").read_text().replace("log.csv", "bad.csv"))
    text = Path("experiment.toml").read_text().replace("[data]", "[data]\nthreshold = 99")  # seen when data are split
    Path("wrong.toml").write_text(text)
    if made_before:
        Path("deep/out").mkdir(parents=True)
    before = sorted(place.rglob("*"))
    for words in (
        ["evaluate", "bad.csv", "--test", "test.csv"],
        ["split", "bad.csv", "--how", "holdout"],
        ["simulate", "like", "bad.csv"],
        ["simulate", "world", "--users", "0"],
        ["run", "bad.toml"],
        ["run", "wrong.toml"],
    ):
        assert trueval(*words, "-o", "deep/out").code == 2
        assert sorted(place.rglob("*")) == before, words


def test_a_second_writer_is_refused_before_its_work(place: Path, trueval: Callable) -> None:
    import threading

    from trueval.data.locks import locked

    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(place / "out"):
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        for words in (["evaluate", "none.csv", "--test", "none.csv"], ["run", "experiment.toml"], ["demo"]):
            ran = trueval(*words, "-o", "out")
            assert ran.code == 2
            assert "another process is writing into this folder" in ran.err
            assert f"process {os.getpid()}" in ran.err
    finally:
        done.set()
        thread.join()
    assert not Path("out").exists()
    assert not list(place.rglob(LOCK))
