"""Studies in a real browser, from consent to code: with and without scripts, on a telephone, by keyboard alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from small_studies import SYSTEMS
from study_sites import make_site, served

from browser_pages import Browser, Visit
from trueval.study.export import export_tables
from trueval.study.site import Site

FORMS = ("rank", "pair", "rate")
QUESTION = {"question": "What?", "answers": ["this", "that"], "right": 2}


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Site, str]]]:
    """A study of each form, served."""
    from contextlib import ExitStack

    pytest.importorskip("uvicorn", reason="needs the extra study")
    with ExitStack() as stack:
        made = {}
        for form in FORMS:
            site = make_site(
                tmp_path_factory.mktemp(form), form, comprehension=[QUESTION], thanks={"code": "CODE-1"},
                lists={"length": 30, "visible": 10} if form == "rank" else {"length": 6},
            )  # fmt: skip
            made[form] = site, stack.enter_context(served(site))
        yield made


def _last(site: Site) -> dict[str, Any]:
    """The rows of the participant who came last, by table."""
    found = export_tables(site.storage)
    name = found["participants"]["participant"][-1]
    return {table: rows.filter(participant=name) for table, rows in found.items()}


def _checked(visit: Visit, look: bool) -> None:
    """No fault on this page."""
    if look:
        assert not visit.faults(), visit.page.url


def _onward(page: Any, selector: str) -> None:
    """Press a button that leads to another page, and wait until that page and its script are there."""
    with page.expect_navigation():
        page.click(selector)


def _to_lists(visit: Visit, *, script: bool, look: bool) -> None:
    page = visit.page
    _checked(visit, look)
    page.check("#agree")
    _onward(page, "button.primary")
    _checked(visit, look)
    page.check("#q1-2")
    _onward(page, "button.primary")
    page.fill("#q", "AMELIE")
    if not script:
        _onward(page, ".search button")
    page.wait_for_selector("#found li")
    _checked(visit, look)
    page.click("#found li:nth-child(2) button[value$=':5']")
    page.wait_for_selector("#found li:nth-child(2) button[aria-pressed=true]")
    for row in (1, 2):
        page.click(f"form:has(input[value=browse]) li:nth-child({row}) button[value$=':2']")
        page.wait_for_selector(f"form:has(input[value=browse]) li:nth-child({row}) button[aria-pressed=true]")
    assert "3 rated" in page.inner_text("#count")
    _checked(visit, look)
    _onward(page, ".next button")


def _answer(visit: Visit, form: str, *, look: bool) -> None:
    page = visit.page
    page.wait_for_selector("form[action$='/answer']")
    _checked(visit, look)
    if form == "rank":
        page.select_option("#place-A", "2")
        page.click("button[value=C]")
        page.wait_for_selector("h2#list-C")
        assert page.get_attribute("button[value=C]", "aria-pressed") == "true"
        assert page.locator("#panel li").count() == 30
        page.select_option("#place-C", "1")
        _checked(visit, look)
    elif form == "pair":
        page.check("#answer-right", force=True)
        page.check("#reason-2")
    else:
        page.check("#scale-1-4", force=True)
        page.check("#scale-2-7", force=True)
        page.check("#mark-3-not", force=True)
    _onward(page, "button.primary")


@pytest.mark.parametrize(
    ("script", "width", "dark", "look"),
    [(True, 1280, False, True), (True, 360, True, True), (False, 390, False, False)],
    ids=["desktop", "telephone-dark", "no-script"],
)
@pytest.mark.parametrize("form", FORMS)
def test_from_consent_to_code(
    form: str, script: bool, width: int, dark: bool, look: bool, sites: dict[str, tuple[Site, str]], browser: Browser
) -> None:
    site, address = sites[form]
    with browser.open(f"{address}/", width=width, dark=dark, script=script) as visit:
        page = visit.page
        _to_lists(visit, script=script, look=look)
        for task in range(1 if form == "rank" else 3):
            _answer(visit, form, look=look and task == 0)
        page.wait_for_selector("#comment")
        _checked(visit, look)
        page.fill("#comment", "<script>alert(1)</script>")
        _onward(page, "button.primary")
        page.wait_for_selector(".code")
        assert "CODE-1" in page.inner_text("main")
        _checked(visit, look)
        assert not visit.outside
        assert not visit.errors
    found = _last(site)
    assert found["participants"]["last_page"].to_list() == ["done"]
    assert found["comments"]["text"].to_list() == ["<script>alert(1)</script>"]
    assert sorted(found["ratings"].select("value", "source").rows()) == [(2.0, "browse")] * 2 + [(5.0, "search")]
    if form == "rank":
        assert found["rankings"].sort("position")["rank"].to_list() == [2, None, 1]
        assert found["shown"].sort("position")["switches"].to_list() == [0, 0, 1]
    elif form == "pair":
        assert found["pairs"].select("answer", "reasons").unique().rows() == [("right", "more variety")]
    else:
        assert set(found["scales"].select("question", "value").rows()) == {("relevance", 4), ("novelty", 7)}
        assert found["marks"]["mark"].to_list() == ["not"] * len(SYSTEMS)


class Keyboard:
    """Somebody who has no mouse: goes on with Tab until the focus is where they want it."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def to(self, selector: str) -> Keyboard:
        for _ in range(200):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return self
        raise AssertionError(f"{selector} cannot be reached by the keyboard")

    def press(self, *keys: str) -> Keyboard:
        for key in keys:
            self.page.keyboard.press(key)
        return self

    def onward(self, selector: str, key: str = "Enter") -> Keyboard:
        """Press a button that leads to another page."""
        self.to(selector)
        with self.page.expect_navigation():
            self.page.keyboard.press(key)
        return self


@pytest.mark.parametrize("form", FORMS)
def test_by_keyboard_alone(form: str, sites: dict[str, tuple[Site, str]], browser: Browser) -> None:
    site, address = sites[form]
    with browser.open(f"{address}/") as visit:
        page, keys = visit.page, Keyboard(visit.page)
        keys.to("a.skip").press("Enter").to("#agree").press("Space").onward("button.primary")
        keys.to("#q1-1").press("ArrowDown").onward("button.primary")
        keys.to("#q")
        page.keyboard.type("boot")
        page.wait_for_selector("#found li")
        for number in range(1, 4):
            keys.to(f"#found li:nth-child({number}) button[value$=':4']").press("Enter")
            page.wait_for_selector(f"#found li:nth-child({number}) button[aria-pressed=true]")
        keys.onward(".next button")
        for _ in range(1 if form == "rank" else 3):
            if form == "rank":
                keys.to("button[value=B]").press("Enter")
                page.wait_for_selector("h2#list-B")
                keys.to("#panel .scroll").press("End").to("#place-B").press("ArrowDown").onward("button.primary")
            elif form == "pair":
                keys.to("input[name=answer]").press("Space").onward("button.primary")
            else:
                keys.to("input[name=scale-1]").press("Space").to("input[name=scale-2]").press("Space")
                keys.onward("button.primary")
        keys.to("#comment")
        page.keyboard.type("by keyboard")
        keys.onward("button.primary")
        assert "CODE-1" in page.inner_text("main")
    found = _last(site)
    assert found["comments"]["text"].to_list() == ["by keyboard"]
    assert found["ratings"]["value"].to_list() == [4.0] * 3
    if form == "rank":
        assert found["rankings"].sort("position")["rank"].to_list() == [None, 1, None]


def test_back_reload_double_click_and_two_tabs(sites: dict[str, tuple[Site, str]], browser: Browser) -> None:
    site, address = sites["pair"]
    with browser.open(f"{address}/") as visit:
        page = visit.page
        _to_lists(visit, script=True, look=False)
        page.wait_for_selector("#answer-left")
        other = page.context.new_page()
        other.goto(page.url)
        page.check("#answer-left", force=True)
        page.dblclick("button.primary")
        page.wait_for_selector("text=Comparison 2 of 3")
        other.check("#answer-right", force=True)  # the other tab still shows the first task
        other.click("button.primary")
        other.wait_for_selector("text=Comparison 2 of 3")
        page.go_back()
        page.wait_for_selector("text=Comparison 2 of 3")
        page.reload()
        page.check("#answer-none", force=True)
        page.click("button.primary")
        page.wait_for_selector("text=Comparison 3 of 3")
    assert _last(site)["pairs"]["answer"].to_list() == ["left", "none"]
    assert _last(site)["participants"]["last_page"].to_list() == ["task 3"]


def test_without_a_connection_the_script_gives_way(sites: dict[str, tuple[Site, str]], browser: Browser) -> None:
    """Where the script's own request fails, the form is sent as without a script."""
    site, address = sites["rank"]
    with browser.open(f"{address}/") as visit:
        page = visit.page
        _to_lists(visit, script=True, look=False)
        page.wait_for_selector("#panel")
        page.evaluate("() => { window.fetch = () => Promise.reject(new Error('no connection')); }")
        page.select_option("#place-A", "1")
        with page.expect_navigation():
            page.click("button[value=B]")
        page.wait_for_selector("h2#list-B")
        assert page.input_value("#place-A") == "1"
    assert _last(site)["shown"].sort("position")["switches"].to_list() == [0, 1, 0]
