"""The built site: no warning, nothing from another host, nothing that a browser complains about."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
CHROMIUM = Path("/usr/bin/chromium")
LOOKED_AT = (
    "index.html",
    "tutorials/student.html",
    "reference/metrics/accuracy.html",
    "api/evaluation.html",
    "search.html?q=ndcg",
)
pytestmark = pytest.mark.slow


def need(*packages: str, install: str) -> None:
    if missing := [name for name in packages if importlib.util.find_spec(name) is None]:
        pytest.skip(f"{', '.join(missing)} is not installed: {install}")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it: every warning is an error."""
    need("sphinx", "furo", "myst_parser", install="pip install '.[docs]', or make docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-n", "-W", "-q", "-E", "-b", "html", str(DOCS), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_nothing_is_loaded_from_another_host(built: Path) -> None:
    command = [sys.executable, str(DOCS / "_ext" / "check_offline.py"), str(built)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_outside_request_would_be_found(built: Path, tmp_path: Path) -> None:
    text = (built / "index.html").read_text(encoding="utf-8")
    spoiled = text.replace("</head>", '<link rel="stylesheet" href="https://fonts.example.org/css"></head>')
    (tmp_path / "index.html").write_text(spoiled, encoding="utf-8")
    command = [sys.executable, str(DOCS / "_ext" / "check_offline.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "fonts.example.org" in done.stderr


@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_asks_nobody_and_complains_of_nothing(built: Path, width: int) -> None:
    need("playwright", install="pip install playwright")
    if not CHROMIUM.exists():
        pytest.skip(f"no {CHROMIUM}: install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 900})
        asked: list[str] = []
        said: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        for name in LOOKED_AT:
            page.goto(f"{built.as_uri()}/{name}", wait_until="load")
            assert _wider(page) == 0, f"{name} must be scrolled sideways at {width} pixels"
        browser.close()
    assert len(asked) > len(LOOKED_AT)
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    assert not said


def _wider(page: Any) -> int:
    """By how many pixels a page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
