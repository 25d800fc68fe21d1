"""Every number that a command takes, tried with values that no one means: a result or a refusal, never a hang."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from functools import cache

import pytest
from fuzz_inputs import EXPERIMENT, SCENARIOS, Scenario

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


# ---- other words with numbers ------------------------------------------------------------------------------------

DEEP = "(" * 20_000
WORDS = {
    "evaluate": [
        ["--metrics", "," * 100_000], ["--metrics", "ndcg@" + "9" * 5000], ["--metrics", "ndcg@99999999999"],
        ["--metrics", "rbp[p=0.9999999]"], ["--metrics", "rbp[p=" + "9" * 5000 + "]"], ["--metrics", DEEP],
        ["--metrics", "recall@5[beta=inf]"], ["--metrics", "fbeta@5[beta=1e300]"], ["--metrics", "anti(" * 20_000],
        ["--metrics", "ndcg@3" + "[" * 100_000], ["--metrics", "ndcg@100000000"],
        ["--design", "given-head" + "9" * 5000],
        ["--metrics", "ndcg@3[gain=exp," * 20_000], ["--level", "0.9999999999"], ["--level", "0.99999"],
    ],
    "calibrate": [["--metrics", "ece[bins=100000000]"], ["--metrics", "ece[bins=" + "9" * 5000 + "]"]],
    "ab": [
        ["--metrics", "ctr=clicks/" + DEEP], ["--metrics", "ctr=clicks/" + DEEP + "shows" + ")" * 20_000],
        ["--metrics", "," * 100_000], ["--where", DEEP + "clicks" + ")" * 20_000],
        ["--metrics", "x:quantile(nan)=clicks"],
        ["--shares", "control=nan,new=1"], ["--shares", "control=1e300,new=1e-300"],
    ],
    "ab-plan": [
        ["--baseline", "1e-300"], ["--effect", "nan"], ["--effect", "1e-300"], ["--power", "0.9999999999999999"],
        ["--arms", "1000000000", "--metrics", "1000000000"], ["--sd", "1e300", "--effect", "1e-300"],
        ["--level", "0.9999999999999999"],
    ],
    "ope": [["--clip", "nan"], ["--clip", "inf"], ["--clip", "1e300"], ["--propensity", "popularity:inf"]],
}  # fmt: skip


@pytest.mark.parametrize("command", WORDS)
def test_numbers_inside_words(command, worker, tmp_path):
    for number, words in enumerate(WORDS[command]):
        check(ask(worker, commands()[command], tmp_path / str(number), *words), [word[:60] for word in words])


FILES = {
    "seeds": ("seeds = [1]", "seeds = [" + ", ".join(map(str, range(5000))) + "]"),
    "seed": ("seeds = [1]", f"seed = {10**30}"),
    "digits": ("ratio = 0.3", "ratio = " + "9" * 5000),
    "nested": ("ratio = 0.3", "ratio = " + "[" * 20_000),
    "resamples": ("resamples = 50", "resamples = 1000000000"),
    "folds": ('how = "holdout"\nratio = 0.3', 'how = "kfold"\nn = 1000000000'),
    "sample": ("1R-TI-NN3", "1R-TI-NN99999999999"),
    "percentiles": ("1R-TI-NN3", "P1R99999999999-TI-AN"),
    "factors": ("average = {}", "plsa = { factors = 1000000 }"),
    "steps": ("average = {}", "svdpp = { epochs = 1000000000 }"),
    "neighbours": ("average = {}", "itemknn = { k = 1000000000000 }"),
}


@pytest.mark.parametrize("case", FILES)
def test_numbers_of_experiments(case, worker, tmp_path):
    (tmp_path / "out").mkdir()
    write_file("log", commands()["run"], False, tmp_path, random.Random(0), ending=".csv")
    text = EXPERIMENT.replace(*FILES[case])
    assert text != EXPERIMENT
    (tmp_path / "experiment.toml").write_text(text)
    answer = worker.ask(tmp_path, ["run", "experiment.toml", "-o", "out/experiment"])
    check(answer, case)
    assert answer["code"] == (0 if case == "neighbours" else 2)
