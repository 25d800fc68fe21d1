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
    "errors", "arguments", "progress", "kernels", "statistics", "render", "data", "splits", "design", "recommenders",
    "facts",
    "propensity", "metrics", "evaluation", "comparison", "calibration", "online", "report", "api",
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


def test_rendering_knows_nothing_of_what_it_renders() -> None:
    inside = [p for p in FILES if home(p) == "render"]
    assert inside
    assert not [p.name for p in inside if imported(p) - {"render"}]


def test_consoles_and_tables_are_made_in_one_place() -> None:
    """So that widths and looks follow one rule; progress bars have a console of their own."""
    makers = {home(p) for p in FILES if "rich" in _modules(p) and {"Console", "Table"} & _called(p)}
    assert makers == {"render", "progress"}


def _called(path: Path) -> set[str]:
    calls = [n.func for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
    return {f.id for f in calls if isinstance(f, ast.Name)}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_private_names_stay_in_their_module(path: Path) -> None:
    nodes = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom)]
    ours = [n for n in nodes if (n.module or "").startswith("trueval")]
    private = [a.name for n in ours for a in n.names if a.name.startswith("_") and a.name != "__version__"]
    assert not private


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
