"""The last handlers of the command line: every end is one message and a code that scripts can rely on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from trueval.cli import app

ENDS = {
    "a defect": (ZeroDivisionError("division by zero"), 70, "unexpected ZeroDivisionError: division by zero"),
    "a full disk": (OSError(28, "No space left on device", "out.csv"), 2, "where: out.csv"),
    "no memory": (MemoryError("Unable to allocate 7 GiB"), 2, "not enough memory"),
    "an interruption": (KeyboardInterrupt(), 130, "stopped"),
    "a panic": (type("PanicException", (BaseException,), {})("index out of bounds"), 70, "unexpected PanicException"),
}


def _fails(monkeypatch, error):
    def make_app(words):
        def run(**_: object) -> None:
            raise error

        return run

    monkeypatch.setattr(app, "make_app", make_app)


@pytest.mark.parametrize(("error", "code", "text"), ENDS.values(), ids=ENDS)
def test_every_end_is_one_message_and_a_code(monkeypatch, trueval, error, code, text):
    _fails(monkeypatch, error)
    ran = trueval("evaluate")
    assert ran.code == code
    assert text in ran.err
    assert ran.out == ""


def test_a_defect_names_the_place_and_the_way_to_report_it(trueval, monkeypatch):
    monkeypatch.setattr("trueval.metrics.registry.all_metrics", lambda: 1 / 0)
    monkeypatch.setattr("trueval.cli.metrics.all_metrics", lambda: 1 / 0, raising=False)
    ran = trueval("metrics")
    assert ran.code == 70
    assert "where: trueval/" in ran.err
    assert "--debug" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("words", [["--debug", "metrics", "ndgc"], ["metrics", "ndgc", "--debug"]])
def test_debug_shows_the_traceback_wherever_it_stands(words):
    ran = _command(words)
    assert ran.returncode == 2
    assert "Traceback (most recent call last)" in ran.stderr
    assert "did you mean ndcg" in ran.stderr


def test_debug_in_the_environment():
    ran = _command(["metrics", "ndgc"], TRUEVAL_DEBUG="1")
    assert ran.returncode == 2
    assert "Traceback" in ran.stderr


def test_characters_that_an_encoding_lacks_are_escaped():
    ran = _command(["metrics", "ndcg"], PYTHONIOENCODING="ascii")
    assert ran.returncode == 0, ran.stderr
    assert "ndcg" in ran.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here: it is a device of Linux")
def test_a_full_disk_behind_standard_output():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "trueval", "metrics"]
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ran.returncode == 2
    assert "No space left" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr


@pytest.mark.parametrize("words", [["metrics"], ["--help"], ["audit", "-h"], ["--version"], ["data", "list"],
                                   ["metrics", "ndcg"], ["study", "plan", "--share", "0.6"]])  # fmt: skip
def test_a_closed_pipe_is_no_error(words):
    """As with `| head`, whichever part of the program finds out."""
    read, write = os.pipe()
    os.close(read)
    ran = subprocess.run([sys.executable, "-m", "trueval", *words], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert ran.stderr == ""
    assert ran.returncode == 0


def test_a_closed_pipe_hides_no_error():
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "trueval", "metrics", "ndgc"]
    ran = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert ran.returncode == 2
    assert "ndgc" in ran.stderr


@pytest.mark.parametrize(
    ("words", "code"), [("metrics ndgc 2>&-", 2), ("metrics >&-", 0), ("metrics ndgc >&- 2>&-", 2)]
)
def test_closed_streams_change_no_code(words, code):
    ran = subprocess.run(f"{sys.executable} -m trueval {words}", shell=True, capture_output=True, text=True)
    assert ran.returncode == code, ran.stderr


def _command(words: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trueval", *words]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


@pytest.mark.parametrize(
    ("body", "code", "err"),
    [
        ("pass", 0, ""),
        ("raise SystemExit", 0, ""),
        ("raise SystemExit(3)", 3, ""),
        ("raise SystemExit('why')", 1, "why\n"),
        ("import trueval.errors; raise trueval.errors.DataError('bad')", 2, "error: bad\n"),
    ],
)
def test_the_process_ends_at_once_with_its_code_and_all_it_owes(body, code, err):
    """Output is flushed, and what was registered for the end is done; threads that still read are not waited for."""
    source = f"""
import atexit, threading
import trueval.cli, trueval.cli.app
def make_app(words):
    def run(**_):
        print("printed", end="")
        atexit.register(print, " and done", end="")
        threading.Thread(target=threading.Event().wait).start()
        {body}
    return run
trueval.cli.app.make_app = make_app
trueval.cli.run()
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (code, "printed and done", err)


def commands(command: Any, name: str = "trueval") -> Iterator[tuple[str, Any]]:
    """All commands, with those inside others."""
    yield name, command
    for word, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {word}")


def test_a_flag_that_is_not_given_is_off() -> None:
    """Nothing is quiet, overwritten or ignored that nobody asked for."""
    flags = {
        f"{name} {option.opts[0]}": option.default
        for name, command in commands(typer.main.get_command(app.make_app()))
        for option in command.params
        if getattr(option, "is_flag", False)
    }
    assert len(flags) > 50
    assert {name for name in flags if name.endswith("--quiet")} >= {
        "trueval study export --quiet",
        "trueval run --quiet",
    }
    assert [name for name, default in flags.items() if default not in (False, None)] == []
