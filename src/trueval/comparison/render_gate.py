"""The gate as text: a table for the terminal, for a pull request and for a paper, and the verdict as a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from rich.table import Table

from trueval.render.alignment import align_text_left
from trueval.render.latex import latex_table
from trueval.render.markdown import markdown_table, markdown_text
from trueval.render.numbers import level_percent, number, p_value
from trueval.render.terminal import console_for, escape, first_fitting, new_table, say
from trueval.statistics.multiple_comparisons import NAMES

if TYPE_CHECKING:
    from trueval.comparison.gate import Gate, GateRow

_COLOURS = {"pass": "green", "worse": "red", "cannot tell": "yellow"}
_SIGNS = {"pass": "✅", "worse": "❌", "cannot tell": "❔"}
_TEXT_COLUMNS = ("metric", "group", "verdict")
_MOST_NAMED, _MOST_SIZES = 4, 2  # rows that a sentence names, and up to how many of them with numbers


def print_gate(gate: Gate, file: TextIO, *, width: int | None = None) -> None:
    """Write table, sentence and notes; colours only on a terminal."""
    console = console_for(file, width=width)
    console.print(first_fitting(_layouts(gate), console.width))
    console.print()
    say(console, [gate_sentence(gate)], style=_COLOURS[gate.verdict])
    say(console, [describe(gate)], style="dim")
    say(console, (f"! {note}" for note in gate.notes), style="yellow")


def gate_markdown(gate: Gate) -> str:
    """A short table and one sentence, for a pull request."""
    head, rows = _grid(gate, without=("p (worse)",))
    title = f"**trueval gate: {_SIGNS[gate.verdict]} {gate.verdict}**"
    notes = [describe(gate), *(f"Note: {note}" for note in gate.notes)]
    table = markdown_table(head, rows, align=align_text_left(head, _TEXT_COLUMNS), notes=notes)
    return f"{title}\n\n{markdown_text(gate_sentence(gate))}\n\n{table}"


def gate_latex(gate: Gate) -> str:
    """The table, with the sentence below."""
    head, rows = _grid(gate)
    notes = [gate_sentence(gate), describe(gate), *gate.notes]
    return latex_table(head, rows, align=align_text_left(head, _TEXT_COLUMNS), notes=notes)


def _grid(gate: Gate, without: Sequence[str] = ()) -> tuple[list[str], list[list[str]]]:
    """Heads and rows; columns that are empty in every row are omitted."""
    rows = [_cells(row, gate) for row in gate.rows]
    names = [name for name in rows[0] if any(row[name] for row in rows) and name not in without]
    return names, [[row[name] for name in names] for row in rows]


def _cells(row: GateRow, gate: Gate) -> dict[str, str]:
    margin = number(row.margin)
    if row.margin_text.endswith("%"):
        margin += f" ({row.margin_text})"
    return {
        "metric": row.metric,
        "group": f"{row.by} = {row.group}" if row.by else "",
        "old": number(row.old),
        "new": number(row.new),
        "difference": number(row.difference, sign=True),
        _interval_head(gate): _interval(row) or "none",
        "margin": margin,
        "p (worse)": p_value(row.p_corrected),
        "users": f"{row.users:,}",
        "verdict": row.verdict,
    }


def _interval_head(gate: Gate) -> str:
    return f"{level_percent(2 * gate.level - 1)} interval"


def _interval(row: GateRow) -> str:
    return "" if math.isnan(row.low) else f"{number(row.low, sign=True)} … {number(row.high, sign=True)}"


def _layouts(gate: Gate) -> Iterator[Table]:
    """The table, then with fewer and fewer columns."""
    dropped: list[str] = []
    for more in ("", "p (worse)", "users", _interval_head(gate), "old", "margin"):
        dropped.append(more)
        yield _table(gate, *_grid(gate, without=dropped))


def _table(gate: Gate, head: list[str], rows: list[list[str]]) -> Table:
    table = new_table(title=f"{gate.new} (new) against {gate.old} (old)")
    for name, letter in zip(head, align_text_left(head, _TEXT_COLUMNS)):
        fold = name == "group"
        table.add_column(
            name, no_wrap=not fold, justify="left" if letter == "l" else "right",
            overflow="fold" if fold else "ellipsis",
        )  # fmt: skip
    for row, cells in zip(gate.rows, rows):
        *others, verdict = map(escape, cells)
        table.add_row(*others, f"[{_COLOURS[row.verdict]}]{verdict}[/]")
    return table


def describe(gate: Gate) -> str:
    """How the verdict was reached, in a line."""
    confidence = level_percent(gate.level)
    text = f"Paired over users; pass and worse each with {confidence} confidence"
    if len(gate.rows) > 1:
        how = "not corrected" if gate.correct == "none" else f"{NAMES[gate.correct]}'s correction"
        text += f", worse with {how} over {len(gate.rows)} tests" if gate.correct != "none" else f", {how}"
    reasons = list(dict.fromkeys(_reason(row) for row in gate.rows if row.reason))
    return "; ".join([text, *reasons]) + "."


def _reason(row: GateRow) -> str:
    about = row.metric + (f" of {row.by} = {row.group}" if row.by else "")
    return f"{about}: {row.reason}"


def gate_sentence(gate: Gate) -> str:
    """The verdict as a sentence, with the worst group where there are groups."""
    if gate.verdict == "pass":
        text = (
            f"The new system is not worse than the old one by more than the margin on {_named(gate.rows)} "
            f"({level_percent(gate.level)} confidence)."
        )
    elif gate.verdict == "worse":
        rows = [row for row in gate.rows if row.verdict == "worse"]
        text = f"The new system is worse than the old one by more than the margin on {_named(rows, sizes=True)}."
    else:
        rows = [row for row in gate.rows if row.verdict == "cannot tell"]
        text = (
            f"It cannot be told whether the new system is worse than the old one by more than the margin on "
            f"{_named(rows, sizes=True)}. {_how_many(rows)}"
        )
    return text + _worst(gate)


def _named(rows: Sequence[GateRow], *, sizes: bool = False) -> str:
    """Metrics and groups, those that lose most first where not all are named."""
    if len(rows) > _MOST_NAMED:
        rest = f" and {len(rows) - _MOST_NAMED} more"
        rows = sorted(rows, key=lambda row: -row.lost)[:_MOST_NAMED]
    else:
        rest = ""
    parts = []
    for row in rows:
        text = row.metric + (f" of {row.by} = {row.group}" if row.by else "")
        ends = _interval(row)
        size = f" ({number(row.difference, sign=True)}{f' [{ends}]' if ends else ''}, margin {number(row.margin)})"
        parts.append(text + (size if sizes and len(rows) <= _MOST_SIZES else ""))
    return ", ".join(parts) + rest


def _how_many(rows: Sequence[GateRow]) -> str:
    """The number of users that would decide on all of these."""
    if any(math.isnan(row.needed) for row in rows):
        return "More users, or more seeds, might tell."
    most = max(rows, key=lambda row: row.needed / row.users)
    if most.needed <= most.users:
        return "The difference is close to the margin: a little more of it, in either direction, would decide."
    about = "" if len(rows) == 1 else f" on {_named([most])}"
    return (
        f"It takes about {_rounded(most.needed):,} users instead of {most.users:,} to tell{about}: with so many, an "
        "equal system passes and one that loses twice the margin fails, each with a probability of 80 %."
    )


def _rounded(users: float) -> int:
    """Three digits that count, rounded up.

    >>> _rounded(12345.0), _rounded(87.0)
    (12400, 87)
    """
    unit = 10 ** max(0, math.floor(math.log10(users)) - 2)
    return math.ceil(users / unit) * unit


def _worst(gate: Gate) -> str:
    row = gate.worst
    if row is None:
        return ""
    size = f"{number(row.difference, sign=True)}, margin {number(row.margin)}"
    return f" Worst group: {row.by} = {row.group} on {row.metric} ({size}): {row.verdict}."
