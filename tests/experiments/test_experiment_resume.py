"""Experiments that stop and go on: nothing finished is done again, and in the end all is as if it had never stopped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from experiment_worlds import EXPERIMENT, contents, fits, make_folder, write_experiment

import trueval as tv
from trueval.errors import TruevalError
from trueval.experiments.folder import MARKER


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an experiment that has run without interruption."""
    folder = make_folder(tmp_path_factory.mktemp("whole"))
    tv.run(folder / "experiment.toml", folder / "out")
    (folder / "fits.txt").unlink()
    return folder


@pytest.fixture(scope="module")
def whole(finished: Path) -> dict[str, bytes]:
    """Its files."""
    return contents(finished / "out")


@pytest.fixture
def ran(place: Path, finished: Path) -> Path:
    """A copy of that folder."""
    shutil.copytree(finished / "out", place / "out")
    return place


def test_a_run_that_failed_goes_on_where_it_stopped(place: Path, whole: dict[str, bytes]) -> None:
    (place / "stop-bent-5").touch()
    with pytest.raises(TruevalError, match="stopped here"):
        tv.run(place / "experiment.toml", place / "out")
    assert json.loads((place / "out" / MARKER).read_text())["state"] == "unfinished"
    (place / "stop-bent-5").unlink()
    tv.run(place / "experiment.toml", place / "out", resume=True)
    assert fits(place) == ["bent 3", "bent 5", "bent 5"]
    assert contents(place / "out") == whole


def command(place: Path, *more: str) -> subprocess.CompletedProcess:
    arguments = ["run", str(place / "experiment.toml"), "-o", str(place / "out"), *more]
    code = "from trueval.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)


def test_a_killed_command_goes_on_where_it_stopped(place: Path) -> None:
    text = EXPERIMENT.replace("bentmodels:Bent", "bentmodels:Killed")
    write_experiment(place, text)
    tv.run(place / "experiment.toml", place / "whole")
    (place / "fits.txt").unlink()
    (place / "stop-bent-5").touch()
    assert command(place).returncode == -signal.SIGKILL
    (place / "stop-bent-5").unlink()
    with pytest.raises(TruevalError, match="an unfinished run of this experiment"):
        tv.run(place / "experiment.toml", place / "out")
    ran = command(place, "--resume")
    assert ran.returncode == 0, ran.stderr
    assert fits(place) == ["bent 3", "bent 5", "bent 5"]
    assert contents(place / "out") == contents(place / "whole")


@pytest.mark.parametrize("moves", [0, 1, 20])
def test_killed_while_files_are_moved(place: Path, whole: dict[str, bytes], moves: int) -> None:
    code = f"""
import os, signal, sys
import pathlib, tempfile
count = 0
real, real_replace = pathlib.Path.rename, os.replace
def killing(do):
    def moved(*a, **k):
        global count
        count += 1
        if count > {moves}:
            os.kill(os.getpid(), signal.SIGKILL)
        return do(*a, **k)
    return moved
pathlib.Path.rename, os.replace = killing(real), killing(real_replace)
from trueval.cli import main
main()
"""
    arguments = ["run", str(place / "experiment.toml"), "-o", str(place / "out")]
    assert subprocess.run([sys.executable, "-c", code, *arguments]).returncode == -signal.SIGKILL
    tv.run(place / "experiment.toml", place / "out", resume=True)
    assert contents(place / "out") == whole


def test_a_changed_parameter_makes_only_its_own_part_anew(place: Path) -> None:
    two = EXPERIMENT + 'other = { import = "bentmodels:Bent", power = 0.8, mark = "other" }\n'
    path = write_experiment(place, two)
    tv.run(path, place / "out")
    (place / "fits.txt").unlink()
    changed = write_experiment(place, two.replace("power = 0.8", "power = 0.2"))
    found = tv.run(changed, place / "out", resume=True)
    assert fits(place) == ["other 3", "other 5"]
    fresh = tv.run(changed, place / "fresh")
    assert found.table().equals(fresh.table())
    assert contents(place / "out") == contents(place / "fresh")  # facts of what it was before are gone


@pytest.mark.parametrize(
    ("old", "new", "fitted"),
    [
        ('"recall@20"', '"recall@20", "rr@100", "auc"', []),  # metrics
        ('"AR-TI-AN", ', '"AR-TI-AN", "AR-TI-AN-condensed", ', ["bent 3", "bent 5"]),  # a design needs a ranking
        (', "1R-TI-NN20"', "", []),
        ("seeds = [3, 5]", "seeds = [3, 5, 6]", ["bent 6"]),
        ("threshold = 4", "threshold = 5", ["bent 3", "bent 5"]),
        ('baseline = "popularity"', 'population = "all"', ["bent 3", "bent 5"]),
        ('"recall@20"', '"recall@120"', ["bent 3", "bent 5"]),  # deeper than lists are kept
        ("bent = {", "renamed = {", []),
    ],
)
def test_what_a_change_costs(ran: Path, old: str, new: str, fitted: list[str]) -> None:
    assert old in EXPERIMENT
    path = write_experiment(ran, EXPERIMENT.replace(old, new))
    found = tv.run(path, ran / "out", resume=True)
    assert fits(ran) == fitted
    assert found.table().equals(tv.run(path).table())


def test_changed_data_code_and_runs_are_seen(ran: Path) -> None:
    path = ran / "experiment.toml"
    (ran / "bentmodels.py").write_text((ran / "bentmodels.py").read_text().replace("2 * bend", "3 * bend"))
    tv.run(path, ran / "out", resume=True)
    assert len(fits(ran)) == 2
    log = tv.read(ran / "log.parquet").frame
    log[1:].write_parquet(ran / "log.parquet")
    tv.run(path, ran / "out", resume=True)
    assert len(fits(ran)) == 4
    log[1:].reverse().write_parquet(ran / "log.parquet")  # the same rows in another order
    tv.run(path, ran / "out", resume=True)
    assert len(fits(ran)) == 4


def test_a_changed_run_is_read_again(place: Path) -> None:
    parts = tv.split(tv.read(place / "log.parquet"), "holdout", ratio=0.25, seed=3)
    hits = parts.test.frame.select("user", "item", score="value")
    hits.with_columns(score=-hits["score"]).write_csv(place / "mine.csv")
    text = EXPERIMENT.replace("seeds = [3, 5]", "seed = 3").replace(', "1R-TI-NN20"', "")
    path = write_experiment(place, text + 'mine = { run = "mine.csv" }\n')
    worse = tv.run(path, place / "out")["AR-TI-AN"]["mine", "ndcg@10"].value
    hits.write_csv(place / "mine.csv")
    better = tv.run(path, place / "out", resume=True)["AR-TI-AN"]["mine", "ndcg@10"].value
    assert better == pytest.approx(1)  # every test item, best first
    assert worse < better


def test_files_that_no_longer_belong_are_removed(ran: Path) -> None:
    path = write_experiment(ran, EXPERIMENT.replace(', "1R-TI-NN20"', "").replace("[3, 5]", "[5, 6]"))
    (ran / "out" / "notes.txt").write_text("mine")
    tv.run(path, ran / "out", resume=True)
    tables = sorted(str(p.parent.relative_to(ran / "out")) for p in (ran / "out" / "designs").rglob("*.parquet"))
    assert tables == ["designs/AR-TI-AN/seed-5", "designs/AR-TI-AN/seed-6"]
    assert sorted(p.name for p in (ran / "out" / "designs").iterdir()) == ["AR-TI-AN"]
    assert (ran / "out" / "notes.txt").read_text() == "mine"


def test_damaged_facts_are_made_anew(ran: Path, whole: dict[str, bytes]) -> None:
    some = sorted((ran / "out" / "facts").iterdir())
    (some[0] / "units.parquet").write_bytes(b"PAR1 not really")
    (some[1] / "facts.json").unlink()
    (some[2] / "items.parquet").unlink()
    tv.run(ran / "experiment.toml", ran / "out", resume=True)
    assert contents(ran / "out") == whole


def test_an_experiment_is_not_written_over(ran: Path, whole: dict[str, bytes]) -> None:
    with pytest.raises(TruevalError, match="the results of this experiment") as caught:
        tv.run(ran / "experiment.toml", ran / "out")
    assert "--resume" in caught.value.do
    other = write_experiment(ran, EXPERIMENT.replace("factors = 4", "factors = 5"), "other.toml")
    with pytest.raises(TruevalError, match=r"another experiment \(\[systems\] plsa changed\)"):
        tv.run(other, ran / "out")
    assert contents(ran / "out") == whole
    with pytest.raises(TruevalError, match="nothing to resume"):
        tv.run(ran / "experiment.toml", resume=True)


def test_somebody_elses_folder_is_left_alone(place: Path, trueval: Callable) -> None:
    folder = place / "mine"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    for more in ((), ("--resume",)):
        ran = trueval("run", place / "experiment.toml", "-o", folder, *more)
        assert ran.code == 2
        assert "a folder with other files" in ran.err
    assert contents(folder) == {"thesis.tex": b"years of work"}
    (place / "thesis").write_text("years of work")
    for name, words in (("mine/thesis.tex", "the name of a file"), ("thesis", "is a file")):
        ran = trueval("run", place / "experiment.toml", "-o", place / name)
        assert ran.code == 2
        assert words in ran.err
        assert (place / name).read_text() == "years of work"
    assert fits(place) == []


def test_a_file_of_somebody_else_in_the_way_is_said_before_the_work(place: Path) -> None:
    (place / "stop-bent-3").touch()
    with pytest.raises(TruevalError, match="stopped here"):
        tv.run(place / "experiment.toml", place / "out")
    (place / "out" / "report.html").write_text("mine")
    with pytest.raises(TruevalError, match="a file that trueval did not write would be overwritten"):
        tv.run(place / "experiment.toml", place / "out", resume=True)
    assert fits(place) == ["bent 3"]
    assert (place / "out" / "report.html").read_text() == "mine"


def test_evaluate_does_not_write_over_an_experiment(ran: Path, whole: dict[str, bytes], trueval: Callable) -> None:
    rows = tv.read(ran / "log.parquet").frame.rename({"value": "score"})
    rows.unique(["user", "item"]).write_csv(ran / "recs.csv")
    asked = trueval("evaluate", ran / "recs.csv", "--test", ran / "log.parquet", "-o", f"{ran / 'out'}/")
    assert asked.code == 2
    assert contents(ran / "out") == whole


def test_a_failure_before_anything_is_finished_needs_no_resume(place: Path, whole: dict[str, bytes]) -> None:
    log = (place / "log.parquet").read_bytes()
    (place / "log.parquet").write_bytes(b"not a table")
    with pytest.raises(TruevalError):
        tv.run(place / "experiment.toml", place / "out")
    assert not (place / "out").exists()
    (place / "log.parquet").write_bytes(log)
    (place / "stop-bent-3").touch()
    first = EXPERIMENT.replace("popularity = {}\n", "").replace("plsa = { factors = 4, iterations = 5 }\n", "")
    path = write_experiment(place, first.replace('baseline = "popularity"', ""))
    with pytest.raises(TruevalError, match="stopped here"):
        tv.run(path, place / "out")
    (place / "stop-bent-3").unlink()
    tv.run(write_experiment(place, EXPERIMENT), place / "out")
    assert contents(place / "out") == whole


def test_the_command_says_how_to_go_on(place: Path, trueval: Callable) -> None:
    (place / "stop-bent-3").touch()
    ran = trueval("run", place / "experiment.toml", "-o", place / "out")
    assert ran.code == 2
    assert ran.out == ""
    assert "resume with --resume" in ran.err
    assert "[systems] bent" in ran.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_made(place: Path, trueval: Callable) -> None:
    place.chmod(0o500)
    try:
        ran = trueval("run", place / "experiment.toml", "-o", place / "out")
    finally:
        place.chmod(0o700)
    assert ran.code == 2
    assert "could not be written" in ran.err
