"""The built site, in a browser: nothing from another host, no error, no page too wide, nothing that cannot be read.

A few pages are built and looked at with every run of the tests; the whole site, strictly, with the slow ones.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from browser_pages import Browser

DOCS = Path(__file__).parents[2] / "docs"
# One page of each kind: formulas and a terminal, sections made from a registry, the Python interface.
SOME = ("tutorials/student", "reference/metrics/incomplete", "api/comparison")
MADE = """# Small site

```{{toctree}}
{pages}
```

```{{chart}}
dots("A picture", {{"a": {{"one": 1, "two": 2}}, "b": {{"one": 3, "two": 1}}}}, says="What it says.", x="value")
```
"""
# Each width and each choice of colours
WINDOWS = pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)], ids=["wide", "narrow-dark"])


def build(source: Path, folder: Path, *options: str) -> None:
    missing = [name for name in ("sphinx", "furo", "myst_parser") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed: pip install '.[docs]', or make docs")
    command = [sys.executable, "-m", "sphinx", "-q", "-E", *options, "-c", str(DOCS), "-b", "html"]
    done = subprocess.run([*command, str(source), str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few pages, whose links to the others lead nowhere."""
    source = tmp_path_factory.mktemp("source")
    for name in SOME:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DOCS / f"{name}.md", source / f"{name}.md")
    (source / "index.md").write_text(MADE.format(pages="\n".join(SOME)), encoding="utf-8")
    folder = tmp_path_factory.mktemp("some")
    build(source, folder)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it: every warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    build(DOCS, folder, "-n", "-W")
    return folder


def faults(browser: Browser, folder: Path, width: int, dark: bool) -> dict[str, list[str]]:
    """What is wrong with each page of a site; the search is asked something."""
    found = {}
    for path in sorted(folder.rglob("*.html")):
        name = path.relative_to(folder).as_posix()
        if name.startswith("_static/"):
            continue
        address = f"{path.as_uri()}?q=precision" if name == "search.html" else path
        with browser.open(address, width=width, dark=dark) as visit:
            if name == "search.html":
                visit.page.wait_for_selector("ul.search li a")
            found[name] = visit.faults()
    assert len(found) > len(SOME)
    return {name: faults for name, faults in found.items() if faults}


@WINDOWS
def test_pages_have_no_faults(browser: Browser, some: Path, width: int, dark: bool) -> None:
    assert not faults(browser, some, width, dark)


def test_formulas_and_pictures_are_drawn(browser: Browser, some: Path) -> None:
    """Without a script: MathML has a size, and words in pictures have the colour of words on the page."""
    with browser.open(some / "tutorials" / "student.html", script=False) as visit:
        box = visit.page.locator("math[display=block]").first.bounding_box()
        assert box["width"] > 100
        assert box["height"] > 20
    colour = "element => getComputedStyle(element).{}"
    for dark in (False, True):
        with browser.open(some / "index.html", dark=dark) as visit:
            words = visit.page.locator("figure.chart svg text").last.evaluate(colour.format("fill"))
            assert words == visit.page.locator("article").evaluate(colour.format("color"))


def test_wide_blocks_are_reached_by_keyboard(browser: Browser, some: Path) -> None:
    with browser.open(some / "api" / "comparison.html", width=390) as visit:
        wide = visit.page.locator("article pre").evaluate_all(
            "blocks => blocks.filter(one => one.scrollWidth > one.clientWidth).map(one => one.tabIndex)"
        )
    assert wide
    assert set(wide) == {0}


# ---- the whole site ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@WINDOWS
def test_all_pages_have_no_faults(browser: Browser, whole: Path, width: int, dark: bool) -> None:
    assert not faults(browser, whole, width, dark)


@pytest.mark.slow
def test_nothing_is_loaded_from_another_host(whole: Path) -> None:
    command = [sys.executable, str(DOCS / "_ext" / "check_offline.py"), str(whole)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_outside_request_would_be_found(some: Path, tmp_path: Path) -> None:
    text = (some / "index.html").read_text(encoding="utf-8")
    spoiled = text.replace("</head>", '<link rel="stylesheet" href="https://fonts.example.org/css"></head>')
    (tmp_path / "index.html").write_text(spoiled, encoding="utf-8")
    command = [sys.executable, str(DOCS / "_ext" / "check_offline.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "fonts.example.org" in done.stderr
