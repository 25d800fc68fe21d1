"""Agreement as tables: τ-b below the diagonal, the top-weighted τ above it."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from rich.table import Table

from trueval.render.latex import latex_table
from trueval.render.markdown import markdown_table
from trueval.render.numbers import UNDEFINED, level_percent, rounded
from trueval.render.terminal import console_for, first_fitting, plain_table, say

if TYPE_CHECKING:
    from trueval.comparison.agreement import Agreement, Matrix

UNCLEAR = 1.5  # of an interval of τ, which can be 2 wide
UNCLEAR_NOTE = (
    f"unclear: the interval is wider than {UNCLEAR:g}; the systems are too close for so few users to tell whether "
    "the rankings agree"
)


def agreement_notes(a: Agreement) -> list[str]:
    """What the numbers mean."""
    lines = [f"Kendall's τ-b below the diagonal, top-weighted τ above it, over {len(a.systems)} systems"]
    if np.isfinite(a.tau.low).any():
        lines.append(estimate_note(a.level, f"{a.users:,} users"))
    wide = [matrix.high - matrix.low > UNCLEAR for matrix in (a.tau, a.top)]
    lines += [UNCLEAR_NOTE] if np.any(wide) else []
    lines.append("1: the same order; 0: none in common; −1: the opposite. Better counts as higher for every metric")
    return lines + a.notes


def estimate_note(level: float, users: str) -> str:
    """What τ is an estimate of."""
    return (
        f"estimates [{level_percent(level)} interval] for the true values of these systems in the population that the "
        f"{users} are a sample of: corrected for the sampling error of the values, including the error that rankings "
        "share because they share users. τ as observed for these users is in table() and --format json"
    )


def tau_text(value: float, low: float, high: float) -> str:
    """An estimate with its interval; no number where the interval leaves nearly everything open."""
    if math.isnan(value):
        return UNDEFINED
    if math.isnan(low):
        return rounded(value)
    return f"{'unclear' if high - low > UNCLEAR else rounded(value)} [{rounded(low)}, {rounded(high)}]"


def grid(a: Agreement, *, intervals: bool = True, numbered: bool = False) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the matrix."""
    names = [f"{place}" for place in range(1, len(a.labels) + 1)] if numbered else a.labels
    rows = []
    for i, label in enumerate(a.labels):
        cells = [_cell(a.top if j > i else a.tau, i, j, intervals) if i != j else "" for j in range(len(a.labels))]
        rows.append([f"{i + 1} {label}" if numbered else label, *cells])
    return ["", *names], rows


def _cell(matrix: Matrix, i: int, j: int, intervals: bool) -> str:
    text = tau_text(matrix.value[i, j], matrix.low[i, j], matrix.high[i, j])
    return text if intervals else text.split(" [")[0]


def print_agreement(a: Agreement, file: TextIO, *, width: int | None = None) -> None:
    """Write the matrix, as wide as the terminal allows, and what it means."""
    console = console_for(file, width=width)
    console.print(first_fitting(_tables(a), console.width))
    console.print()
    say(console, agreement_notes(a), style="dim")


def _tables(a: Agreement) -> Iterator[Table]:
    for intervals, numbered in ((True, False), (True, True), (False, False), (False, True)):
        head, rows = grid(a, intervals=intervals, numbered=numbered)
        yield plain_table(head, rows)
    rows = [
        [one, other, _cell(a.tau, i, j, True), _cell(a.top, i, j, True)]
        for i, one in enumerate(a.labels)
        for j, other in enumerate(a.labels)
        if i < j
    ]
    yield plain_table(["", "", "τ-b", "top-weighted τ"], rows, align="ll")


def agreement_text(a: Agreement) -> str:
    """The matrix as plain text."""
    out = io.StringIO()
    print_agreement(a, out)
    return out.getvalue()


def agreement_markdown(a: Agreement) -> str:
    """The matrix in Markdown."""
    head, rows = grid(a)
    return markdown_table(head, rows, notes=agreement_notes(a))


def agreement_latex(a: Agreement) -> str:
    """The matrix as a booktabs table."""
    head, rows = grid(a)
    return latex_table(head, rows, notes=agreement_notes(a))


def agreement_rows(a: Agreement) -> list[dict[str, Any]]:
    """One record per pair of rankings; undefined numbers are None."""
    found = []
    for i, one in enumerate(a.labels):
        for j, other in enumerate(a.labels):
            if i < j:
                numbers = {
                    f"{kind}{end}": _known(getattr(matrix, part)[i, j])
                    for kind, matrix in (("tau", a.tau), ("top", a.top))
                    for end, part in (("", "value"), ("_low", "low"), ("_high", "high"), ("_observed", "observed"))
                }
                found.append({"one": one, "other": other, **numbers})
    return found


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
