"""Which tests touch a line of the source: measured once for each test file, and kept.

A test file is run once under coverage, each test by its own name. Lines that run while modules are imported or fixtures
are made belong to all tests of the file. What was measured holds as long as the test file and the source file
in question are as they were.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

LONGEST = 120.0  # seconds of the processor for one test file; tests that did not have their turn by then are not used
OPTIONS = (
    "-q", "-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:xdist", "-m", "not slow", "--no-header", "--tb=line",
)  # fmt: skip
# They start browsers, servers, Spark or notebooks for what the other tests of their folders try as well.
_NOT_USED = re.compile(r"in_browser|browser_pages|notebooks|test_site|test_readme|killed|many_processes|hostile|fuzz")
# Compiled code does not run as Python: no line of it is seen.
COMPILED = re.compile(
    r"kernels/(als|aspects|buckets|draws|greedy|interest|item_pairs|neighbours|ordering|ranking|sampling|svdpp|topics"
    r"|loops/\w+)\.py$"
)


@dataclass
class Touched:
    """What one test file touches."""

    seconds: dict[str, float]  # of each test that passed
    lines: dict[str, dict[int, list[str]]] = field(default_factory=dict)  # by source file; "" for all tests

    def of(self, path: str, line: int | None) -> list[str]:
        """Tests that touch a line, or any line in the body of a function of the file."""
        lines = self.lines.get(path, {})
        names = {name for at, names in lines.items() if line is None or at == line for name in names}
        found = set(self.seconds) if "" in names else names & set(self.seconds)
        return sorted(found, key=lambda name: (self.seconds[name], name))


class Recorder:
    """A plugin of pytest: how long each test takes, whether it passes, and which lines are its own."""

    def __init__(self, coverage: Any = None, longest: float = float("inf")) -> None:
        self.coverage, self.longest = coverage, longest
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self.begun = self.last = _processor_time()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Lines of the test itself."""
        if self.coverage:
            self.coverage.switch_context(item.nodeid)
        yield
        if self.coverage:
            self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Sum up set-up, test and clean-up."""
        if report.skipped or report.failed:
            self.failed.append(report.nodeid)
        now = _processor_time()
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + now - self.last
        self.last = now

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """Stop where the file takes too long."""
        self.last = _processor_time()
        if self.last - self.begun > self.longest:
            item.session.shouldstop = "long enough"

    @property
    def passed(self) -> dict[str, float]:
        """Seconds of the tests that passed."""
        return {name: taken for name, taken in self.seconds.items() if name not in set(self.failed)}


def _processor_time() -> float:
    """Seconds of the processor, with those of finished children: on a busy machine, others say little."""
    return sum(os.times()[:4])


def measure(file: str, root: Path, kept: Path) -> None:
    """Run a test file of the tree at `root` under coverage and keep what it touches; for a process of its own."""
    import coverage

    measured = coverage.Coverage(data_file=None, config_file=False, include=[f"{root}/src/trueval/*"])
    recorder = Recorder(measured, LONGEST)
    measured.start()
    pytest.main([*OPTIONS, file], plugins=[recorder])
    measured.stop()
    data = measured.get_data()
    lines: dict[str, dict[str, list[str]]] = {}
    for name in data.measured_files():
        path = Path(name).relative_to(root / "src" / "trueval").as_posix()
        bodies = _bodies(Path(name).read_text())
        for at, names in data.contexts_by_lineno(name).items():
            # a body that ran without a test, at import or in a fixture, is touched by all tests of the file
            if touching := sorted(one for one in set(names) if one or at in bodies):
                lines.setdefault(path, {})[str(at)] = touching
    record = {"key": _key(root, file), "seconds": recorder.passed, "lines": lines}
    record["sources"] = {path: _digest((root / "src" / "trueval" / path).read_bytes()) for path in lines}
    kept.parent.mkdir(parents=True, exist_ok=True)
    draft = kept.with_suffix(f".{time.monotonic_ns()}")
    draft.write_text(json.dumps(record))
    draft.replace(kept)


def kept_place(folder: Path, file: str) -> Path:
    """Where is kept what a test file touches."""
    return folder / (re.sub(r"\W+", "-", file) + ".json")


@cache
def _load(place: Path, changed: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(place.read_text())
    return found


def read(folder: Path, root: Path, file: str, path: str) -> Touched | None:
    """What a test file touches in a source file, as it was measured; None where that must be done first."""
    place = kept_place(folder, file)
    if not place.exists():
        return None
    record = _load(place, place.stat().st_mtime_ns)
    own = _digest((root / "src" / "trueval" / path).read_bytes())
    if record["key"] != _key(root, file) or record["sources"].get(path, own) != own:
        return None
    of_path = {int(at): names for at, names in record["lines"].get(path, {}).items()}
    return Touched(record["seconds"], {path: of_path})


def _key(root: Path, file: str) -> str:
    return _digest(b"".join(one.read_bytes() for one in (root / file, root / "tests" / "conftest.py")))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _bodies(source: str) -> set[int]:
    """Lines inside functions."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.update(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
    return found


def rounds(root: Path, path: str) -> list[list[str]]:
    """Test files that may touch a source file, the likeliest first.

    The doctests of the file and the test files of its folder that name it, or something that it defines; test files
    of other folders that import it; the other ones of its folder; those of other folders that name something.
    """
    module = "trueval." + path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    names = _defined((root / "src" / "trueval" / path).read_text())
    word = re.compile(r"\b(" + "|".join(map(re.escape, [*names, Path(path).stem])) + r")\b")
    imports = re.compile(
        rf"\b{re.escape(module)}\b|from {re.escape(module.rpartition('.')[0])} import .*\b{Path(path).stem}\b"
    )
    own_folder = path.split("/")[0].removesuffix(".py") if "/" in path else ""
    near, importing, folder, far = [], [], [], []
    for file in sorted((root / "tests").rglob("test_*.py")):
        name, text = file.relative_to(root).as_posix(), file.read_text()
        if _NOT_USED.search(name) or "/mutants/" in name or "/docs/" in name:
            continue
        mirrored = name.startswith(f"tests/{own_folder}/") if own_folder else "/" not in name.removeprefix("tests/")
        if mirrored:
            (near if imports.search(text) or word.search(text) else folder).append(name)
        elif imports.search(text):
            importing.append(name)
        elif len(word.findall(text)) > 1:
            far.append(name)
    near.sort(key=lambda name: (Path(path).stem not in name, name))
    if COMPILED.search(path):
        return [near, importing]
    return [["src/trueval/" + path, *near], importing, folder, far]


def _defined(source: str) -> list[str]:
    """Public names of a module."""
    nodes = ast.parse(source).body
    named = [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return [name for name in named if not name.startswith("_") and len(name) > 3]
