"""A fuzzer of the command line: thousands of spoiled files and options, and what became of each.

    python tests/fuzz/fuzz.py --cases 5000 --seed 1          all of them (make fuzz)
    python tests/fuzz/fuzz.py --seed 1 --only 1234 --keep X  one again, with its files kept in X

A case is made from the seed and its number alone. A good end is exit code 0 (of the gate, also
1 and 3; of the audit, also 1), or 2 with a message and nothing written.
Defects are tracebacks, hangs, other exit codes, inputs that changed, and files left over by a command that failed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import selectors
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from fuzz_inputs import SCENARIOS, TEXTS, Scenario, frames
from fuzz_mutations import ENDINGS, VALUES, encode, spoil_bytes, spoil_frame, spoil_place, spoil_toml

PATIENCE = 60.0  # seconds until a command counts as hanging: far beyond what any of these inputs takes
# Good ends besides 0: of `trueval gate` worse and cannot tell; of `trueval audit --raise-on`, that something is wrong.
VERDICTS = {"gate": (0, 1, 3), "audit": (0, 1)}
DEFECTS = ("traceback", "hang", "exit code", "no message", "input changed", "leftover")


@dataclass(frozen=True)
class Outcome:
    """What became of a case: "accepted", "refused", or a defect."""

    number: int
    kind: str
    words: list[str]
    detail: str = ""


class Worker:
    """A process that runs commands; one that hangs or dies is replaced."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def ask(self, folder: Path, words: list[str]) -> dict[str, Any] | None:
        """The answer, or None where there was none in time."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("fuzz_worker.py"))],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([str(folder), words]).encode() + b"\n")
        process.stdin.flush()
        with selectors.DefaultSelector() as wait:
            wait.register(process.stdout, selectors.EVENT_READ)
            line = process.stdout.readline() if wait.select(PATIENCE) else None
        if line is None:
            self.stop()
            return None
        return json.loads(line) if line else {"code": process.wait(), "escaped": "", "out": "", "err": "(died)"}

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def make_case(seed: int, number: int, folder: Path) -> list[str]:
    """Write the files of a case, and return the words of its command."""
    rng = random.Random(f"{seed}-{number}")
    scenario = SCENARIOS[number % len(SCENARIOS)]
    names = [*scenario.tables, *scenario.texts, *scenario.results, *scenario.databases]
    spoiled = rng.choice(names) if names and rng.random() < 0.75 else None
    places = {name: write_file(name, scenario, name == spoiled, folder, rng) for name in names}
    words = [fill(word, places) for word in scenario.words]
    if scenario.more and rng.random() < 0.4:
        option = rng.choice(list(scenario.more))
        words += [option, fill(scenario.more[option], places)]
    if spoiled is None or rng.random() < 0.15:
        for _ in range(rng.choice([1, 1, 2, 3])):
            words = _spoil_words(words, scenario, places, rng)
    return [word.replace("\0", "\\0") for word in words]


def write_file(
    name: str, scenario: Scenario, spoil: bool, folder: Path, rng: random.Random, *, ending: str | None = None
) -> Path:
    """Write one file, good or spoiled; returns the path by which the command names it."""
    if name in scenario.texts:
        path = folder / f"{name}.toml"
        text = spoil_toml(TEXTS[name], rng) if spoil else TEXTS[name]
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    elif name in scenario.results:
        path = folder / f"{name}.parquet"
        content = _result(name)
        path.write_bytes(spoil_bytes(content, rng) if spoil and rng.random() < 0.9 else content)
    elif name in scenario.databases:
        path = folder / f"{name}.sqlite"
        content = _database()
        path.write_bytes(spoil_bytes(content, rng) if spoil else content)
    else:
        ending = ".csv" if scenario.texts else ending or rng.choice([".csv", ".csv", *ENDINGS])
        path, frame, how = folder / f"{name}{ending}", frames()[name], rng.random()
        try:
            content = encode(spoil_frame(frame, rng) if spoil and how < 0.5 else frame, ending)
        except (Exception, pl.exceptions.PanicException):  # nested types have no CSV, some dates no text
            content = encode(frame, ending)
        path.write_bytes(spoil_bytes(content, rng) if spoil and how >= 0.4 else content)
    place = spoil_place(path, rng) if spoil and rng.random() < 0.08 else path
    return place.relative_to(folder) if place.is_relative_to(folder) else place


def fill(word: str, places: dict[str, Path]) -> str:
    """A word of a scenario with the names of its files."""
    if word.startswith("{out:"):
        return "out/" + word[5:-1]
    return str(places[word[1:-1]]) if word.startswith("{") else word


def _spoil_words(words: list[str], scenario: Scenario, places: dict[str, Path], rng: random.Random) -> list[str]:
    """Another value of an option, one more option, or one word less."""
    words, kind = list(words), rng.random()
    values = [*VALUES, *(path.name for path in places.values())]
    if kind < 0.7:
        option, flag = rng.choice(_options(scenario.words))
        words += [option] if flag else [option, rng.choice(values)]
    elif kind < 0.9 and len(words) > 1:
        words[rng.randrange(1, len(words))] = rng.choice(values)
    elif words:
        del words[rng.randrange(len(words))]
    return words


@cache
def all_options() -> dict[str, list[tuple[str, bool]]]:
    """Options of every command, as the application declares them, and whether they take no value."""
    import typer

    from trueval.cli.app import make_app

    found, commands = {}, dict(typer.main.get_command(make_app()).commands)  # type: ignore[attr-defined]
    while commands:
        name, command = commands.popitem()
        commands |= {f"{name} {inner}": one for inner, one in getattr(command, "commands", {}).items()}
        if not hasattr(command, "commands"):
            found[name] = [
                (option, bool(one.is_flag)) for one in command.params
                for option in (*one.opts, *one.secondary_opts) if option.startswith("-")
            ]  # fmt: skip
    return found


def command_of(words: list[str]) -> str:
    """The command that some words begin with, of the commands that the application has."""
    return next((name for name in (" ".join(words[:2]), *words[:1]) if name in all_options()), "")


def _options(words: list[str]) -> list[tuple[str, bool]]:
    return all_options().get(command_of(words)) or [("--help", True)]


@cache
def _result(name: str) -> bytes:
    """Values by user of a good evaluation, of three systems where the name says so, as `trueval compare` reads it."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        frames()["test"].write_csv(folder / "test.csv")
        runs = [f"{name}.csv", *(["second.csv", "third.csv"] if name == "three" else [])]
        for shift, run in enumerate(runs):
            recs = frames()["recs"]
            recs.with_columns(pl.col("score").shift(shift, fill_value=0.5)).write_csv(folder / run)
        options = ["--test", "test.csv", "--metrics", "ndcg@3,recall@2,coverage@3", "--resamples", "50"]
        command = [sys.executable, "-m", "trueval", "evaluate", *runs, *options, "--per-user", "made.parquet"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return (folder / "made.parquet").read_bytes()


@cache
def _database() -> bytes:
    """The answers of some simulated people to the study of the scenarios."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "study.toml").write_text(TEXTS["study"])
        for name in ("log", "items"):
            frames()[name].write_csv(folder / f"{name}.csv")
        words = ["study", "simulate", "study.toml", "--participants", "6", "--database", "sqlite:///answers.sqlite"]
        subprocess.run([sys.executable, "-m", "trueval", *words], cwd=folder, check=True, capture_output=True)
        return (folder / "answers.sqlite").read_bytes()


def _contents(folder: Path) -> dict[str, str]:
    """Everything below a folder, with digests of the files."""
    found = {}
    for path in sorted(folder.rglob("*")):
        regular = path.is_file() and not path.is_symlink()
        found[str(path.relative_to(folder))] = hashlib.md5(path.read_bytes()).hexdigest() if regular else "other"
    return found


def run_case(seed: int, number: int, worker: Worker, folder: Path) -> Outcome:
    """Make a case in an empty folder, run it, and judge how it ended."""
    return run_words(number, make_case(seed, number, folder), worker, folder)


def run_words(number: int, words: list[str], worker: Worker, folder: Path) -> Outcome:
    """Run a command in a folder whose files are there, and judge how it ended."""
    (folder / "out").mkdir(exist_ok=True)
    before = _contents(folder)
    answer = worker.ask(folder, words)
    if answer is None:
        return Outcome(number, "hang", words)
    kind, detail = _judge(answer, VERDICTS.get("".join(words[:1]), (0,)))
    after = _contents(folder)
    changed = [name for name, content in before.items() if after.get(name) != content]
    extra = [name for name in after if name not in before and not name.startswith("__pycache__")]
    if kind != "accepted" and kind != "refused":
        return Outcome(number, kind, words, detail)
    if changed:
        return Outcome(number, "input changed", words, ", ".join(changed))
    if kind == "refused" and extra:
        return Outcome(number, "leftover", words, ", ".join(extra) + "\n" + detail)
    return Outcome(number, kind, words, detail)


def _judge(answer: dict[str, Any], good: tuple[int, ...]) -> tuple[str, str]:
    code, err = answer["code"], answer["err"]
    if answer["escaped"]:
        return "traceback", answer["escaped"]
    if code == 70 or "Traceback (most recent" in err or "panicked" in err:
        return "traceback", err
    if code not in (*good, 2):
        return "exit code", f"{code}: {err[-2000:]}"
    if code == 2 and not err.strip():
        return "no message", ""
    if any(ord(letter) < 32 and letter not in "\n\r\t" for letter in err):
        return "no message", "control characters: " + ascii(err[-500:])
    return ("refused" if code == 2 else "accepted"), err[-2000:]


def run_cases(seed: int, numbers: range, *, workers: int, keep: Path | None = None) -> Iterator[Outcome]:
    """Run cases side by side, each in a folder of its own."""
    home = Path(tempfile.mkdtemp(prefix="trueval-fuzz-")) if keep is None else keep
    idle = [Worker() for _ in range(workers)]

    def one(number: int) -> Outcome:
        folder = home / str(number)
        folder.mkdir(parents=True)
        worker = idle.pop()
        try:
            return run_case(seed, number, worker, folder)
        finally:
            idle.append(worker)
            if keep is None:
                shutil.rmtree(folder, ignore_errors=True)

    try:
        with ThreadPoolExecutor(workers) as pool:
            yield from pool.map(one, numbers)
    finally:
        for worker in idle:
            worker.stop()
        if keep is None:
            shutil.rmtree(home, ignore_errors=True)


def main() -> None:
    """Run, print every defect, and count how cases ended."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cases", type=int, default=5000)
    options.add_argument("--first", type=int, default=0, help="number of the first case")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options.add_argument("--only", type=int, default=None)
    options.add_argument("--keep", type=Path, default=None)
    options.add_argument("--json", type=Path, default=None, help="write all outcomes here")
    given = options.parse_args()
    numbers = range(given.first, given.first + given.cases) if given.only is None else range(given.only, given.only + 1)
    counts: Counter[str] = Counter()
    everything = []
    for outcome in run_cases(given.seed, numbers, workers=given.workers, keep=given.keep):
        counts[outcome.kind] += 1
        everything.append(vars(outcome))
        if outcome.kind in DEFECTS or given.only is not None:
            words = " ".join(word if len(word) < 80 else word[:80] + "…" for word in outcome.words)
            print(f"--- case {outcome.number}: {outcome.kind}\n{words!a}\n{outcome.detail[-1500:]}", flush=True)
    if given.json is not None:
        given.json.write_text(json.dumps(everything))
    print(f"seed {given.seed}, {len(numbers)} cases: " + ", ".join(f"{kind} {n}" for kind, n in sorted(counts.items())))
    sys.exit(1 if any(counts[kind] for kind in DEFECTS) else 0)


if __name__ == "__main__":
    main()
