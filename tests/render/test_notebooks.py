"""Text and tables in notebooks, of a real kernel where there is one; the notebooks of `examples/`."""

from __future__ import annotations

import builtins
import importlib.util
import io
import re
import sys
import types
from html.parser import HTMLParser
from pathlib import Path

import pytest

from trueval import progress
from trueval.render.notebook import notebook_html
from trueval.render.shown import Shown
from trueval.render.terminal import console_for, fill, new_table, plain_table, printed, say, text_and_tables

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
AWKWARD = '[red]<script>a</script>\x1b[2J & "b"[/]'


class Page(HTMLParser):
    """The text of a page, and whether every element is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words += data.split()


class Both(Shown):
    """Lines on a console, and tables from both ways of writing them."""

    def __str__(self) -> str:
        out = io.StringIO()
        console = console_for(out)
        console.print(plain_table(["name", "n"], [[AWKWARD, "1"], ["b", "2"]], title="first"))
        say(console, ["a long line " * 30, AWKWARD], style="dim")
        say(console, ["! take care"], style="yellow")
        return out.getvalue() + printed(plain_table(["x"], [["0.5"]])) + "last line\n  set  █ apart\n"


def test_a_page_has_the_words_of_the_text():
    shown, text = Page(Both()._repr_html_()), str(Both())
    assert shown.words == [word for word in text.split() if set(word) != {"─"}]


def test_tables_lines_and_styles_become_elements():
    made = Both()._repr_html_()
    assert made.count("<table>") == 2
    assert "<caption>first</caption>" in made
    assert '<td class="r">1</td>' in made
    assert '<p><span class="yellow">! take care</span></p>' in made
    assert "<pre>  set  █ apart</pre>" in made
    assert made.count("<p>") == 4  # long lines are not broken


def test_names_do_nothing_in_a_page():
    made = Both()._repr_html_()
    assert "<script" not in made
    assert "\x1b" not in made
    assert r"[red]&lt;script&gt;a&lt;/script&gt;\x1b[2J &amp; &quot;b&quot;[/]" in made


def test_styles_stay_in_their_element():
    style = re.search("<style>(.*?)</style>", notebook_html("text"))[1]
    selectors = [one.strip() for rule in style.split("}") if rule for one in rule.split("{")[0].split(",")]
    assert len(selectors) > 10
    assert all(one.split(" ")[0] == ".trueval-shown" for one in selectors)


def test_marks_of_tables_are_cells_with_colours():
    table = new_table()
    table.add_column("v")
    table.add_row("[bold green]1[/] [dim]x[/]")
    table.add_section()
    table.add_row("2", style="bold")
    made = notebook_html(table)
    first = '<td style="text-align:left"><b class="b green">1</b> <span class="dim">x</span></td>'
    assert f'<tr class="cut">{first}</tr>' in made
    assert '<td style="text-align:left"><b class="b">2</b></td>' in made


def test_text_is_as_before_after_taking_it_apart():
    before = str(Both())
    with pytest.raises(ZeroDivisionError):
        text_and_tables(lambda: str(1 / 0))
    Both()._repr_html_()
    assert str(Both()) == before
    assert fill("one two", 4) == "one\n  two"


# ---- a kernel, imitated ------------------------------------------------------------------------------------------


@pytest.fixture
def kernel(monkeypatch):
    """What rich and trueval see of Jupyter: a shell with a kernel; rich would display there."""
    shell = type("ZMQInteractiveShell", (), {"kernel": object()})()
    displayed: list[object] = []
    fake = types.ModuleType("IPython")
    fake.get_ipython = lambda: shell
    fake.display = types.ModuleType("IPython.display")
    fake.display.display = displayed.append
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setitem(sys.modules, "IPython.display", fake.display)
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    return displayed


def test_text_is_returned_in_a_kernel_not_displayed(kernel):
    from rich.console import Console

    assert Console().is_jupyter  # rich takes this for a notebook
    assert "last line" in str(Both())
    assert "name" in str(Both())
    assert printed(plain_table(["a"], [["1"]])) == "a\n─\n1\n"
    assert kernel == []


def test_progress_is_one_line_that_ends_empty(kernel, capsys, monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock) / 10)  # a tenth of a second per look
    with progress.progress("ranking\nall", 40, after=1) as step:
        for _ in range(40):
            step()
    printed_, err = capsys.readouterr()
    assert err == ""  # notebooks show it on red, even when it is blank
    assert "\n" not in printed_
    *states, blank, end = printed_.split("\r")[1:]
    assert blank.strip() == end == ""
    assert 2 <= len(states) <= 40 / 5  # half a second between two
    assert states[0].startswith("ranking all: ")
    assert len(blank) >= max(map(len, states))


def test_progress_is_quiet_where_asked(kernel, capsys):
    with progress.hushed(), progress.progress("ranking", 2, after=0) as step:
        step()
        step()
    assert capsys.readouterr() == ("", "")


def test_short_work_shows_nothing(kernel, capsys):
    with progress.progress("ranking", 2, after=1e9) as step:
        step()
    assert capsys.readouterr() == ("", "")


# ---- a kernel, real ----------------------------------------------------------------------------------------------


def executed(notebook):
    """The notebook with its outputs; every cell must run."""
    client = pytest.importorskip("nbclient", reason="notebooks are run with nbclient: pip install nbclient ipykernel")
    pytest.importorskip("ipykernel", reason="notebooks are run in ipykernel: pip install nbclient ipykernel")
    return client.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()


def said(cell) -> str:
    """All that a cell shows as text."""
    return "".join(one.get("text", "") or one.get("data", {}).get("text/plain", "") for one in cell.outputs)


def test_a_real_kernel_gets_text_from_str_and_tables_from_objects():
    made = pytest.importorskip("nbformat", reason="notebooks are read with nbformat: pip install nbclient ipykernel").v4
    first = (
        "import polars as pl, trueval as tv\n"
        "recs = pl.DataFrame({'user': [1, 1, 2], 'item': ['a', 'b', 'a'], 'rank': [1, 2, 1]})\n"
        "test = pl.DataFrame({'user': [1, 2], 'item': ['b', 'a']})\n"
        "result = tv.evaluate_run(recs, test, metrics=['rr', 'hit@1'], interval='none')\n"
        "text = str(result)"
    )
    cells = [made.new_code_cell(source) for source in (first, "print(text)", "result", "result.show()")]
    ran = executed(made.new_notebook(cells=cells))
    assert ran.cells[0].outputs == []  # nothing is displayed on the side
    assert "0.7500" in said(ran.cells[1])
    assert "<table>" in ran.cells[2].outputs[0]["data"]["text/html"]
    assert "0.7500" in said(ran.cells[3])


def test_there_are_notebooks():
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path):
    spec = importlib.util.spec_from_file_location("strip_notebooks", ROOT / ".ci" / "strip_notebooks.py")
    stripping = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stripping)
    assert path.read_text() == stripping.stripped(path.read_text()), "run python .ci/strip_notebooks.py"


# What the text of a notebook says that its cells show.
SHOWN = {
    "ab_log_to_verdict": ["new is higher than old", "no verdict: sample ratio mismatch"],
    "compare_systems": ["leakage: caution", "leakage: ok", r"\begin{tabular}"],
    "why_metrics_disagree": [
        "the two metrics disagree",
        "by precision@10:      popularity, itemknn",
        "by antiprecision@10:  average, random",
        "with every opinion known, τ = 1.00",
        "plsa, itemknn, popularity, random",
        "the two metrics prefer different systems",
    ],
}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path):
    nbformat = pytest.importorskip(
        "nbformat", reason="notebooks are read with nbformat: pip install nbclient ipykernel"
    )
    ran = executed(nbformat.read(path, as_version=4))
    cells = [cell for cell in ran.cells if cell.cell_type == "code"]
    pages = [one["data"].get("text/html", "") for cell in cells for one in cell.outputs if "data" in one]
    text = "\n".join([*map(said, cells), *pages])
    assert sum("trueval-shown" in page for page in pages) >= 2
    assert [part for part in SHOWN[path.stem] if part not in text] == []
