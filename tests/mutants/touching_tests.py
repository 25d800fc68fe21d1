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
    near, importing, beside, far = [], [], [], []
    for name, text in _test_files(root):
        if name.startswith(f"tests/{folder}/"):
            (near if imports.search(text) or word.search(text) else beside).append((-len(word.findall(text)), name))
        elif imports.search(text):
            importing.append((-len(word.findall(text)), name))
        elif found := len(word.findall(text)):
            far.append((-found, name))
    near.sort(key=lambda one: (stem not in one[1], not imports.search((root / one[1]).read_text()), one))
    found = [[name for _, name in sorted(files)] for files in (importing, beside, far)]
    return [["src/trueval/" + path, *(name for _, name in near)], *found, [_SHAPE]]


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
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
