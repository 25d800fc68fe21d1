"""Names from files are shown as text: no page, paper or terminal takes a part of them for a command."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval import progress
from trueval.cli import demo_files, demo_run
from trueval.errors import DataError, visible
from trueval.experiments.render import page_of_experiment
from trueval.render.html_script import SCRIPT
from trueval.report.html_ab import ab_page
from trueval.report.html_groups import group_sections
from trueval.report.html_page import html_page
from trueval.report.terminal import print_evaluation
from trueval.simulation.demo_world import make_world

HTML = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "</style></title><svg/onload=alert(1)>",
    "[click](javascript:alert(1))",
    "`code` | pipe & <!-- comment",
]
TERMINAL = [
    "\x1b[31mred",
    "bell\x07",
    "over\rwritten",
    "back\u202eward",
    "\x9b2Jc1",
    "[red]markup[/red]",
    ":cat:",
    "end\\",
]
PAPER = ["\n\\input{secrets}", "\\write18{ls}", "a_b % $x$ #1 ~ ^ {"]
NAMES = [*HTML, *TERMINAL, *PAPER]
# What a terminal would obey or hide; also in the names above.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SAFE_TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "p", "h1", "h2", "h3", "div", "span",
    "section", "table", "thead", "tbody", "tr", "th", "td", "small", "b", "svg", "rect", "line", "circle", "ul", "li",
    "details", "summary", "dl", "dt", "dd", "code", "pre", "br", "figure", "figcaption", "script", "g", "path", "text",
    "clippath", "defs",
}  # fmt: skip
SAFE_ATTRIBUTES = {
    "charset", "name", "content", "lang", "class", "scope", "title", "width", "height", "role", "aria-label", "x", "y",
    "rx", "x1", "x2", "y1", "y2", "cx", "cy", "r", "http-equiv", "tabindex", "id", "style", "viewbox", "xmlns", "d",
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-miterlimit",
    "opacity", "transform", "font-family", "font-size", "font-weight", "text-anchor", "clip-path",
}  # fmt: skip


class Elements(HTMLParser):
    """All elements and attributes of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.attributes, self.text, self.others = set(), set(), "", []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        self.others.append(data)


def check_page(page: str, names: list[str]) -> None:
    found = Elements(page)
    assert found.tags <= SAFE_TAGS
    assert page.count("<script") == page.count(f"<script>{SCRIPT}</script>") == 1
    assert found.attributes <= SAFE_ATTRIBUTES
    assert not found.others
    assert not OBEYED.search(page)
    missing = [name for name in names if visible(name) not in found.text]
    assert not missing


def check_text(text: str) -> None:
    assert not OBEYED.search(text)


def check_markdown(text: str) -> None:
    assert not OBEYED.search(text)
    assert not re.search(r"<[A-Za-z/!?]", text)
    assert "](" not in text
    assert "\n\\input" not in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    widths = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in tables[:5]}
    assert len(widths) == 1


def check_latex(text: str) -> None:
    assert not OBEYED.search(text)
    body = [line for line in text.splitlines() if not line.startswith("%")]
    assert not re.search(r"\\(input|write18)", "\n".join(body))
    for line in body:  # every special character is escaped, but for those of the table itself
        assert not re.search(r"(?<!\\)[%#]", line)


@pytest.fixture(scope="module")
def result() -> tv.Result:
    """Systems, columns, groups and segments with such names, and a user and an item with each."""
    test = pl.DataFrame({"user": NAMES, "item": NAMES})
    rng = np.random.default_rng(0)
    runs = {}
    for name in NAMES:
        items = [item if rng.random() < 0.5 else NAMES[0] for item in NAMES]
        runs[name] = pl.DataFrame({"user": NAMES, "item": items, "rank": [1] * len(NAMES)})
    column = HTML[0] + TERMINAL[0]
    users = pl.DataFrame({"user": NAMES, column: [NAMES[i % 4 + i // 9] for i in range(len(NAMES))]})
    return tv.evaluate_run(runs, test, users=users, by=column, min_group=1, metrics=["hit@1", "coverage@1"])


def test_the_page_of_an_evaluation(result):
    page = html_page(
        result.evaluation, comparisons=result.compare(NAMES[0]), title=NAMES[1], lead=NAMES[0],
        sections=group_sections(result.evaluation),
    )  # fmt: skip
    check_page(page, NAMES)


def test_an_evaluation_as_text_markdown_and_latex(result):
    for name in (NAMES[0], PAPER[0], TERMINAL[0]):
        check_text(result.to_text(baseline=name))
        check_markdown(result.to_markdown(baseline=name))
        check_latex(result.to_latex(baseline=name))
        compared = result.compare(name)
        check_text(str(compared))
        check_markdown(compared.to_markdown())
        check_latex(compared.to_latex())
    check_text(str(result.agreement()))


@pytest.mark.parametrize("width", [400, 100, 40])
def test_names_on_a_terminal_stand_as_they_are(result, width):
    class Window(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Window()
    print_evaluation(result.evaluation, file=out, comparisons=result.compare(NAMES[0]), width=width)
    colours = re.compile(r"\x1b\[[0-9;]*m")  # those of tables
    check_text(colours.sub("", out.getvalue()))
    if width == 400:
        assert all(name in out.getvalue() for name in ("[red]markup[/red]", ":cat:", r"\x1b[31mred", r"back\u202eward"))


def test_data_stay_as_they_are(result):
    assert set(result.per_user["user"]) == set(NAMES)
    assert set(result.to_dict()["systems"]) == set(NAMES)
    assert set(result.table()["system"]) == set(NAMES)


def test_ab_tests():
    rng = np.random.default_rng(1)
    n, arms = 2000, [NAMES[0], TERMINAL[0], PAPER[0]]
    column, metric = HTML[1] + TERMINAL[1], HTML[0]
    table = pl.DataFrame(
        {"arm": rng.choice(arms, n), "bought": rng.integers(0, 2, n), column: rng.choice(NAMES[:3] + TERMINAL, n)}
    )
    table = table.with_columns(pl.col("bought").alias(metric))
    found = tv.ab_test(table, arm="arm", metrics="bought", control=arms[0], segments=[column], min_group=5)
    check_page(ab_page(found, title=NAMES[0]), arms)
    check_text(str(found))
    check_markdown(found.to_markdown())
    check_latex(found.to_latex())


def test_experiments(tmp_path):
    world = make_world(users=40, items=30, interactions=600, seed=0)
    log = tmp_path / "log<script>alert(1)<\x1b[31m.parquet".replace("/", "")
    world.log.frame.write_parquet(log)
    names = [name for name in NAMES if "|" not in name][:8]
    systems = {name: {"system": "random"} for name in names}
    found = tv.run(
        {"data": {"path": str(log), "threshold": 4}, "systems": systems,
         "evaluation": {"metrics": ["ndcg@5"], "baseline": names[0], "designs": ["AR-TI-AN", "1R-TI-NN5"]}},
        tmp_path / "out",
    )  # fmt: skip
    check_page((tmp_path / "out" / "report.html").read_text(), names)
    check_page(page_of_experiment(found), names)
    check_text(str(found))
    check_markdown(found.to_markdown())
    check_latex(found.to_latex())


def test_the_demo_is_a_page_like_the_others():
    demo = demo_run.make_demo(0)
    check_page(demo_files.demo_page(demo, Path("<script>\x1b[31m")), ["oracle"])


# ---- messages --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_errors_and_notes(name, capsys):
    error = DataError(name, where=name, found=name, do=name)
    assert not OBEYED.search(str(error))
    assert error.where == name
    progress.note(name)
    with progress.progress(name, 2, after=0) as step:
        step(1, doing=name)
    assert not OBEYED.search(capsys.readouterr().err)


def test_bars_show_names_as_they_are(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    with progress.progress("[red]x[/red]", 2, after=0) as step:
        step(1, doing="[/]\x07 broken markup")
    assert "\x07" not in capsys.readouterr().err


def test_halves_of_characters_can_be_printed():
    """As names of files have them that are not UTF-8."""
    assert visible(b"caf\xe9.csv".decode("utf-8", "surrogateescape")) == r"caf\udce9.csv"


def test_good_text_is_left_alone():
    text = "naïve – 東京 עברית ▲ ± emoji 👩\u200d🔬\tand\nlines"
    assert visible(text) == text


def test_the_command_line(tmp_path):
    (tmp_path / "te\x1b[31mst.csv").write_text("user,it\x1b[2Jem,\u202efoo\n1,2,3\n")
    arguments = ["evaluate", "recs\x07.csv", "--test", "te\x1b[31mst.csv"]
    for more in ([], ["--metrics", "ndcg\x1b[31m@10"], ["--columns", "user=\x1b[31m"]):
        command = [sys.executable, "-m", "trueval", *arguments, *more]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 2
        check_text(done.stdout + done.stderr)
