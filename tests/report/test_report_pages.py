"""Reports: what is on every page, how large they are, and what they are without the libraries for charts."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from report_pages import MADE_FROM, made_pages, made_result

import trueval as tv
from page_outline import Outline
from trueval.report import origin
from trueval.report.html_result import result_page
from trueval.report.pages import PAGES

FIGURES = {
    "result": [
        "differences", "cutoffs", "users", "popularity", "tradeoff", "false_positives", "groups",
    ],
    "comparisons": ["differences"],
    "agreement": ["agreement"],
    "ab_test": ["ab_effects", "ab_days", "ab_groups"],
    "study": ["strengths", "first_places", "positions"],
    "ope": ["ope_estimates"],
    "calibration": ["reliability"],
    "pointwise": ["reliability"],
    "audit": [
        "popularity_curve", "sparsity", "item_pairs", "settings", "discriminative_power", "fewer_judgements",
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    pytest.importorskip("altair", reason="no charts: pip install '.[charts]'")
    return made_pages()


@pytest.mark.parametrize("kind", FIGURES)
def test_every_page_has_its_figures_and_where_it_comes_from(pages: dict[str, str], kind: str) -> None:
    page = pages[kind]
    found = Outline(page)
    assert found.open == []
    assert found.figures == FIGURES[kind]
    assert len(found.ids) == len(set(found.ids))
    assert [address for address in found.addresses if not address.startswith("#")] == []
    head = page[page.index("<header>") : page.index("</header>")]
    for text in ("trueval evaluate &#x27;a b.csv&#x27; --test test.csv", "a b.csv (2 kB)", tv.__version__):
        assert text in head
    assert page.index("<h1>") < page.index("<figure")


def test_every_kind_is_tried() -> None:
    assert set(FIGURES) == {"result", *PAGES}


def test_the_first_picture_is_the_forest_plot(pages: dict[str, str]) -> None:
    page = pages["result"]
    assert page.index('id="chart-differences"') < page.index('class="cards"') < page.index('id="chart-cutoffs"')


def test_the_sizes_of_reports() -> None:
    pytest.importorskip("altair", reason="no charts: pip install '.[charts]'")
    measured = ",".join(f"{name}@{k}" for name in ("ndcg", "precision", "recall", "ap", "hit") for k in (1, 3, 5, 10))
    large = result_page(made_result(systems=10, metrics=measured))
    assert len(large.encode()) < 1_000_000
    assert "Drawn are the first 6 of 20 metrics." in large
    numbers = large[large.index('id="chart-differences"') :]
    assert numbers[: numbers.index("</figure>")].count("<tr>") == 1 + 9 * 20  # the table has them all
    assert len(result_page(made_result(metrics="ndcg@10,recall@10")).encode()) < 100_000


def test_bold_are_those_not_shown_to_be_worse_than_the_best() -> None:
    from trueval.comparison.leaders import leaders

    result = made_result(users=200)
    page = result_page(result)
    table = page[page.index("All values in one table") :]
    best = leaders(result.evaluation)
    assert 0 < sum(map(len, best.values())) < 3 * len(best)
    assert table[: table.index("</table>")].count("<b>") == sum(map(len, best.values()))


def test_without_libraries_tables_stand_in_the_places_of_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)  # as if it were not installed, or could not be loaded
    page = result_page(made_result())
    assert "pip install &#x27;trueval[charts]&#x27;" in page or "pip install 'trueval[charts]'" in page
    figure = page[page.index('<figure class="chart" id="chart-differences"') :]
    figure = figure[: figure.index("</figure>")]
    assert "<svg" not in figure
    assert "<details" not in figure
    assert figure.count("<tr>") == 1 + 2 * 5


def test_what_is_not_drawn_says_what_it_needs() -> None:
    test = pl.DataFrame({"user": [1, 2], "item": ["a", "b"]})
    page = tv.evaluate_run(test.with_columns(rank=1), test, metrics="hit@1", interval="none").to_html(title="One")
    assert "<h1>One</h1>" in page
    assert "Not drawn here" in page
    assert "cutoffs (needs a metric at several cutoffs)" in page


def test_results_of_an_unbiased_test_have_both_sides() -> None:
    users = range(30)
    rated = [(u, i) for u in users for i in range(12) if (u + i) % 3]
    value = [(u * 7 + i * 3) % 5 + 1 for u, i in rated]
    log = pl.DataFrame({"user": [u for u, _ in rated], "item": [i for _, i in rated], "value": value})
    fair = pl.DataFrame({"user": users, "item": [u % 3 for u in users], "value": [u % 5 + 1 for u in users]})
    fair = fair.join(log, on=["user", "item"], how="anti")
    parts = tv.split(log, "unbiased", mar=fair, ratio=0.3)
    result = tv.evaluate(parts, ["popularity", "random", "average"], metrics="ndcg@5", threshold=3)
    page = result.to_html()
    outline = Outline(page)
    assert "Unbiased test" in page
    assert "Observed: held out of the biased log" in page
    assert len(outline.ids) == len(set(outline.ids))


def test_the_date_can_be_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert origin.today() == "14 November 2023"
    assert made_result().to_html() == made_result().to_html()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "no number")
    assert re.fullmatch(r"\d{1,2} [A-Z][a-z]+ \d{4}", origin.today())


def test_files_are_named_with_sizes(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    for name, size in (("a.csv", 12), ("b.csv", 4321), ("c.csv", 5_000_000)):
        with open(name, "wb") as file:
            file.write(b"x" * size)
    given = ["a.csv", "b.csv", "b.csv", None, "c.csv", ".", "uniform", "x" * 5000, "a\0b", 3]
    assert origin.named_files(given) == ("a.csv (12 bytes)", "b.csv (4.3 kB)", "c.csv (5.0 MB)", ".")
    assert MADE_FROM.about("x")["Data"] == "x"


def test_reports_say_whether_they_can_be_trusted(tmp_path: Path, trueval: Callable) -> None:
    """Of the same files; where they are evaluated in another way than audits do, of the result."""
    pairs = [(u, i) for u in range(40) for i in range(4)]
    log = pl.DataFrame(pairs, schema=["user", "item"], orient="row")
    log.head(100).write_csv(tmp_path / "train.csv")
    log.tail(60).write_csv(tmp_path / "test.csv")
    log.tail(60).with_columns(rank=pl.int_range(1, 61)).write_csv(tmp_path / "recs.csv")
    page = tmp_path / "page.html"
    for options in ([], ["--condensed"]):
        given = ["--test", tmp_path / "test.csv", "--train", tmp_path / "train.csv", "--report", page]
        assert trueval("evaluate", tmp_path / "recs.csv", *given, "--metrics", "hit@2", *options, "--quiet").code == 0
        text = page.read_text(encoding="utf-8")
        assert "What may be claimed, and can the numbers be trusted?" in text
        assert "leaked pairs" in text


def test_many_arms_are_told_by_number() -> None:
    rng = np.random.default_rng(5)
    arm = rng.integers(0, 12, 6000)
    bought = rng.random(6000) < np.where(arm == 7, 0.5, 0.1)
    table = pl.DataFrame({"arm": [f"arm {n:02}" for n in arm], "bought": bought.astype(int)})
    page = tv.ab_test(table, arm="arm", metrics="bought", control="arm 00").to_html()
    told = re.findall("<li>(.*?)</li>", page)
    assert len(told) == 2
    assert told[0].startswith("bought: arm 07 is higher than arm 00 by ")
    assert told[1] == "bought: there is no significant difference between 10 of 11 arms and arm 00."
    assert "Effects of 11 arms against arm 00" in page


def test_no_intervals_are_not_described() -> None:
    test = pl.DataFrame({"user": [1], "item": [1]})
    lists = {"a": [1, 2], "b": [2, 1]}
    runs = {name: pl.DataFrame({"user": [1, 1], "item": items, "rank": [1, 2]}) for name, items in lists.items()}
    about = tv.evaluate_run(runs, test, metrics="hit@1").plot("differences").description
    assert "There are no confidence intervals" in about
    assert "Lines are" not in about
