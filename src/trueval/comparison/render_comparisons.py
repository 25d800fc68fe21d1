"""All comparisons with a baseline as text, Markdown and LaTeX: values with marks, differences, sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from rich.table import Table

from trueval.comparison.render import grid, layouts, legend
from trueval.render.latex import latex_table
from trueval.render.markdown import markdown_table, markdown_text
from trueval.render.marks import COLOURS, SIGNS
from trueval.render.numbers import number
from trueval.render.terminal import console_for, first_fitting, plain_table, say

if TYPE_CHECKING:
    from trueval.comparison.comparison import Comparison
    from trueval.comparison.comparisons import Comparisons, Level

_SENTENCES = 20  # with more comparisons, only those of the first metric get a sentence


def print_comparisons(found: Comparisons, file: TextIO, *, width: int | None = None) -> None:
    """Write tables, sentences and notes; colours only on a terminal."""
    console = console_for(file, width=width)
    console.print(first_fitting(_value_tables(found), console.width))
    console.print(first_fitting(layouts(found.rows), console.width))
    console.print()
    for c in main_sentences(found):
        say(console, [c.sentence], style=COLOURS.get(c.verdict, ""))
    console.print()
    say(console, legend(found.rows), style="dim")
    say(console, (f"! {note}" for note in found.notes), style="yellow")


def main_sentences(found: Comparisons) -> list[Comparison]:
    """The comparisons that are worth a sentence: all, or of many those on the first metric."""
    first = found.rows[0].metric
    return [c for c in found.rows if len(found.rows) <= _SENTENCES or c.metric == first]


def comparisons_markdown(found: Comparisons) -> str:
    """Values with marks, comparisons, and what they mean, in Markdown."""
    head, rows = grid(found.rows)
    notes = [*legend(found.rows), *(f"Note: {note}" for note in found.notes)]
    bullets = "".join(f"\n- {markdown_text(sentence)}" for sentence in found.sentences) + "\n"
    return f"{markdown_table(*value_grid(found))}\n{markdown_table(head, rows, align='ll', notes=notes)}{bullets}"


def comparisons_latex(found: Comparisons) -> str:
    """Values with marks and comparisons as two booktabs tables."""
    head, rows = grid(found.rows)
    unsure = " or cannot tell" if any(c.verdict == "cannot tell" for c in found.rows) else ""
    signs = f"▲ better, ▼ worse than {found.baseline}; no mark: no significant difference{unsure}"
    values = latex_table(*value_grid(found), notes=[signs])
    return f"{values}\n{latex_table(head, rows, align='ll', notes=[*legend(found.rows), *found.notes])}"


def value_grid(found: Comparisons, *, short: bool = False) -> tuple[list[str], list[list[str]]]:
    """A row per system, a column per metric, marks where a difference is significant."""
    systems = list(dict.fromkeys(level.system for level in found.levels))
    metrics = list(dict.fromkeys(level.metric for level in found.levels))
    signs = {(c.system, c.metric): SIGNS.get(c.verdict, "") for c in found.rows}
    cells = {(v.system, v.metric): _cell(v, signs.get((v.system, v.metric), ""), short) for v in found.levels}
    return ["system", *metrics], [[name, *(cells.get((name, m), "") for m in metrics)] for name in systems]


def _value_tables(found: Comparisons) -> Iterator[Table]:
    """Systems down, or across where there are many metrics; shorter cells last."""
    for short in (False, True):
        head, rows = value_grid(found, short=short)
        yield plain_table(head, rows)
        yield plain_table(["metric", *(row[0] for row in rows)], [list(line) for line in zip(head, *rows)][1:])


def _cell(level: Level, sign: str, short: bool) -> str:
    text = number(level.value)
    if not short and not math.isnan(level.low):
        text += f" [{number(level.low)}, {number(level.high)}]"
    if level.repeats > 1 and not math.isnan(level.sd):
        text += f" sd {number(level.sd)}"
    return f"{sign} {text}" if sign and not short else f"{sign}{text}"
