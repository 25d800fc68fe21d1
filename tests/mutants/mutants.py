"""Small wrong changes of the source, one at a time: which of them do the tests notice?

    python tests/mutants/mutants.py --mutants 300 --seed 1      a sample of the whole package (make mutants)
    python tests/mutants/mutants.py --seed 1 --only 12,40       some of the sample again
    python tests/mutants/mutants.py --under statistics          one folder or file

Changes are drawn from the seed (`small_changes.py` says where). Each is made in a copy of the tree, in a temporary
folder, and the tests that touch the line are run there, the quickest first, until one fails; then others that touch the
file. A process forked for each change has the libraries in memory. A change is noticed where a test fails, where
modules cannot be imported or the process dies, and where tests that pass in seconds otherwise hang.

Compiled kernels keep a folder of compiled code in the copy, which a change in `kernels` makes invalid.
Which tests touch what is measured when it is first asked for and kept in `.mutants` (`touching_tests.py`): the
first run takes hours, later ones some seconds for each change.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from small_changes import Change, all_changes, sample
from touching_tests import COMPILED, OPTIONS, Recorder, Touched, kept_place, measure, read, rounds

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".mutants"
NOTICED = ("noticed", "stopped", "hung")
_LINE_BUDGET, _FILE_BUDGET = 60.0, 20.0  # seconds of tests that touch the line, and of those that touch the file
_MORE_FILES = 6  # test files that are measured for a change which those that name its module did not notice
_LIBRARIES = ("numpy", "polars", "scipy.stats", "scipy.sparse", "scipy.optimize", "hypothesis", "_pytest.doctest",
              "typer.testing", "rich.console", "numba", "coverage")  # fmt: skip


@dataclass
class Outcome:
    """What became of a change."""

    number: int
    change: Change
    kind: str  # noticed, stopped (no test ran to its end), hung, survived, untouched
    by: str
    tests: int
    seconds: float


def _kernel_folder(root: Path) -> str:
    """The name under which an installation keeps its compiled kernels (`kernels.cache_folder`)."""
    return "kernels_" + hashlib.sha256(str(root / "src" / "trueval" / "kernels").encode()).hexdigest()[:20]


class Copy:
    """A copy of the tree, in which one file at a time is changed."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        listed = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        for name in subprocess.check_output(listed, text=True).split("\0"):
            if name and (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)
        if (shared := ROOT.parent / "shared").exists():
            (folder / "shared").symlink_to(shared.resolve())
        if compiled := os.environ.get("NUMBA_CACHE_DIR"):  # what is compiled already serves the copy as well
            shutil.copytree(compiled, folder / "kernels")
            if (own := folder / "kernels" / _kernel_folder(ROOT)).exists():
                own.rename(folder / "kernels" / _kernel_folder(self.root))
        os.environ["NUMBA_CACHE_DIR"] = str(folder / "kernels")
        os.environ["PYTHONPATH"] = str(self.root / "src")
        sys.path.insert(0, str(self.root / "src"))
        self._changes = 0

    def source(self, path: str) -> Path:
        """A file of the package."""
        return self.root / "src" / "trueval" / path

    def run(self, work: Callable[[], int | None], seconds: float, output: Path) -> int | None:
        """The answer of work in a process of its own; None where it hangs."""
        child = os.fork()
        if not child:
            os.setsid()
            os.chdir(self.root)
            with open(output, "wb") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            code = 99
            try:
                code = work() or 0
            finally:
                os._exit(code)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return None

    def change(self, change: Change) -> None:
        """Make a change; the time of the file is one that it never had, so that no compiled form is taken for it."""
        place = self.source(change.path)
        before = place.stat().st_mtime
        place.write_bytes(change.made(place.read_bytes()))
        self._changes += 1
        os.utime(place, (before, before + 10 * self._changes))

    def restore(self, change: Change) -> None:
        """As it was."""
        shutil.copy2(ROOT / "src" / "trueval" / change.path, self.source(change.path))


def try_change(copy: Copy, number: int, change: Change, scratch: Path) -> Outcome:
    """Make a change and run tests, those that touch its line first, until one notices it."""
    begun, asked, path = time.monotonic(), set[str](), change.path
    line = change.line if change.body else None

    def run(candidates: list[tuple[float, str]], budget: float) -> Outcome | None:
        chosen, expected = [], 0.0
        for seconds, name in sorted(candidates):
            if name not in asked and (not chosen or expected + seconds <= budget):
                chosen.append(name)
                expected += seconds
        asked.update(chosen)
        kind, by = _run_tests(copy, change, chosen, expected, scratch) if chosen else ("", "")
        return Outcome(number, change, kind, by, len(asked), time.monotonic() - begun) if kind else None

    def tests_of(touched: Touched, line: int | None) -> list[str]:
        return list(touched.seconds) if COMPILED.search(path) else touched.of(path, line)

    more = _MORE_FILES
    for step, files in enumerate(rounds(copy.root, path)):
        known = {file: found for file in files if (found := read(KEPT, copy.root, file, path)) is not None}
        batches = [list(known.values())]
        for file in files:  # what must be measured first comes one by one: each may be the last
            if file not in known and (step < 2 or more > 0):
                more -= step >= 2
                batches.append([file])
        found = []
        for batch in batches:
            touched = [_measured(copy, one, path, scratch) if isinstance(one, str) else one for one in batch]
            found += [one for one in touched if one is not None]
            touching = [(one.seconds[name], name) for one in touched if one for name in tests_of(one, line)]
            if outcome := run(touching, _LINE_BUDGET):
                return outcome
        if outcome := run([(one.seconds[name], name) for one in found for name in tests_of(one, None)], _FILE_BUDGET):
            return outcome
    return Outcome(number, change, "survived" if asked else "untouched", "", len(asked), time.monotonic() - begun)


def _measured(copy: Copy, file: str, path: str, scratch: Path) -> Touched | None:
    """What a test file touches; None where it cannot be run here."""
    copy.run(lambda: measure(file, copy.root, kept_place(KEPT, file)), 3600, scratch / "measured.txt")
    return read(KEPT, copy.root, file, path)


def _run_tests(copy: Copy, change: Change, tests: list[str], expected: float, scratch: Path) -> tuple[str, str]:
    """How the tests notice a change, and which of them does; empty where none does."""
    failed = scratch / "failed.txt"
    failed.unlink(missing_ok=True)

    def work() -> int:
        import pytest

        resource.setrlimit(resource.RLIMIT_CPU, (int(enough), int(enough) + 5))
        recorder = Recorder()
        code = int(pytest.main([*OPTIONS, "-x", *tests], plugins=[recorder]))
        failed.write_text("\n".join(recorder.failed))
        return code

    enough = 60 + 5 * expected + (300 if change.path.startswith("kernels/") else 0)
    copy.change(change)
    try:
        code = copy.run(work, 10 * enough, scratch / "tests.txt")
    finally:
        copy.restore(change)
    if code is None or code in (-signal.SIGXCPU, -signal.SIGKILL):
        return "hung", ""
    if code == 0:
        return "", ""
    by = failed.read_text().strip().splitlines()[-1:] if failed.exists() else []
    return ("noticed", by[0]) if by and code == 1 else ("stopped", by[0] if by else f"exit code {code}")


def _work(chosen: list[tuple[int, Change]], results: Path, folder: Path) -> None:
    """Try some changes, one after the other, in a copy of the tree."""
    copy = Copy(folder)
    for library in _LIBRARIES:
        importlib.import_module(library)
    for number, change in chosen:
        outcome = try_change(copy, number, change, folder)
        with open(results, "a") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")
        mark = "" if outcome.kind in NOTICED else f"  {change.old!r} -> {change.new!r}"
        what = f"{outcome.kind:9} src/trueval/{change.path}:{change.line}{mark}"
        print(f"{number:4} {outcome.seconds:5.0f} s {what}", flush=True)


def report(outcomes: list[Outcome]) -> str:
    """How many were noticed, by folder, and those that were not."""
    tally: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for one in outcomes:
        folder = one.change.path.split("/")[0] if "/" in one.change.path else "(top)"
        for name in (folder, "all"):
            tally[name][0] += one.kind in NOTICED
            tally[name][1] += 1
    lines = ["", "| folder | noticed | of | share |", "|---|---:|---:|---:|"]
    for name in sorted(tally, key=lambda name: (name == "all", name)):
        noticed, number = tally[name]
        lines.append(f"| {name} | {noticed} | {number} | {100 * noticed / number:.1f} % |")
    missed = [one for one in outcomes if one.kind not in NOTICED]
    if missed:
        lines += ["", "| number | place | what was there | the change | tests run |", "|---:|---|---|---|---:|"]
    for one in sorted(missed, key=lambda one: (one.change.path, one.change.line)):
        old, new = (" ".join(text.split()).replace("|", "\\|") for text in (one.change.old, one.change.new))
        lines.append(
            f"| {one.number} | src/trueval/{one.change.path}:{one.change.line} | `{old}` | `{new}` | {one.tests} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Which small wrong changes of the source do the tests notice?")
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="each tries one change at a time, in a copy of the tree")
    parser.add_argument("--only", default="", help="numbers of the sample, such as 12,40")
    parser.add_argument("--under", default="", help="changes of this folder or file of the package alone")
    parser.add_argument("--results", type=Path, help="a file to which each outcome is added, one JSON record a line")
    options = parser.parse_args()
    changes = [one for one in all_changes(ROOT / "src" / "trueval") if one.path.startswith(options.under)]
    chosen = list(enumerate(sample(changes, options.mutants, options.seed)))
    if options.only:
        chosen = [chosen[int(number)] for number in options.only.split(",")]
    print(f"{len(chosen)} of {len(changes):,} small changes, seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        results = options.results or Path(folder) / "results.jsonl"
        own: list[int] = []
        for worker in range(options.workers):
            child = os.fork()
            if not child:
                place = Path(folder) / str(worker)
                place.mkdir()
                try:
                    _work(chosen[worker :: options.workers], results, place)
                except BaseException:
                    import traceback

                    traceback.print_exc()
                    os._exit(1)
                os._exit(0)
            own.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in own]
        records = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    numbers = {number for number, _ in chosen}
    latest = {one["number"]: Outcome(**{**one, "change": Change(**one["change"])}) for one in records}
    print(report([one for number, one in latest.items() if number in numbers]))
    sys.exit(any(codes))


if __name__ == "__main__":
    main()
