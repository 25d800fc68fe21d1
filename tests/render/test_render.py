"""The toolbox that turns numbers and tables into text."""

from __future__ import annotations

import io
import math

import pytest

from trueval.render.alignment import align_text_left, aligned
from trueval.render.html_elements import Bar, Section, chip, html_table, page, section, terms
from trueval.render.latex import latex_table, tex
from trueval.render.markdown import markdown_table
from trueval.render.numbers import decimal, interval, lopsided, number, p_phrase, p_value, rounded, with_interval
from trueval.render.terminal import console_for, fill, first_fitting, new_table, plain_table, printed, say
from trueval.render.widths import PIPED_WIDTH

AWKWARD = "[red]a|b_1 & <c>[/]"  # a name that is markup in every format


class Window(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("p", "table", "sentence"),
    [(0.04567, "0.046", "p = 0.046"), (0.0001, "0.0001", "p = 0.0001"), (0.00009, "< 0.0001", "p < 0.0001"),
     (1.0, "1", "p = 1"), (0.0, "< 0.0001", "p < 0.0001"), (math.nan, "undefined", "p undefined")],
)  # fmt: skip
def test_p_values(p, table, sentence):
    assert (p_value(p), p_phrase(p)) == (table, sentence)


def test_p_values_of_few_draws_stop_earlier():
    assert p_value(0.0009, least=0.001) == "< 0.001"
    assert p_phrase(0.001, least=0.001) == "p = 0.001"


def test_signs_and_zeros():
    assert [number(x, sign=True) for x in (0.5, -0.5, 0.0, -0.0)] == ["+0.5000", "−0.5000", "0.0000", "0.0000"]
    assert [rounded(x) for x in (-0.004, -0.006, 1.0)] == ["0.00", "−0.01", "1.00"]
    assert decimal(-1234.56) == "-1,234.6"


def test_an_interval_is_shown_only_where_both_ends_are_known():
    for low, high in ((math.nan, 1.0), (0.0, math.inf), (math.nan, math.nan)):
        assert interval(low, high) == ""
        assert with_interval(0.5, low, high, 2) == "0.50"
    assert with_interval(0.5, 0.25, 0.75, 2, sign=True) == "+0.50 [+0.25, +0.75]"
    assert not lopsided(0.5, 0.25, 0.75)
    assert lopsided(0.5, 0.45, 0.75)


def test_columns_are_aligned_by_place_and_by_name():
    assert aligned("lll", ["a", "b"]) == "ll"
    assert align_text_left(["arm", "users", "verdict"], ("arm", "verdict")) == "lrl"


def test_the_width_is_the_windows_or_that_of_pipes(monkeypatch):
    monkeypatch.setenv("COLUMNS", "77")
    assert console_for(Window()).width == 77
    assert console_for(io.StringIO()).width == PIPED_WIDTH
    assert console_for(io.StringIO(), width=50).width == 50


def test_names_and_long_words_are_not_broken():
    assert fill("see 1R-TI-NN50 here", 8).split() == ["see", "1R-TI-NN50", "here"]
    assert fill("one two", 6, begin="• ") == "• one\n  two"


def test_lines_are_said_as_they_stand():
    out = io.StringIO()
    say(console_for(out), [AWKWARD, "second"])
    assert out.getvalue() == f"{AWKWARD}\nsecond\n"


def test_the_first_table_that_fits():
    tables = [plain_table(["x" * n], [["y" * n]]) for n in (30, 20, 10)]
    for width, place in ((40, 0), (30, 0), (29, 1), (19, 2), (5, 2)):
        assert first_fitting(iter(tables), width) is tables[place]


def test_a_table_is_never_cut_in_plain_text():
    wide = [f"column {n}" for n in range(60)]
    text = printed(plain_table(wide, [wide]))
    assert text.count("column 59") == 2
    assert all(line == line.rstrip() for line in text.splitlines())


def test_awkward_names_stand_as_they_are_in_every_format():
    assert printed(plain_table(["a", AWKWARD], [["1", AWKWARD]], title=AWKWARD)).count(AWKWARD) == 3
    table = new_table(title=AWKWARD)
    assert AWKWARD.replace("[", r"\[") in str(table.title)
    assert markdown_table(["a", "b"], [["1", AWKWARD]]).splitlines()[2] == r"| 1 | [red]a\|b_1 &amp; &lt;c&gt;[/] |"
    assert tex(AWKWARD) == r"[red]a\textbar{}b\_1 \& $<$c$>$[/]"
    assert "{}[red]" in latex_table(["a", "b"], [[AWKWARD, "1"]])  # else an option of the line before
    for made in (html_table(["a"], [[AWKWARD]]), section(Section(AWKWARD, [AWKWARD])), page(AWKWARD, []), chip("<c>")):
        assert "<c>" not in made
        assert "&lt;c&gt;" in made
    assert "<c>" not in terms({AWKWARD: AWKWARD})


def test_cells_of_a_page_are_numbers_verdicts_bars_or_words():
    made = html_table(["a"], [["0.5 ± 0.1", "better", Bar(0.25, "a quarter", strong=True), "words"]])
    assert '<td class="num">0.5 ± 0.1</td>' in made
    assert '<td><span class="chip good">better</span></td>' in made
    assert '<td class="plotted best"><span class="num">a quarter</span><svg' in made
    assert "<td>words</td>" in made


def test_a_page_needs_nothing_else():
    made = page("Title", ["<p>body</p>"], lead="What it is about", foot="<p>below</p>")
    assert made.startswith("<!DOCTYPE html>")
    assert "http" not in made.replace("http-equiv", "")
    assert "src=" not in made
    assert made.index("What it is about") < made.index("<p>body") < made.index("<p>below")
