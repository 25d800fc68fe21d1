"""The folder of an experiment belongs to one process, and never holds a mixture of two runs."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from experiment_worlds import EXPERIMENT, contents, make_folder, write_experiment

import trueval as tv
from trueval.data.locks import LOCK
from trueval.errors import OutputError, TruevalError
from trueval.report.saved_results import load_results

CHANGED = EXPERIMENT.replace('"ndcg@10", ', '"ndcg@10", "rr", ').replace(', "1R-TI-NN20"', "")


def killed_run(place: Path, moves: int) -> int:
    """Resume an experiment in a process that is killed when it has moved so many files, facts aside."""
    code = f"""
import os, signal, sys
count = 0
def hook(event, arguments):
    global count
    if event == "os.rename" and "/facts/" not in os.fspath(arguments[1]) and {str(place)!r} in os.fspath(arguments[1]):
        count += 1
        if count > {moves}:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
from trueval.cli import main
main()
"""
    arguments = ["run", str(place / "experiment.toml"), "-o", str(place / "out"), "--resume", "--threads", "1"]
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True).returncode


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world with the results of an experiment, and of the same after a change, which has fewer files."""
    place = make_folder(tmp_path_factory.mktemp("two"))
    tv.run(place / "experiment.toml", place / "old")
    shutil.copytree(place / "old", place / "new")
    write_experiment(place, CHANGED)
    tv.run(place / "experiment.toml", place / "new", resume=True)
    return place


def results(folder: Path) -> dict[str, bytes]:
    """All files apart from the facts and what is hidden."""
    return {name: text for name, text in contents(folder).items() if not name.startswith(("facts/", "."))}


@pytest.mark.parametrize("moves", [0, 1, 2, 5, 9, 12, 15, 1000])
def test_killed_while_results_are_replaced(two: Path, tmp_path: Path, moves: int) -> None:
    old, new = results(two / "old"), results(two / "new")
    assert old.keys() > new.keys()
    place = make_folder(tmp_path)
    write_experiment(place, CHANGED)
    shutil.copytree(two / "old", place / "out")
    assert killed_run(place, moves) == (0 if moves == 1000 else -signal.SIGKILL)
    raw = results(place / "out")
    assert raw.items() <= old.items() or raw.items() <= new.items()
    if moves > 0 and moves < 1000:  # then a reader finishes what the killed process had decided
        load_results(place / "out" / "designs" / "AR-TI-AN")
        assert results(place / "out") == new
    tv.run(place / "experiment.toml", place / "out", resume=True)
    assert contents(place / "out") == contents(two / "new")


def test_two_processes_in_one_folder(tmp_path: Path) -> None:
    place = make_folder(tmp_path)
    code = """
import sys
from pathlib import Path
from trueval.data.locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
    command = [sys.executable, "-c", code, str(place / "out")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(OutputError, match=f"process {holder.pid} on {socket.gethostname()}"):
            tv.run(place / "experiment.toml", place / "out")
        os.kill(holder.pid, signal.SIGKILL)
    assert (place / "out" / LOCK).exists()  # nobody holds it any more
    tv.run(place / "experiment.toml", place / "out")
    assert not (place / "out" / LOCK).exists()


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "log.parquet/below", "-"])
def test_names_that_no_folder_can_have(tmp_path: Path, name: str) -> None:
    place = make_folder(tmp_path)
    before = contents(place)
    with pytest.raises(TruevalError):
        tv.run(place / "experiment.toml", name if name == "-" else place / name)
    assert contents(place) == before
