"""Pages beside the way through a study, in a real browser: results, what goes wrong, another direction of writing."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from study_sites import make_site, served

from browser_pages import Browser, Visit
from trueval.study.simulate import simulate_participants
from trueval.study.simulated_people import SimulatedPeople
from trueval.study.site import Site
from trueval.study.storage import Storage


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, str]]:
    """A study in two directions of writing, whose database is not waited for long."""
    pytest.importorskip("uvicorn", reason="needs the extra study")
    languages = {"study": {"languages": ["en", "he"]}, "words": {"he": {"language_name": "עברית"}}}
    made = make_site(tmp_path_factory.mktemp("other"), "pair", checks={"random": True}, **languages)
    made = dataclasses.replace(made, storage=Storage.open(made.study, busy=0.05))
    with served(made) as address:
        yield made, address


def _seen(visit: Visit) -> None:
    """Nothing that keeps anybody from reading this page; that it is an error is in the console, too."""
    assert not visit.violations(), visit.page.url
    assert not visit.wider(), visit.page.url


def _onward(page: Any, selector: str) -> None:
    with page.expect_navigation():
        page.click(selector)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (360, True)])
def test_results(width: int, dark: bool, tmp_path: Any, browser: Browser) -> None:
    site = make_site(tmp_path, "pair", checks={"random": True})
    people = SimulatedPeople(strengths=dict.fromkeys(site.study.systems, 0.0), leave=0.1, seed=2)
    stored = simulate_participants(site.study, people, participants=12, url=f"sqlite:///{tmp_path / 'people.sqlite'}")
    secret = stored.results_secret()
    with (
        served(dataclasses.replace(site, storage=stored)) as address,
        browser.open(f"{address}/results", width=width, dark=dark) as visit,
    ):
        _seen(visit)
        visit.page.fill("#secret", "guess")
        _onward(visit.page, "button.primary")
        assert "not the secret" in visit.page.inner_text(".problem")
        _seen(visit)
        visit.page.fill("#secret", secret)
        _onward(visit.page, "button.primary")
        _seen(visit)
        assert visit.page.locator("table").count() == 2
        assert visit.page.locator("thead th:has-text('left')").count() == 1


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (360, True)])
def test_what_goes_wrong(width: int, dark: bool, site: tuple[Site, str], browser: Browser) -> None:
    study, address = site
    with browser.open(f"{address}/nothing", width=width, dark=dark) as visit:
        page = visit.page
        assert "does not exist" in page.inner_text("h1")
        _seen(visit)
        page.goto(f"{address}/?lang=he")
        assert page.get_attribute("html", "dir") == "rtl"
        _seen(visit)
        page.check("#agree")
        with closing(sqlite3.connect(study.study.folder / "study.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            _onward(page, "button.primary")
            assert "not been saved" in page.inner_text("h1")
            _seen(visit)
            other.execute("ROLLBACK")
        _onward(page, "button.primary")  # the page's own button
        assert page.get_attribute("html", "dir") == "rtl"
        _seen(visit)
        page.evaluate("() => { for (const one of document.getElementsByName('form')) one.value = 'forged'; }")
        _onward(page, ".next button")
        assert "no longer valid" in page.inner_text("h1")
        _seen(visit)
        _onward(page, "a.button")
        page.wait_for_selector("#q")
