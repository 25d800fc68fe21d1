"""Which tests may notice a change: found by names, since coverage of each test would take longer than the tests.

`tests/FOLDER` mirrors `src/trueval/FOLDER`; test files name the modules and functions that they test.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

_SHAPE = "tests/test_architecture.py"  # the shape of the code, of all files
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:xdist", "-m", "not slow", "--tb=line")
# They start browsers, servers or notebooks for what other tests of their folders try as well, or are not about results.
_NOT_USED = re.compile(
    r"in_browser|browser_pages|notebooks|killed|many_processes|hostile|/fuzz/|/docs/|/mutants/|tests/test_\w+\.py"
)


class Session:
    """A plugin of pytest: tests that name the changed function first, and an end after some time."""

    def __init__(self, names: list[list[str]], seconds: float, *, leave: set[str] | None = None) -> None:
        self.names, self.end, self.leave = names, processor_time() + seconds, leave or set()
        self.failed: list[str] = []
        self.tests = 0

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Doctests first; then by how closely a test names what was changed."""
        items[:] = sorted((item for item in items if item.nodeid not in self.leave), key=self._distance)

    def _distance(self, item: pytest.Item) -> int:
        function = getattr(item, "function", None)
        if function is None:
            return 0
        text = item.name + _text_of(inspect.unwrap(function))
        return next((step for step, names in enumerate(self.names) if any(name in text for name in names)), 9)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """Stop where it takes too long."""
        self.tests += 1
        if processor_time() > self.end:
            item.session.shouldstop = "long enough"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what failed."""
        if report.failed:
            self.failed.append(report.nodeid)


@cache
def _text_of(function: object) -> str:
    try:
        return inspect.getsource(function)  # type: ignore[arg-type]
    except (OSError, TypeError):
        return ""


def processor_time() -> float:
    """Seconds of the processor, with those of finished children: on a busy machine, others say little."""
    return sum(os.times()[:4])


def rounds(root: Path, path: str) -> list[list[str]]:
    """Test files that may touch a source file, the likeliest first.

    The doctests of the file and the test files of its folder that name it, or something that it defines; test files
    of other folders that import it; the other ones of its folder; those of other folders that name something.
    """
    module = "trueval." + path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    package, _, stem = module.rpartition(".")
    names = [re.escape(name) for name in (*public_names((root / "src" / "trueval" / path).read_text()), stem)]
    word = re.compile(rf"\b({'|'.join(names)})\b")
    imports = re.compile(rf"\b{re.escape(module)}\b|from {re.escape(package)} import .*\b{stem}\b")
    folder = path.split("/")[0]
    parts = set(module.split(".")[2:])

    def parts_in(name: str) -> int:
        """How many parts of the module's name are in that of a test file, the folder aside."""
        words = set(re.split(r"[/_.]", name.removeprefix(f"tests/{folder}/")))
        return len(parts & words)

    near, importing, beside, far = [], [], [], []
    for name, text in _test_files(root):
        place = (stem not in re.split(r"[/_.]", name), -parts_in(name), -len(word.findall(text)), name)
        if name.startswith(f"tests/{folder}/"):
            (near if parts_in(name) or imports.search(text) or word.search(text) else beside).append(place)
        elif imports.search(text):
            importing.append(place)
        elif word.search(text):
            far.append(place)
    near, importing, beside, far = ([place[-1] for place in sorted(files)] for files in (near, importing, beside, far))
    return [["src/trueval/" + path, *near], importing, beside, far, [_SHAPE]]


@cache
def _test_files(root: Path) -> list[tuple[str, str]]:
    files = sorted((root / "tests").rglob("test_*.py"))
    named = [(file.relative_to(root).as_posix(), file) for file in files]
    return [(name, file.read_text()) for name, file in named if not _NOT_USED.search(name)]


def public_names(source: str) -> list[str]:
    """Names of a module that tests may use."""
    return [name for name in _defined(ast.parse(source)) if not name.startswith("_") and len(name) > 3]


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def names_around(source: str, line: int) -> list[str]:
    """The function or class that a line belongs to, and its method."""
    return [
        node.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and node.lineno <= line <= (node.end_lineno or 0)
        and len(node.name) > 3
    ]
