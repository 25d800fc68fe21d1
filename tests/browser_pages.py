"""Pages in a real browser: what they ask of other hosts, what they complain of, whether they can be read.

A test takes the fixture `browser` (`conftest.py`), which skips where no browser can be started:

    def test_my_page(browser, tmp_path):
        with browser.open(tmp_path / "report.html", width=390, dark=True) as visit:
            visit.page.click("summary")            # a page of Playwright
            assert not visit.faults()              # outside requests, errors, width, accessibility

`visit.outside`, `visit.errors`, `visit.wider()` and `visit.violations()` are the parts of `faults`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")
# What the browser would do by itself, besides showing the page; tests may run as root, which its sandbox refuses
SETTINGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
# The rules of WCAG 2.2 at the levels A and AA
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
_LOCAL = re.compile(r"(file|data|blob|about):|https?://(127\.0\.0\.1|localhost)[:/]")


@dataclass
class Visit:
    """A page that is open, and what it has done so far.

    Attributes
    ----------
    page : playwright.sync_api.Page
        For clicks, scripts and pictures (`page.screenshot(path=…, full_page=True)`).
    asked : list of text
        Every address that was asked for, in order.
    errors : list of text
        Errors in the console (also what a content security policy refused), and exceptions of scripts.
    """

    page: Any
    asked: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def outside(self) -> list[str]:
        """The addresses asked for that are not on this machine."""
        return [url for url in self.asked if not _LOCAL.match(url)]

    def wider(self) -> int:
        """By how many pixels the page is wider than the window: it would have to be scrolled sideways."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def violations(self, *, but: tuple[str, ...] = ()) -> list[str]:
        """The rules of accessibility that the page breaks, as axe finds them, each with the first elements.

        `but` names rules that are not held against the page; a test that uses it says why.
        """
        axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe: pip install '.[test]'")
        options = {"runOnly": {"type": "tag", "values": list(RULES)}, "resultTypes": ["violations"]}
        found = axe.Axe().run(self.page, options=options).response["violations"]
        return [_told(rule) for rule in found if rule["id"] not in but]

    def faults(self, *, but: tuple[str, ...] = ()) -> list[str]:
        """All that is wrong with the page, in words; empty if nothing is."""
        wider = self.wider()
        return [
            *(f"asks another host: {url}" for url in self.outside),
            *(f"complains: {error}" for error in self.errors),
            *([f"must be scrolled sideways by {wider} pixels"] if wider else []),
            *self.violations(but=but),
        ]


def _told(rule: dict[str, Any]) -> str:
    """A rule that is broken, with up to three of the elements that break it and what is wrong with the first."""
    where = [" ".join(map(str, node["target"])) for node in rule["nodes"]]
    why = " ".join(rule["nodes"][0].get("failureSummary", "").split())
    more = f" and {len(where) - 3} more" if len(where) > 3 else ""
    return f"{rule['id']}: {rule['help']}; {', '.join(where[:3])}{more}; {why}"


class Browser:
    """A browser that runs; `open` shows a page in a window of its own."""

    def __init__(self, running: Any) -> None:
        self._running = running

    @contextmanager
    def open(
        self, page: Path | str, *, width: int = 1280, height: int = 900, dark: bool = False, script: bool = True
    ) -> Iterator[Visit]:
        """Show a file, or an address on this machine; requests to other hosts are noted and not sent.

        `dark` is what the page is told the reader prefers, `script=False` a reader who allows no scripts.
        """
        context = self._running.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            java_script_enabled=script,
            reduced_motion="reduce",  # nothing is half faded in when it is looked at
        )
        try:
            visit = Visit(context.new_page())
            visit.page.on("request", lambda request: visit.asked.append(request.url))
            visit.page.on("console", lambda said: visit.errors.append(said.text) if said.type == "error" else None)
            visit.page.on("pageerror", lambda error: visit.errors.append(str(error)))
            context.route(lambda url: not _LOCAL.match(url), lambda route: route.abort())
            visit.page.goto(page.resolve().as_uri() if isinstance(page, Path) else page, wait_until="load")
            yield visit
        finally:
            context.close()


@contextmanager
def started() -> Iterator[Browser]:
    """Chromium, driven by Playwright; a skip that says what to install where one of them is missing."""
    sync = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install '.[test]'")
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.skip("no browser: install Chromium (Debian, Ubuntu: apt-get install chromium)")
    with sync.sync_playwright() as player:
        running = player.chromium.launch(executable_path=path, args=list(SETTINGS))
        try:
            yield Browser(running)
        finally:
            running.close()
