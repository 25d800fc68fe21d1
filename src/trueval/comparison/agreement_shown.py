"""Agreement as tables: τ-b below the diagonal, the top-weighted τ above it."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from trueval.comparison.shown import first_fitting
from trueval.comparison.tables import latex, markdown

if TYPE_CHECKING:
    from trueval.comparison.agreement import Agreement, Matrix

_PIPED_WIDTH = 160


def told(a: Agreement) -> list[str]:
    """What the numbers mean."""
    lines = [f"Kendall's τ-b below the diagonal, top-weighted τ above it, over {len(a.systems)} systems"]
    drawn = np.isfinite(a.tau.low).any()
    if drawn:
        lines.append(f"[{100 * a.level:g} % bootstrap interval over {a.users:,} users]; the systems are taken as given")
    lines.append("1: the same order; 0: none in common; −1: the opposite. Better counts as higher for every metric")
    return lines + a.notes


def grid(a: Agreement, *, intervals: bool = True, numbered: bool = False) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the matrix."""
    names = [f"{place}" for place in range(1, len(a.labels) + 1)] if numbered else a.labels
    rows = []
    for i, label in enumerate(a.labels):
        cells = [_cell(a.top if j > i else a.tau, i, j, intervals) if i != j else "" for j in range(len(a.labels))]
        rows.append([f"{i + 1} {label}" if numbered else label, *cells])
    return ["", *names], rows


def _cell(matrix: Matrix, i: int, j: int, intervals: bool) -> str:
    if math.isnan(matrix.value[i, j]):
        return "undefined"
    text = _number(matrix.value[i, j])
    if not intervals or math.isnan(matrix.low[i, j]):
        return text
    return f"{text} [{_number(matrix.low[i, j])}, {_number(matrix.high[i, j])}]"


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def print_agreement(a: Agreement, file: TextIO, *, width: int | None = None) -> None:
    """Write the matrix, as wide as the terminal allows, and what it means."""
    wide = width or (None if file.isatty() else _PIPED_WIDTH)
    console = Console(file=file, width=wide, highlight=False, soft_wrap=not file.isatty())
    console.print(first_fitting(_tables(a), console))
    console.print()
    for line in told(a):
        console.print(textwrap.fill(line, console.width - 2, subsequent_indent="  "), style="dim", markup=False)


def _tables(a: Agreement) -> Iterator[Table]:
    for intervals, numbered in ((True, False), (True, True), (False, False), (False, True)):
        head, rows = grid(a, intervals=intervals, numbered=numbered)
        yield _table(head, rows)
    rows = [
        [one, other, _cell(a.tau, i, j, True), _cell(a.top, i, j, True)]
        for i, one in enumerate(a.labels)
        for j, other in enumerate(a.labels)
        if i < j
    ]
    yield _table(["", "", "τ-b", "top-weighted τ"], rows, words=2)


def _table(head: list[str], rows: list[list[str]], *, words: int = 1) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for place, name in enumerate(head):
        table.add_column(escape(name), no_wrap=True, justify="left" if place < words else "right")
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def agreement_text(a: Agreement) -> str:
    """The matrix as plain text."""
    out = io.StringIO()
    print_agreement(a, out)
    return out.getvalue()


def agreement_markdown(a: Agreement) -> str:
    """The matrix in Markdown."""
    head, rows = grid(a)
    return markdown(head, rows, notes=told(a))


def agreement_latex(a: Agreement) -> str:
    """The matrix as a booktabs table."""
    head, rows = grid(a)
    return latex(head, rows, notes=told(a))


def agreement_rows(a: Agreement) -> list[dict[str, Any]]:
    """One record per pair of rankings; undefined numbers are None."""
    found = []
    for i, one in enumerate(a.labels):
        for j, other in enumerate(a.labels):
            if i < j:
                numbers = {
                    f"{kind}{end}": _known(getattr(matrix, part)[i, j])
                    for kind, matrix in (("tau", a.tau), ("top", a.top))
                    for end, part in (("", "value"), ("_low", "low"), ("_high", "high"))
                }
                found.append({"one": one, "other": other, **numbers})
    return found


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
