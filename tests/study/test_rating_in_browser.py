"""The page of ratings in a real browser: nothing moves under the mouse, and what it says is up to date."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from study_sites import make_site, served

from browser_pages import Browser
from trueval.study.export import export_tables
from trueval.study.site import Site

OFFERED = "form:has(input[value=browse])"
# how many rows of a list are visible before scrolling
VISIBLE = """() => {
  const list = document.querySelector("#panel .scroll");
  return list.clientHeight / list.querySelector("li").offsetHeight;
}"""


@contextmanager
def _study(folder: Path, scale: list[float]) -> Iterator[tuple[Site, str]]:
    """A study in which six ratings on a scale are asked for."""
    pytest.importorskip("uvicorn", reason="needs the extra study")
    site = make_site(folder, ratings={"least": 6, "page": 20, "scale": scale}, lists={"length": 30, "visible": 13})
    with served(site) as address:
        yield site, address


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, str]]:
    """Ratings from 0.5 to 5, as MovieLens has."""
    with _study(tmp_path_factory.mktemp("halves"), [half / 2 for half in range(1, 11)]) as made:
        yield made


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, str]]:
    """Ratings from 1 to 5."""
    with _study(tmp_path_factory.mktemp("whole"), [1, 2, 3, 4, 5]) as made:
        yield made


def _onward(page: Any, selector: str) -> None:
    with page.expect_navigation():
        page.click(selector)


# Where a button is, once it is there: each of two clicks brings a new one, which must be sought and asked in one step.
WHERE = """selector => {
    const found = document.querySelector(selector);
    return found && found.getBoundingClientRect().toJSON();
}"""


def _begin(page: Any) -> None:
    page.check("#agree")
    _onward(page, "button.primary")


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize(("scale", "value"), [("whole", "4"), ("halves", "3.5")])
@pytest.mark.parametrize("width", [1280, 390])
def test_buttons_stay_where_they_are(
    script: bool, width: int, scale: str, value: str, request: pytest.FixtureRequest, browser: Browser
) -> None:
    """The second of two clicks must not hit another rating, and nobody has to look for their place again."""
    site, address = request.getfixturevalue(scale)
    chosen = f"{OFFERED} li:nth-child(18) button[value$=':{value}']"
    with browser.open(f"{address}/", width=width, script=script) as visit:
        page = visit.page
        _begin(page)
        assert not visit.wider()
        page.locator(chosen).scroll_into_view_if_needed()
        before = page.locator(chosen).bounding_box()
        if script:
            page.dblclick(chosen)
        else:
            _onward(page, chosen)
        after = page.wait_for_function(WHERE, arg=f"{chosen}[aria-pressed=true]").json_value()
        assert after["x"] == pytest.approx(before["x"], abs=1)
        assert 0 < after["y"] < 900 - after["height"]  # still in view
        if script:
            assert after["y"] == pytest.approx(before["y"], abs=1)
        assert not visit.wider()
    found = export_tables(site.storage)
    last = found["participants"]["participant"][-1]
    assert found["ratings"].filter(participant=last)["value"].to_list() == [float(value)]


def test_what_is_missing_and_what_was_rated_are_up_to_date(halves: tuple[Site, str], browser: Browser) -> None:
    _, address = halves
    with browser.open(f"{address}/") as visit:
        page = visit.page
        _begin(page)
        _onward(page, ".next button")
        for row in range(1, 7):
            assert page.locator(".problem").count() == 1
            page.click(f"{OFFERED} li:nth-child({row}) button[value$=':5']")
            page.wait_for_selector(f"#mine summary:has-text('({row})')")
        assert page.locator(".problem").count() == 0
        page.click("#mine summary")
        assert page.locator("#mine li").count() == 6
        assert not visit.violations()
        _onward(page, "#mine li:nth-child(2) button")  # a rating can be taken back there, too
        assert "(5)" in page.inner_text("#mine summary")


def test_as_many_rows_are_visible_as_the_study_says(halves: tuple[Site, str], browser: Browser) -> None:
    _, address = halves
    with browser.open(f"{address}/") as visit:
        page = visit.page
        _begin(page)
        for row in range(1, 7):
            page.click(f"{OFFERED} li:nth-child({row}) button[value$=':2']")
            page.wait_for_selector(f"#mine summary:has-text('({row})')")
        _onward(page, ".next button")
        assert page.evaluate(VISIBLE) == pytest.approx(13, abs=0.2)
