"""Small wrong changes of the source, one at a time: which of them do the tests notice?

    python tests/mutants/mutants.py --mutants 300 --seed 1      a sample of the whole package (make mutants)
    python tests/mutants/mutants.py --seed 1 --only 12,40       some of the sample again
    python tests/mutants/mutants.py --under statistics          one folder or file

Changes are drawn from the seed (`small_changes.py` says where). Each is made in a copy of the tree, in a temporary
folder, and tests are run there until one fails that passes on the right code: those that name something of the changed
file (`touching_tests.py`), the likeliest first, for a minute of the processor. A process forked for each change has the
libraries in memory. A change is noticed where a test fails, where modules cannot be imported or the process dies, and
where tests hang. Compiled kernels have a folder in the copy; a change in `kernels` compiles them anew.
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

from small_changes import Change, all_changes, not_counted, sample
from touching_tests import OPTIONS, Session, names_around, processor_time, public_names, rounds

ROOT = Path(__file__).parents[2]
NOTICED = ("noticed", "stopped", "hung")
_TOGETHER = 3  # test files of one session
_INTERRUPTED, _NO_TESTS = 2, 5  # exit codes of pytest
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


@dataclass
class Trial:
    """One change, and the tests that were tried on it."""

    copy: Copy
    number: int
    change: Change
    scratch: Path
    budget: float
    most_rounds: int | None = None
    tests: int = 0

    def outcome(self) -> Outcome:
        """Run tests, the likeliest first, until one notices the change."""
        begun = time.monotonic()
        kind, by = "", ""
        for step, files in enumerate(rounds(self.copy.root, self.change.path)[: self.most_rounds]):
            left = self.budget if step < 1 else self.budget / 2
            for first in range(0, len(files), _TOGETHER):
                before = processor_time()
                kind, by = self._notice(files[first : first + _TOGETHER], left)
                left -= processor_time() - before
                if kind or left <= 0:
                    break
            if kind:
                break
        kind = kind or ("survived" if self.tests else "untouched")
        return Outcome(self.number, self.change, kind, by, self.tests, time.monotonic() - begun)

    def _notice(self, files: list[str], seconds: float) -> tuple[str, str]:
        """How some tests notice the change, and which; empty where none does. All of them pass on the right code."""
        leave: set[str] = set()
        while files:
            self.copy.change(self.change)
            try:
                code, failed, tests = self._run(files, seconds, leave)
            finally:
                self.copy.restore(self.change)
            self.tests += tests
            if code in (0, _NO_TESTS):
                return "", ""
            on_right = self._run(failed or ["--collect-only", *files], 600, set())[0]
            if on_right == 0:
                return ("hung" if code is None else "noticed" if failed else "stopped"), (failed or [""])[0]
            if not failed:
                return "", ""  # these cannot even be collected here
            leave |= set(failed)
        return "", ""

    def _run(self, tests: list[str], seconds: float, leave: set[str]) -> tuple[int | None, list[str], int]:
        """Exit code of pytest (None where it hangs), what failed, and how many tests ran."""
        said = self.scratch / "said.json"
        said.unlink(missing_ok=True)
        source = (ROOT / "src" / "trueval" / self.change.path).read_text()
        names = [names_around(source, self.change.line), public_names(source)]
        enough = seconds + (400 if self.change.path.startswith("kernels/") else 100)

        def work() -> int:
            import pytest

            resource.setrlimit(resource.RLIMIT_CPU, (int(enough), int(enough) + 5))
            session = Session(names, seconds, leave=leave)
            code = int(pytest.main([*OPTIONS, *tests], plugins=[session]))
            said.write_text(json.dumps([session.failed, session.tests]))
            return code if session.failed or code != _INTERRUPTED or not session.tests else 0

        code = self.copy.run(work, 20 * enough, self.scratch / "output.txt")
        failed, number = json.loads(said.read_text()) if said.exists() else ([], 0)
        hangs = code is None or code in (-signal.SIGXCPU, -signal.SIGKILL)
        return None if hangs else code, failed, number


def _work(chosen: list[tuple[int, Change]], results: Path, folder: Path, options: argparse.Namespace) -> None:
    """Try some changes, one after the other, in a copy of the tree."""
    copy = Copy(folder)
    for library in _LIBRARIES:
        importlib.import_module(library)
    for number, change in chosen:
        outcome = Trial(copy, number, change, folder, options.budget, 1 if options.quick else None).outcome()
        with open(results, "a") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")
        mark = "" if outcome.kind in NOTICED else f"  {change.old!r} -> {change.new!r}"
        what = f"{outcome.kind:9} src/trueval/{change.path}:{change.line}{mark}"
        print(f"{number:4} {outcome.seconds:5.0f} s {what}", flush=True)


def aside(*, kernels: bool = False) -> str:
    """What is left out, in numbers."""
    reasons = not_counted(ROOT / "src" / "trueval")
    if kernels:
        del reasons["compiled kernels"]
    return ", ".join(f"{why} {changes:,} in {files:,} files" for why, (files, changes) in reasons.items())


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
    parser.add_argument(
        "--budget", type=float, default=60, help="seconds of tests for the likeliest files; half for others"
    )
    parser.add_argument("--quick", action="store_true", help="only tests that name something of the changed file")
    parser.add_argument("--only", default="", help="numbers of the sample, such as 12,40")
    parser.add_argument("--kernels", action="store_true", help="compiled kernels too, minutes for each change")
    parser.add_argument("--under", default="", help="changes of this folder or file of the package alone")
    parser.add_argument("--results", type=Path, help="a file to which each outcome is added, one JSON record a line")
    options = parser.parse_args()
    changes = [
        one
        for one in all_changes(ROOT / "src" / "trueval", kernels=options.kernels)
        if one.path.startswith(options.under)
    ]
    chosen = list(enumerate(sample(changes, options.mutants, options.seed)))
    if options.only:
        chosen = [chosen[int(number)] for number in options.only.split(",")]
    print(f"{len(chosen)} of {len(changes):,} small changes, seed {options.seed}", flush=True)
    print(f"not counted (tests/mutants/small_changes.py has the rule): {aside(kernels=options.kernels)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        results = options.results or Path(folder) / "results.jsonl"
        own: list[int] = []
        for worker in range(options.workers):
            child = os.fork()
            if not child:
                place = Path(folder) / str(worker)
                place.mkdir()
                try:
                    _work(chosen[worker :: options.workers], results, place, options)
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
