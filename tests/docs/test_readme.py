"""The README, which the package index shows alone: it leads nowhere that is not there, and tells of what there is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import typer

from trueval.cli.app import make_app

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
WORDS = re.sub(r"^```.*?^```", "", README, flags=re.M | re.S)  # without blocks of code


def test_links_have_a_host() -> None:
    """A link to a file beside the README leads nowhere on the package index."""
    without_picture = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", WORDS)  # as setup.py describes the package
    links = re.findall(r"\]\(([^)\s]+)\)|^\[[^\]]+\]:\s*(\S+)", without_picture, re.M)
    assert [one for pair in links for one in pair if one and not one.startswith(("https://", "#"))] == []


def test_the_picture_is_there_and_not_on_the_package_index(tmp_path: Path) -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert len(pictures) == 2
    assert all((ROOT / picture).read_bytes().startswith(b"\x89PNG") for picture in pictures)
    given: dict[str, str] = {}
    code = (ROOT / "setup.py").read_text(encoding="utf-8").replace("from setuptools import setup", "")
    exec(code, {"setup": lambda **options: given.update(options), "__file__": str(ROOT / "setup.py")})
    assert "![" not in given["long_description"]
    assert given["long_description"].startswith("# trueval\n")
    assert len(given["long_description"]) > len(README) - 300


def test_files_that_it_names_are_there() -> None:
    named = set(re.findall(r"`((?:docs|examples|benchmarks)/[\w./-]+|[A-Z]+\.md)`", WORDS))
    assert len(named) > 6
    assert [name for name in sorted(named) if not (ROOT / name).exists() and "_build" not in name] == []
    assert {path.name for path in (ROOT / "examples").glob("*.ipynb")} <= set(re.findall(r"`(\w+\.ipynb)`", WORDS))


def test_extras_that_it_names_are_those_of_the_package() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    table = WORDS.split("| extra | brings |")[1].split("\n\n")[0]
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == set(extras) - {"docs", "test"}
    for used in re.findall(r"pip install '(?:trueval|\.)\[([\w,]+)\]'", README):
        assert set(used.split(",")) <= set(extras)


def test_every_command_is_in_its_table_and_every_one_shown_exists() -> None:
    known = set(typer.main.get_command(make_app()).commands)  # type: ignore[attr-defined]
    table = WORDS.split("| command | does |")[1].split("\n\n")[0]
    listed = {
        name for row in table.splitlines()[2:] for name in re.findall(r"`(?:trueval )?([a-z-]+)`", row.split("|")[1])
    }
    assert listed == known
    shown = set(re.findall(r"^\$ (?:\.venv/bin/)?trueval ([a-z][a-z-]*)", README, re.M))
    assert len(shown) > 5
    assert shown <= known
