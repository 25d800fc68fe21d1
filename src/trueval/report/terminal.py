"""An evaluation on a terminal: a table that is read from top to bottom, with what it rests on below."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator, Sequence
from typing import TextIO

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from trueval.comparison.paired import Comparison
from trueval.evaluation.outcome import Evaluation
from trueval.report.formats import _best, cell

ARROWS = {"higher": " ↑", "lower": " ↓", "neither": ""}
_MARKS = {"better": "▲", "worse": "▼", "different": "≠"}
_COLOURS = {"better": "green", "worse": "red"}
_PIPED_WIDTH = 160


def print_evaluation(
    evaluation: Evaluation,
    *,
    file: TextIO,
    comparisons: Sequence[Comparison] = (),
    width: int | None = None,
    brief: bool = False,
) -> None:
    """Write the table, the comparisons and the footer; colours only on a terminal.

    `brief` leaves out the table of comparisons, whose verdicts are marked in the main table anyway, and the
    definitions.
    """
    wide = width or (None if file.isatty() else _PIPED_WIDTH)
    console = Console(file=file, width=wide, highlight=False, soft_wrap=not file.isatty())
    console.print(_fitting(evaluation, comparisons, console))
    if comparisons and not brief:
        console.print(_comparisons(comparisons, wide=console.width >= 100))
    for line in footer(evaluation, comparisons, definitions=not brief):
        console.print(_filled(line, console), style="dim", markup=False)
    for warning in evaluation.warnings:
        console.print(_filled(f"! {warning}", console), style="yellow", markup=False)


def table_text(evaluation: Evaluation, comparisons: Sequence[Comparison] = ()) -> str:
    """The same as plain text."""
    out = io.StringIO()
    print_evaluation(evaluation, file=out, comparisons=comparisons)
    return out.getvalue()


def footer(evaluation: Evaluation, comparisons: Sequence[Comparison] = (), *, definitions: bool = True) -> list[str]:
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
    if evaluation.random:
        lines.append("by chance = exact expected value of a random ranking")
    if comparisons:
        signs = "▲ better, ▼ worse, ≠ different, no sign: no difference shown"
        lines.append(f"{signs}; than {comparisons[0].baseline}, paired t-test over users, Holm's correction, 5 %")
    undefined = {
        f"{label}: undefined for {e.undefined:,} of {e.n + e.undefined:,}"
        for label, e in system.estimates.items()
        if e.undefined
    }
    lines += sorted(undefined)
    return lines + [f"{label} = {text}" for label, text in m["definitions"].items()] if definitions else lines


def _filled(line: str, console: Console) -> str:
    return textwrap.fill(line, console.width - 2, subsequent_indent="  ")


def _fitting(evaluation: Evaluation, comparisons: Sequence[Comparison], console: Console) -> Table:
    """The first layout that fits: systems down, systems across, the same with short numbers, all stacked."""
    verdicts = {(c.system, c.metric): c.verdict for c in comparisons}
    layouts: Iterator[Table] = iter(
        (
            _systems_down(evaluation, verdicts),
            _systems_across(evaluation, verdicts),
            _systems_across(evaluation, verdicts, short=True),
        )
    )
    endless = console.options.update(width=100_000)
    fitting = (table for table in layouts if console.measure(table, options=endless).maximum <= console.width)
    return next(fitting, None) or _stacked(evaluation, verdicts)


def _new_table() -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")


def _systems_down(evaluation: Evaluation, verdicts: dict[tuple[str, str], str]) -> Table:
    table = _new_table()
    table.add_column("system", no_wrap=True)
    for label in evaluation.specs:
        table.add_column(_head(evaluation, label), justify="right", no_wrap=True)
    for name in evaluation.systems:
        table.add_row(escape(name), *(_value(evaluation, name, label, verdicts) for label in evaluation.specs))
    if evaluation.random:
        table.add_row("[dim]by chance[/]", *(_by_chance(evaluation, label) for label in evaluation.specs))
    return table


def _systems_across(evaluation: Evaluation, verdicts: dict[tuple[str, str], str], *, short: bool = False) -> Table:
    table = _new_table()
    table.add_column("metric", no_wrap=True)
    for name in evaluation.systems:
        table.add_column(escape(name), justify="right", no_wrap=True)
    if evaluation.random:
        table.add_column("chance" if short else "by chance", justify="right", no_wrap=True)
    for label in evaluation.specs:
        cells = [_value(evaluation, name, label, verdicts, short=short) for name in evaluation.systems]
        if evaluation.random:
            cells.append(_by_chance(evaluation, label, short=short))
        table.add_row(_head(evaluation, label), *cells)
    return table


def _stacked(evaluation: Evaluation, verdicts: dict[tuple[str, str], str]) -> Table:
    """Metric by metric, one system per line: fits wherever the names do."""
    table = _new_table()
    table.add_column("metric", no_wrap=True)
    table.add_column("system")
    table.add_column("value", justify="right", no_wrap=True)
    for label in evaluation.specs:
        head = _head(evaluation, label)
        for name in evaluation.systems:
            table.add_row(head, escape(name), _value(evaluation, name, label, verdicts))
            head = ""
        if label in evaluation.random:
            table.add_row("", "[dim]by chance[/]", _by_chance(evaluation, label))
        table.add_section()
    return table


def _head(evaluation: Evaluation, label: str) -> str:
    return escape(label) + ARROWS[evaluation.specs[label].better]


def _value(
    evaluation: Evaluation, name: str, label: str, verdicts: dict[tuple[str, str], str], *, short: bool = False
) -> str:
    text = cell(evaluation.systems[name].estimates[label])
    text = _shortened(text) if short else text
    if _best(evaluation).get(label) == name:
        text = f"[bold green]{text}[/]"
    if not verdicts:
        return text
    verdict = verdicts.get((name, label), "")
    sign = _MARKS.get(verdict, " ")
    space = "" if short else " "
    return text + space + (f"[{_COLOURS[verdict]}]{sign}[/]" if verdict in _COLOURS else sign)


def _by_chance(evaluation: Evaluation, label: str, *, short: bool = False) -> str:
    text = f"{evaluation.random[label]:.4f}" if label in evaluation.random else ""
    return f"[dim]{_shortened(text) if short else text}[/]"


def _shortened(text: str) -> str:
    """Without zeros before the point and spaces after the sign.

    >>> _shortened("0.1764 ± 0.0093"), _shortened("10.5 ± 0.2")
    ('.1764 ±.0093', '10.5 ±.2')
    """
    return " ".join(part.removeprefix("0") if "." in part else part for part in text.split()).replace("± ", "±")


def _comparisons(comparisons: Sequence[Comparison], *, wide: bool) -> Table:
    table = _new_table()
    left = ("system", "metric", "verdict")
    columns = ("system", "metric", "difference", "95 % interval", *(("p",) if wide else ()), "p (Holm)", "verdict")
    for column in columns:
        table.add_column(column, no_wrap=True, justify="left" if column in left else "right")
    table.title = f"\ncompared with {escape(comparisons[0].baseline)}"
    table.title_justify, table.title_style = "left", "bold"
    for place, c in enumerate(comparisons):
        if place and c.system != comparisons[place - 1].system:
            table.add_section()
        table.add_row(
            escape(c.system),
            escape(c.metric),
            f"{c.difference:+.4f}",
            f"{c.low:+.4f} … {c.high:+.4f}",
            *((f"{c.p:.2g}",) if wide else ()),
            f"{c.p_corrected:.2g}",
            f"[{_COLOURS[c.verdict]}]{c.verdict}[/]" if c.verdict in _COLOURS else c.verdict,
        )
    return table
