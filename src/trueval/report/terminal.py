"""An evaluation on a terminal: a table that is read from top to bottom, with what it rests on below."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from rich.table import Table

from trueval.comparison.leaders import leaders
from trueval.comparison.render import describe_method, layouts
from trueval.evaluation.estimate import Estimate
from trueval.evaluation.outcome import Evaluation
from trueval.facts.tie_rules import MEANINGS
from trueval.metrics.wording import legend_of, number
from trueval.render.marks import ARROWS, COLOURS, SIGNS
from trueval.render.numbers import percent
from trueval.render.terminal import console_for, escape, first_fitting, new_table, say
from trueval.report.groups import columns_of, group_footer, group_layouts
from trueval.report.render_formats import notation
from trueval.report.table_cells import cell, columns_with_both_ends, short_cell

if TYPE_CHECKING:
    from trueval.comparison.comparison import Comparison


class _Marks(NamedTuple):
    """How the cells of a table look."""

    verdicts: dict[tuple[str, str], str]  # by system and metric
    leaders: dict[str, set[str]]  # systems by metric
    both_ends: set[str]  # metrics

    @staticmethod
    def of(evaluation: Evaluation, comparisons: Sequence[Comparison]) -> _Marks:
        verdicts = {(c.system, c.metric): c.verdict for c in comparisons}
        return _Marks(verdicts, leaders(evaluation), columns_with_both_ends(evaluation))


def print_evaluation(
    evaluation: Evaluation,
    *,
    file: TextIO,
    comparisons: Sequence[Comparison] = (),
    width: int | None = None,
    brief: bool = False,
    definitions: bool = True,
) -> None:
    """Write the table, the comparisons and the footer; colours only on a terminal.

    `brief` leaves out the table of comparisons, whose verdicts are marked in the main table anyway, and the
    definitions.
    """
    console = console_for(file, width=width)
    marks = _Marks.of(evaluation, comparisons)
    console.print(first_fitting(_layouts(evaluation, marks), console.width))
    if comparisons and not brief:
        console.print(first_fitting(layouts(comparisons, detailed=False), console.width))
    for column in columns_of(evaluation):
        console.print(first_fitting(group_layouts(evaluation, column), console.width))
    console.print()
    lines = footer(evaluation, comparisons, definitions=definitions and not brief, bold=console.is_terminal)
    say(console, [*lines, *group_footer(next(iter(evaluation.systems.values())).groups)], style="dim")
    say(console, (f"! {warning}" for warning in evaluation.warnings), style="yellow")


def table_text(evaluation: Evaluation, comparisons: Sequence[Comparison] = ()) -> str:
    """The same as plain text."""
    out = io.StringIO()
    print_evaluation(evaluation, file=out, comparisons=comparisons)
    return out.getvalue()


def footer(
    evaluation: Evaluation, comparisons: Sequence[Comparison] = (), *, definitions: bool = True, bold: bool = True
) -> list[str]:
    """What the numbers rest on: users, design, ties, interval, and the definition of every metric; what `bold` means
    where text can be bold."""
    m = evaluation.manifest
    system = next(iter(evaluation.systems.values()))
    users = len(set(system.unit_user.tolist()))
    units = "" if users == len(system.unit_user) else f", {len(system.unit_user):,} target sets"
    settings = f"design {m['design']} · population {m['population']} ({users:,} users{units}) · ties {m['ties']}"
    settings += "".join(f" · {signs} {meaning}" for signs, meaning in notation(evaluation).items() if signs != "bold")
    threshold = m.get("threshold")
    settings += f" · relevant: value {'> 0' if threshold is None else f'≥ {number(threshold)}'}"
    if m.get("compat"):
        settings += f" · compatible with {m['compat']}"
    lines = [
        settings,
        *(f"{sign}: {meaning}" for sign, meaning in notation(evaluation).items() if sign == "bold" and bold),
    ]
    lines += [f"ties {m['ties']}: {MEANINGS[m['ties']]}"] if m["ties"] in MEANINGS else []
    lines += _weight_notes(m.get("propensity"))
    tallied = [label for label, spec in evaluation.specs.items() if spec.metric.system]
    if tallied and m["interval"] != "none" and "repeats" not in m:
        lines.append(f"interval of {', '.join(tallied)}: jackknife over groups of users, for this number of users")
    if evaluation.random:
        lines.append("by chance = exact expected value of a random ranking of each user's targets")
    if comparisons:
        signs = f"▲ better, ▼ worse than {comparisons[0].baseline}, ≠ different from it"
        unsure = " or cannot tell" if any(c.verdict == "cannot tell" for c in comparisons) else ""
        lines.append(f"{signs}, no sign or n.s.: no significant difference{unsure}; {describe_method(comparisons)}")
    lines += sorted(filter(None, (_undefined_note(evaluation, label) for label in evaluation.specs)))
    if not definitions:
        return lines
    lines += [f"{label} = {text}" for label, text in m["definitions"].items()]
    return lines + legend_of(m["definitions"].values())


def _undefined_note(evaluation: Evaluation, label: str) -> str:
    """For how many units a metric is undefined, system by system where it depends on the lists."""
    found = {name: system.estimates[label] for name, system in evaluation.systems.items()}
    numbers = {e.undefined for e in found.values()}
    if numbers == {0}:
        return ""
    first = next(iter(found.values()))
    by_system = ", ".join(f"{e.undefined:,} ({name})" for name, e in found.items())
    every = f"{first.n + first.undefined:,}"
    return f"{label}: undefined for {f'{first.undefined:,}' if len(numbers) == 1 else by_system} of {every}"


def _weight_notes(propensity: dict[str, Any] | None) -> list[str]:
    """How far weighted values can be trusted."""
    if propensity is None:
        return []
    forms = {"": propensity, **{f", clipped at {clip}": weights for clip, weights in propensity["clip"].items()}}
    lines = []
    for form, d in forms.items():
        line = f"propensities from {propensity['source']}{form}: "
        line += f"effective sample size (ESS) {d['effective']:,.0f} of {d['n']:,}; weights: mean {d['mean']:.3g}, "
        line += f"largest {d['largest']:.3g}, the largest 1 % hold {percent(d['top_share'], 0)} of the sum"
        line += (
            f"; {percent(d['clipped'])} of the weights clipped, {percent(d['removed'])} of their sum removed"
            if form
            else ""
        )
        lines.append(line)
    return lines


def _layouts(evaluation: Evaluation, marks: _Marks) -> Iterator[Table]:
    yield _systems_down(evaluation, marks)
    yield _systems_across(evaluation, marks)
    yield _systems_across(evaluation, marks, short=True)
    yield _stacked(evaluation, marks)


def _systems_down(evaluation: Evaluation, marks: _Marks) -> Table:
    table = new_table()
    table.add_column("system", no_wrap=True)
    for label in evaluation.specs:
        table.add_column(_head(evaluation, label), justify="right", no_wrap=True)
    for name in evaluation.systems:
        table.add_row(escape(name), *(_value(evaluation, name, label, marks) for label in evaluation.specs))
    if evaluation.random:
        table.add_row("[dim]by chance[/]", *(_by_chance(evaluation, label) for label in evaluation.specs))
    return table


def _systems_across(evaluation: Evaluation, marks: _Marks, *, short: bool = False) -> Table:
    table = new_table(tight=short)
    table.add_column("metric", no_wrap=True)
    for name in evaluation.systems:
        table.add_column(escape(name), justify="right", no_wrap=True)
    if evaluation.random:
        table.add_column("chance" if short else "by chance", justify="right", no_wrap=True)
    for label in evaluation.specs:
        cells = [_value(evaluation, name, label, marks, short=short) for name in evaluation.systems]
        if evaluation.random:
            cells.append(_by_chance(evaluation, label, short=short))
        head = _head(evaluation, label)
        table.add_row(head.replace(" ", "") if short else head, *cells)
    return table


def _stacked(evaluation: Evaluation, marks: _Marks) -> Table:
    """Metric by metric, one system per line: fits wherever the names do."""
    table = new_table()
    table.add_column("metric", no_wrap=True)
    table.add_column("system", overflow="fold")
    table.add_column("value", justify="right", no_wrap=True)
    for label in evaluation.specs:
        head = _head(evaluation, label)
        for name in evaluation.systems:
            table.add_row(head, escape(name), _value(evaluation, name, label, marks))
            head = ""
        if label in evaluation.random:
            table.add_row("", "[dim]by chance[/]", _by_chance(evaluation, label))
        table.add_section()
    return table


def _head(evaluation: Evaluation, label: str) -> str:
    return escape(label) + ARROWS[evaluation.specs[label].better]


def _value(evaluation: Evaluation, name: str, label: str, marks: _Marks, *, short: bool = False) -> str:
    text = (short_cell if short else cell)(evaluation.systems[name].estimates[label], ends=label in marks.both_ends)
    text = escape(text)
    if name in marks.leaders.get(label, ()):
        text = f"[bold green]{text}[/]"
    verdict = marks.verdicts.get((name, label), "")
    sign = SIGNS.get(verdict, "") + ("" if short or verdict not in SIGNS else " ")
    return (f"[{COLOURS[verdict]}]{sign}[/]" if verdict in COLOURS else sign) + text


def _by_chance(evaluation: Evaluation, label: str, *, short: bool = False) -> str:
    value = evaluation.random.get(label)
    text = "" if value is None else (short_cell if short else cell)(Estimate(value, math.nan, math.nan, 0))
    return f"[dim]{text}[/]"
