"""The shape of the code: one direction of flow, a light import, vocabulary."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "trueval"
# Each folder imports only from those before it.
FLOW = [
    "errors", "forks", "arguments", "memory", "progress", "pictures", "kernels", "statistics", "render", "data",
    "splits", "design", "recommenders", "facts",
    "propensity", "metrics", "evaluation", "comparison", "calibration", "online", "simulation", "audit", "charts",
    "report", "api", "experiments", "study", "papers", "cli",
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
    assert not [p.name for p in inside if imported(p) - {"render", "errors"}]


def test_consoles_and_tables_are_made_in_one_place() -> None:
    """So that widths and looks follow one rule; progress bars have a console of their own."""
    makers = {home(p) for p in FILES if "rich" in _modules(p) and {"Console", "Table"} & _called(p)}
    assert makers == {"render", "progress"}


def test_percent_are_written_in_one_way() -> None:
    """By `render.numbers`, as 20 %: the format of Python leaves out the space."""
    own = re.compile(r":[^{}\"']*%\}")
    assert [str(path) for path in FILES if own.search(path.read_text())] == []


def test_names_are_escaped_in_one_place_for_each_format() -> None:
    """Where also what terminals would obey is made visible."""
    assert {p.stem for p in FILES if "html" in _modules(p)} == {"html_elements"}
    assert {p.stem for p in FILES if "rich.markup" in p.read_text()} == {"terminal"}


def _called(path: Path) -> set[str]:
    calls = [n.func for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
    return {f.id for f in calls if isinstance(f, ast.Name)}


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


def test_the_seed_is_0_unless_another_is_given() -> None:
    """Everywhere, so that the command line, experiment files and every function draw the same."""
    others = {
        f"{path.relative_to(SOURCE)}: {node.name}(seed={ast.unparse(default)})"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
        for arguments, defaults in (
            (node.args.kwonlyargs, node.args.kw_defaults),
            (node.args.args[len(node.args.args) - len(node.args.defaults) :], node.args.defaults),
        )
        for argument, default in zip(arguments, defaults)
        if argument.arg == "seed" and isinstance(default, ast.Constant) and default.value not in (0, None, ...)
    }
    assert not others


@pytest.mark.parametrize("word", ["utils", "helpers", "common"])
def test_no_vague_modules(word: str) -> None:
    assert not [p for p in FILES if p.stem == word]


def test_plain_twins_are_only_in_kernels() -> None:
    """What production shares with a plain twin has a module of its own (`kernels/hashing.py`, `topic_lanes.py`)."""
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


# ---- private names, cycles ---------------------------------------------------------------------------------------

MODULES = {
    ".".join(("trueval", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_names(tree: ast.Module) -> set[str]:
    """Names with an underscore that a module takes from another of trueval: imported, or read from a module."""
    found, modules = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "trueval":
            found |= {alias.name for alias in node.names if _is_private(alias.name)}
            modules |= {a.asname or a.name for a in node.names if f"{node.module}.{a.name}" in MODULES}
        elif isinstance(node, ast.Import):
            modules |= {a.asname or a.name for a in node.names if a.name.split(".")[0] == "trueval"}
    read = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _is_private(node.attr))
    return found | {node.attr for node in read if ast.unparse(node.value) in modules}


def test_private_names_stay_in_their_module() -> None:
    """A name that others need loses its underscore."""
    found = {
        (path.relative_to(SOURCE).as_posix(), name)
        for path in MODULES.values()
        for name in private_names(ast.parse(path.read_text()))
    }
    assert not found


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from trueval.data.ids import _a, b, __c__", {"_a"}),
        ("def f():\n    from trueval.data import ids\n    return ids._a", {"_a"}),
        ("import trueval.data.ids as other\nother._a", {"_a"}),
        ("import trueval.data.ids\ntrueval.data.ids._a", {"_a"}),
        ("from os import _exit\nimport numpy as np\nnp._core\nself._own", set()),
    ],
)
def test_private_names_are_found(source: str, names: set[str]) -> None:
    assert private_names(ast.parse(source)) == names


def when_imported(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is imported: nothing for type checkers only, no bodies of functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from when_imported(ast.Module(node.orelse, []))
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
            yield from when_imported(node)


def needed(tree: ast.Module) -> set[str]:
    """Modules of trueval that a module imports when it is imported itself."""
    found = set()
    for node in when_imported(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & MODULES.keys() or {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & MODULES.keys()


def test_no_cycles_of_imports() -> None:
    """Between modules, also inside a folder: a module can be read after those it imports."""
    needs = {name: needed(ast.parse(path.read_text())) - {name} for name, path in MODULES.items()}
    assert sum(map(len, needs.values())) > len(MODULES)
    try:
        graphlib.TopologicalSorter(needs).prepare()
    except graphlib.CycleError as cycle:
        pytest.fail(" → ".join(cycle.args[1]))


@pytest.mark.parametrize(
    ("source", "modules"),
    [
        ("import trueval.errors", {"trueval.errors"}),
        ("try:\n    from trueval.data import ids, by_user\nexcept ImportError:\n    import trueval.api",
         {"trueval.data.ids", "trueval.data.by_user", "trueval.api"}),
        ("class A:\n    from trueval.data.ids import Ids", {"trueval.data.ids"}),
        ("if TYPE_CHECKING:\n    import trueval.errors\nelse:\n    import trueval.api", {"trueval.api"}),
        ("def f():\n    import trueval.errors", set()),
    ],
)  # fmt: skip
def test_imports_at_module_level_are_found(source: str, modules: set[str]) -> None:
    assert needed(ast.parse(source)) == modules


# ---- settings that follow the code -------------------------------------------------------------------------------


def test_public_modules_are_typed_strictly() -> None:
    """Every home of a public name is in the strict list of pyproject.toml, and every name there is a module."""
    import trueval

    settings = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    strict = {name for one in settings if one.get("disallow_any_generics") for name in one["module"]}
    untyped = {name for one in settings if one.get("disallow_untyped_defs") is False for name in one["module"]}
    assert strict == set(trueval._HOME.values())
    assert untyped == {name for name in MODULES if name.startswith("trueval.kernels.") and _is_compiled(name)}


def _is_compiled(name: str) -> bool:
    """Whether functions of a module are compiled by numba."""
    made = {"inlined", "inner", "kernel", "kernel_with", "loop", "within"}
    tree = ast.parse(MODULES[name].read_text())
    marks = (mark for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for mark in node.decorator_list)
    return any(ast.unparse(mark).split("(")[0] in made for mark in marks)


# Folders of tests that concern several parts of the code, or one part too large for its folder.
TESTS_OF_MORE = {
    "cells",
    "docs",
    "evaluation/groups",
    "fuzz",
    "mutants",
    "oracles",
    "presets",
    "snapshot",
    "statistics",
}


def test_tests_mirror_the_source() -> None:
    tests = Path(__file__).parent
    folders = {path.parent.relative_to(tests).as_posix() for path in tests.rglob("test_*.py")} - {"."}
    sources = {path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")}
    assert folders - sources <= TESTS_OF_MORE


def test_no_two_test_files_share_a_name() -> None:
    """Pytest imports them by name: of two, only one can be collected."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
