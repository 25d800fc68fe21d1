"""The versions that are installed, and their hashes, are those that were reviewed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_hashes_are_those_of_the_versions() -> None:
    tool = script("hashed_versions")
    pinned = tool.pins((ROOT / "constraints.txt").read_text())
    hashed = tool.hashed_pins((ROOT / "constraints-hashes.txt").read_text())
    assert {name: version for name, (version, _) in hashed.items()} == pinned, "run .ci/hashed_versions.py"
    for name, (_, digests) in hashed.items():
        assert digests == sorted(set(digests)), name
        assert all(re.fullmatch(r"[0-9a-f]{64}", one) for one in digests), name


def test_no_file_of_versions_names_an_address() -> None:
    for path in ROOT.glob("constraints*.txt"):
        assert "://" not in path.read_text()


def test_what_is_written_is_what_is_read() -> None:
    tool = script("hashed_versions")
    text = tool.rendered([("a", "1", ["12", "34"]), ("b-c", "2", ["56"])])
    assert tool.hashed_pins(text) == {"a": ("1", ["12", "34"]), "b-c": ("2", ["56"])}


def test_every_dependency_is_printed_and_pinned() -> None:
    tool = script("hashed_versions")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    command = [sys.executable, str(ROOT / ".ci" / "dependencies.py"), "test", "docs"]
    printed = subprocess.check_output(command, text=True).splitlines()
    assert {
        *project["dependencies"],
        *project["optional-dependencies"]["test"],
        *project["optional-dependencies"]["docs"],
    } < set(printed)
    pinned = {tool.plain(name) for name in tool.pins((ROOT / "constraints.txt").read_text())}
    assert {tool.plain(re.split(r"[^A-Za-z0-9._-]", one)[0]) for one in printed} <= pinned
