"""The shape of the code: one direction of flow, a light import, vocabulary."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "trueval"
# Each folder imports only from those before it.
FLOW = [
    "errors", "arguments", "progress", "kernels", "data", "splits", "design", "recommenders", "facts", "propensity",
    "metrics", "evaluation", "comparison", "calibration", "online", "report", "api",
    "experiments", "cli",
]  # fmt: skip


def imported(path: Path) -> set[str]:
    """Parts of trueval that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "trueval":
                names = [f"trueval.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("trueval.")}
    return found - {"__version__"}


def home(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


FILES = [p for p in sorted(SOURCE.rglob("*.py")) if home(p) not in ("__init__", "__main__")]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path) -> None:
    own = FLOW.index(home(path))
    backwards = {name for name in imported(path) if FLOW.index(name) > own}
    assert not backwards, f"{path.name} is in {home(path)} and imports {backwards}"


def test_numba_is_only_in_kernels() -> None:
    outside = [p for p in FILES if home(p) != "kernels" and "numba" in _modules(p)]
    assert not outside


def _modules(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain = {alias.name.split(".")[0] for n in nodes if isinstance(n, ast.Import) for alias in n.names}
    return plain | {(n.module or "").split(".")[0] for n in nodes if isinstance(n, ast.ImportFrom)}


def test_import_is_light() -> None:
    """`import trueval` loads nothing that takes time; `benchmarks/run.py small` says how long it takes."""
    code = "import sys, trueval; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = set(subprocess.check_output([sys.executable, "-c", code], text=True).split())
    assert "trueval" in loaded
    assert loaded.isdisjoint({"numba", "numpy", "pandas", "polars", "rich", "scipy", "typer"})


def test_public_names_exist() -> None:
    import trueval

    missing = [name for name in trueval.__all__ if not hasattr(trueval, name)]
    assert not missing
    undocumented = [
        n for n in trueval.__all__ if n != "__version__" and not (getattr(trueval, n).__doc__ or "").strip()
    ]
    assert not undocumented


def test_modules_are_small() -> None:
    long = {p.name: n for p in FILES if (n := p.read_text().count("\n")) > 320}
    assert not long


@pytest.mark.parametrize("word", ["utils", "helpers", "common"])
def test_no_vague_modules(word: str) -> None:
    assert not [p for p in FILES if p.stem == word]


def test_plain_twins_are_only_in_kernels() -> None:
    """What production shares with a plain twin has a module of its own (`kernels/hashing.py`, `kernels/lanes.py`)."""
    twins = {path.stem for path in (SOURCE / "kernels").glob("plain*.py")}
    outside = [p for p in FILES if home(p) != "kernels" and twins & _names_below(p, "trueval.kernels")]
    assert twins
    assert not outside


def _names_below(path: Path, package: str) -> set[str]:
    """Modules of a package that a file imports, and names that it imports from the package itself."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == package:
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}."):
            found.add((node.module or "").removeprefix(f"{package}.").split(".")[0])
        elif isinstance(node, ast.Import):
            found |= {a.name.removeprefix(f"{package}.").split(".")[0] for a in node.names if a.name != package}
    return found
