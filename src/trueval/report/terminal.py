"""An evaluation on a terminal: a table that is read from top to bottom, with what it rests on below."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from typing import TextIO

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from trueval.comparison.paired import Comparison
from trueval.evaluation.outcome import Evaluation
from trueval.report.formats import _best, cell


def print_evaluation(
    evaluation: Evaluation, *, file: TextIO, comparisons: Sequence[Comparison] = (), width: int | None = None
) -> None:
    """Write the table, the comparisons and the footer; colours only on a terminal."""
    wide = width or (None if file.isatty() else 160)
    console = Console(file=file, width=wide, highlight=False, soft_wrap=not file.isatty())
    console.print(_table(evaluation, console.width))
    if comparisons:
        console.print(_comparisons(comparisons))
    for line in footer(evaluation):
        console.print(textwrap.fill(line, console.width - 2, subsequent_indent="  "), style="dim", markup=False)
    for warning in evaluation.warnings:
        console.print(
            textwrap.fill(f"! {warning}", console.width - 2, subsequent_indent="  "), style="yellow", markup=False
        )


def table_text(evaluation: Evaluation, comparisons: Sequence[Comparison] = ()) -> str:
    """The same as plain text."""
    out = io.StringIO()
    print_evaluation(evaluation, file=out, comparisons=comparisons)
    return out.getvalue()


def footer(evaluation: Evaluation) -> list[str]:
    """What the numbers rest on: users, design, ties, interval, and the definition of every metric."""
    m = evaluation.manifest
    system = next(iter(evaluation.systems.values()))
    users = len(set(system.unit_user.tolist()))
    units = "" if users == len(system.unit_user) else f", {len(system.unit_user):,} target sets"
    interval = {"bootstrap": "95 % bootstrap over users", "t": "95 % Student t", "none": "none"}[m["interval"]]
    rules = f"design {m['design']} · population {m['population']} ({users:,} users{units}) · ties {m['ties']}"
    rules += f" · ± {interval}" if m["interval"] != "none" else ""
    if m.get("threshold") is not None:
        rules += f" · relevant from {m['threshold']:g}"
    if m.get("compat"):
        rules += f" · rules of {m['compat']}"
    lines = [rules]
    undefined = {
        f"{label}: undefined for {e.undefined:,} of {e.n + e.undefined:,}"
        for label, e in system.estimates.items()
        if e.undefined
    }
    return lines + sorted(undefined) + [f"{label} = {text}" for label, text in m["definitions"].items()]


def _table(evaluation: Evaluation, width: int) -> Table:
    """Systems down, metrics across; turned round where that would not fit."""
    best = _best(evaluation)
    arrows = {"higher": " ↑", "lower": " ↓", "neither": ""}
    heads = {label: escape(label) + arrows[spec.better] for label, spec in evaluation.specs.items()}
    rows: dict[str, dict[str, str]] = {}
    for name, system in evaluation.systems.items():
        cells = {label: cell(system.estimates[label]) for label in heads}
        rows[escape(name)] = {n: f"[bold green]{c}[/]" if best.get(n) == name else c for n, c in cells.items()}
    if evaluation.random:
        chance = {label: f"{evaluation.random[label]:.4f}" if label in evaluation.random else "" for label in heads}
        rows["random (expected)"] = {label: f"[dim]{text}[/]" for label, text in chance.items()}
    needed = max(map(len, rows)) + sum(max(len(heads[label]), 15) + 2 for label in heads) + 2
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    if needed <= width:
        table.add_column("system", no_wrap=True)
        for head in heads.values():
            table.add_column(head, justify="right", no_wrap=True)
        for name, row in rows.items():
            table.add_row(name, *row.values())
    else:
        table.add_column("metric", no_wrap=True)
        for name in rows:
            table.add_column(name, justify="right", no_wrap=True)
        for label, head in heads.items():
            table.add_row(head, *(row[label] for row in rows.values()))
    return table


def _comparisons(comparisons: Sequence[Comparison]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", title_justify="left")
    for column in ("comparison", "metric", "difference", "95 % interval", "p", "p (Holm)", "verdict"):
        table.add_column(
            column, no_wrap=True, justify="left" if column in ("comparison", "metric", "verdict") else "right"
        )
    colour = {"better": "green", "worse": "red"}
    for c in comparisons:
        table.add_row(
            f"{c.system} − {c.baseline}",
            escape(c.metric),
            f"{c.difference:+.4f}",
            f"{c.low:+.4f} … {c.high:+.4f}",
            f"{c.p:.2g}",
            f"{c.p_corrected:.2g}",
            f"[{colour[c.verdict]}]{c.verdict}[/]" if c.verdict in colour else c.verdict,
        )
    return table
