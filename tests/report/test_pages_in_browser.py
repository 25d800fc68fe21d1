"""Reports in a real browser: quiet, readable by everyone, sortable, and complete without the script."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest
from report_pages import made_pages

import trueval as tv
from browser_pages import Browser

KINDS = ("result", "comparisons", "agreement", "ab_test", "study", "ope", "calibration", "pointwise", "audit")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("altair", reason="no charts: pip install '.[charts]'")
    folder = tmp_path_factory.mktemp("pages")
    for kind, page in made_pages().items():
        (folder / f"{kind}.html").write_text(page, encoding="utf-8")
    return folder


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True)])
def test_pages_have_no_faults(browser: Browser, folder: Path, kind: str, width: int, dark: bool) -> None:
    with browser.open(folder / f"{kind}.html", width=width, dark=dark) as visit:
        visit.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert visit.faults() == []
        assert visit.asked == [visit.page.url]


@pytest.mark.parametrize("width", [1200, 390])
def test_long_names_do_not_widen_a_page(browser: Browser, tmp_path: Path, width: int) -> None:
    pytest.importorskip("altair", reason="no charts: pip install '.[charts]'")
    test = pl.DataFrame({"user": range(20), "item": range(20)})
    names = ("a_name_without_any_place_to_break_" + 90 * "a", "a name of many words, " * 6, "b")
    runs = {name: test.with_columns(item=pl.col("item") // (n + 1), rank=1) for n, name in enumerate(names)}
    page = tv.evaluate_run(runs, test, metrics="hit@1,coverage@1").to_html()
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    with browser.open(tmp_path / "page.html", width=width) as visit:
        visit.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert visit.wider() == 0


def column(visit: object, table: str, place: int) -> list[str]:
    script = f"[...document.querySelectorAll('{table} tbody tr')].map(row => row.cells[{place}].textContent.trim())"
    return list(visit.page.evaluate(script))  # type: ignore[attr-defined]


def test_tables_are_sorted_by_number_or_by_name(browser: Browser, folder: Path) -> None:
    table = "#chart-differences table"
    with browser.open(folder / "comparisons.html") as visit:
        visit.page.click("#chart-differences summary")
        before = column(visit, table, 2)
        assert len(before) == 10
        head = visit.page.locator(f"{table} th").nth(2)
        head.locator("button").click()
        assert column(visit, table, 2) == sorted(before, key=float)
        assert head.get_attribute("aria-sort") == "ascending"
        head.locator("button").press("Enter")
        assert column(visit, table, 2) == sorted(before, key=float, reverse=True)
        assert head.get_attribute("aria-sort") == "descending"
        visit.page.locator(f"{table} th").nth(0).locator("button").click()
        assert column(visit, table, 0) == sorted(column(visit, table, 0))
        assert head.get_attribute("aria-sort") is None


@pytest.mark.parametrize(
    ("cells", "ordered"),
    [
        (["−0.5", "+1.25", "0.3", "<0.001", "–", "12"], ["−0.5", "<0.001", "0.3", "+1.25", "12", "–"]),
        (["1,234", "99", "", "10,000"], ["99", "1,234", "10,000", ""]),
        (["b2", "a10", "B1", "a9"], ["a10", "a9", "B1", "b2"]),
        (["2e-05", "0.1", "1.5e-3"], ["2e-05", "1.5e-3", "0.1"]),
    ],
)
def test_what_counts_as_a_number(browser: Browser, tmp_path: Path, cells: list[str], ordered: list[str]) -> None:
    from trueval.render.html_elements import html_table, page

    path = tmp_path / "page.html"
    path.write_text(page("Cells", [html_table(["value"], [[cell] for cell in cells])]), encoding="utf-8")
    with browser.open(path) as visit:
        visit.page.click("th button")
        assert column(visit, "table", 0) == ordered


def test_downloads_are_complete(browser: Browser, folder: Path, tmp_path: Path) -> None:
    with browser.open(folder / "comparisons.html", dark=True) as visit:
        with visit.page.expect_download() as begun:
            visit.page.click("#chart-differences .tools button:text('Download SVG')")
        begun.value.save_as(tmp_path / "picture.svg")
        visit.page.click("#chart-differences summary")
        with visit.page.expect_download() as begun:
            visit.page.click("#chart-differences details .tools button")
        assert begun.value.suggested_filename == "chart-differences.csv"
        begun.value.save_as(tmp_path / "table.csv")
        shown = column(visit, "#chart-differences table", 1)
    picture = (tmp_path / "picture.svg").read_text(encoding="utf-8")
    assert picture.startswith("<svg")
    assert "var(" not in picture
    with browser.open(tmp_path / "picture.svg") as alone:
        assert alone.errors == []
    with open(tmp_path / "table.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][:3] == ["metric", "system", "difference"]
    assert [row[1] for row in rows[1:]] == shown


def test_a_downloaded_cell_is_never_run(browser: Browser, tmp_path: Path) -> None:
    from trueval.render.html_elements import html_table, page

    path = tmp_path / "page.html"
    cells = ['=HYPERLINK("x")', "-0.5", "@SUM(1)", "-x", 'a "b", c']
    path.write_text(page("Cells", [html_table(["value"], [[cell] for cell in cells])]), encoding="utf-8")
    with browser.open(path) as visit:
        with visit.page.expect_download() as begun:
            visit.page.click(".tools button")
        begun.value.save_as(tmp_path / "table.csv")
    with open(tmp_path / "table.csv", encoding="utf-8", newline="") as file:
        assert [row[0] for row in csv.reader(file)][1:] == ['\'=HYPERLINK("x")', "-0.5", "'@SUM(1)", "'-x", 'a "b", c']


def test_a_page_is_complete_without_the_script(browser: Browser, folder: Path) -> None:
    with browser.open(folder / "result.html", script=False) as visit:
        assert visit.page.locator("button").count() == 0
        assert visit.page.locator("figure svg").count() == 7
        assert visit.page.locator("th").first.text_content() != ""
        assert visit.errors == []


def test_no_script_but_ours_runs(browser: Browser, folder: Path, tmp_path: Path) -> None:
    page = (folder / "result.html").read_text(encoding="utf-8")
    path = tmp_path / "page.html"
    path.write_text(page.replace("</main>", "<script>document.title = 'taken'</script></main>"), encoding="utf-8")
    with browser.open(path) as visit:
        assert visit.page.title() != "taken"
        assert any("Content Security Policy" in error for error in visit.errors)


def test_paper_shows_the_tables_and_not_the_buttons(browser: Browser, folder: Path) -> None:
    with browser.open(folder / "result.html", dark=True) as visit:
        visit.page.emulate_media(media="print", color_scheme="dark")
        assert visit.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert not visit.page.locator(".tools button").first.is_visible()
        assert visit.page.locator("details:not(.data) table").first.is_visible()
