"""Every number that a command takes, tried with values that no one means: a result or a refusal, never a hang."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from functools import cache

import pytest
from fuzz_inputs import SCENARIOS, Scenario

from fuzz import Worker, fill, write_file

VALUES = ["nan", "inf", "-inf", "-1", "0", "1e300", str(10**30), "9" * 5000]
# Options that belong to a certain split.
SPLITS = {"--folds": "kfold", "--windows": "rolling", "--eps": "uniform_test", "--n": "leave_one_out"}


@cache
def numeric_options(command: str) -> tuple[str, ...]:
    """The options of a command that take a number, as its help declares them."""
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    words = [sys.executable, "-m", "trueval", *command.split(), "--help"]
    text = subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout
    return tuple(dict.fromkeys(re.findall(r"(--[a-z-]+)\s+<?(?:int|float)", text, re.IGNORECASE)))


def commands() -> dict[str, Scenario]:
    """One good scenario of each command."""
    found: dict[str, Scenario] = {}
    for scenario in SCENARIOS:
        name = " ".join(scenario.words[: 2 if scenario.words[0] == "data" else 1])
        found.setdefault(name, scenario)
    return found


@pytest.fixture(scope="module")
def worker():
    made = Worker()
    yield made
    made.stop()


def ask(worker, scenario, folder, *more):
    """What a command with good files and these words more ends with; None where it hangs."""
    (folder / "out").mkdir(parents=True)
    rng = random.Random(0)
    names = [*scenario.tables, *scenario.texts, *scenario.results]
    places = {name: write_file(name, scenario, False, folder, rng, ending=".csv") for name in names}
    return worker.ask(folder, [*(fill(word, places) for word in scenario.words), *more])


def check(answer, words):
    """A result, or a refusal in one message."""
    assert answer is not None, f"hangs: {words}"
    assert answer["code"] in (0, 2), (words, answer["err"][-1500:], answer["escaped"][-1500:])
    assert answer["code"] == 0 or answer["err"].strip()


@pytest.mark.parametrize("command", commands())
def test_numbers_of_commands(command, worker, tmp_path):
    for option in numeric_options(command):
        split = ["--how", SPLITS[option]] if option in SPLITS else []
        for number, value in enumerate(VALUES):
            words = [*split, f"{option}={value}"]
            check(ask(worker, commands()[command], tmp_path / f"{option[2:]}{number}", *words), words)
