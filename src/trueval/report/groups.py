"""Values by group as tables of data and on a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from rich.table import Table

from trueval.evaluation.estimate import Estimate
from trueval.evaluation.fairness import demographic_parity, equal_opportunity, exposes, spread_record
from trueval.evaluation.group_values import GroupValues, Spread
from trueval.evaluation.outcome import Evaluation
from trueval.render.numbers import level_percent
from trueval.render.terminal import escape, new_table
from trueval.report.render_formats import ESTIMATE
from trueval.report.table_cells import cell, needs_both_ends


def group_record(groups: Mapping[str, GroupValues]) -> dict[str, Any]:
    """One system by column: values by group and metric, gaps and ratios by metric, fairness."""
    return {column: _column_record(found) for column, found in groups.items()}


def _column_record(found: GroupValues) -> dict[str, Any]:
    apart = {metric: spread_record(spread) for metric, spread in found.spreads.items()}
    record = {
        "kind": found.groups.kind,
        "about": found.groups.about or None,
        "min_group": found.min_group,
        "values": {
            group: {metric: {name: getattr(e, name) for name in ESTIMATE} for metric, e in estimates.items()}
            for group, estimates in found.estimates.items()
        },
        "gap": {metric: record["gap"] for metric, record in apart.items()},
        "ratio": {metric: record["ratio"] for metric, record in apart.items()},
        "opportunity": {str(k): equal_opportunity(found, k=k).record() for k in found.hit_rates},
    }
    if exposes(found):
        record["parity"] = {
            name: demographic_parity(found, discount=name == "discounted").record() for name in ("plain", "discounted")
        }
    return record


def group_frame(evaluation: Evaluation, column: str) -> pl.DataFrame:
    """One row per system, group and metric."""
    rows = [
        {"system": name, "group": group, "metric": metric}
        | {field: getattr(e, field) for field in ESTIMATE}
        | {"compared": found.users[group] >= found.min_group}
        for name, found in _by_system(evaluation, column).items()
        for group, estimates in found.estimates.items()
        for metric, e in estimates.items()
    ]
    return _known(pl.DataFrame(rows, infer_schema_length=None))


def gap_frame(evaluation: Evaluation, column: str) -> pl.DataFrame:
    """One row per system and metric."""
    rows = [
        {"system": name, "metric": metric, "groups": s.gap.n, "highest": s.highest or None, "lowest": s.lowest or None}
        | {f"{what}{end}": value for what, e in (("gap", s.gap), ("ratio", s.ratio)) for end, value in _ends(e)}
        for name, found in _by_system(evaluation, column).items()
        for metric, s in found.spreads.items()
    ]
    return _known(pl.DataFrame(rows, infer_schema_length=None))


def _by_system(evaluation: Evaluation, column: str) -> dict[str, GroupValues]:
    return {name: system.by(column) for name, system in evaluation.systems.items()}


def _ends(e: Estimate) -> tuple[tuple[str, float], ...]:
    return ("", e.value), ("_low", e.low), ("_high", e.high)


def _known(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None))


def columns_of(evaluation: Evaluation) -> list[str]:
    """The columns that an evaluation is grouped by."""
    return list(next(iter(evaluation.systems.values())).groups)


def group_layouts(evaluation: Evaluation, column: str) -> Iterator[Table]:
    """One table of a column, groups down and metrics across; then the same stacked, for a narrow terminal."""
    heads, rows = group_grid(evaluation, column)
    several = len(evaluation.systems) > 1
    table = new_table(title=f"by {column}")
    for head in heads[0 if several else 1 :]:
        table.add_column(escape(head), no_wrap=True, justify="left" if head in ("system", "group") else "right")
    for place, row in enumerate(rows):
        same = bool(place) and rows[place - 1][0] == row[0]
        if place and not same:
            table.add_section()
        cells = ["" if same else row[0], *row[1:]][0 if several else 1 :]
        table.add_row(*map(escape, cells), style="bold" if row[1] in ("gap", "ratio") and not row[2] else "")
    yield table
    stacked = new_table(title=f"by {column}")
    for head in ("system", "group", "metric", "value"):
        stacked.add_column(head, overflow="fold", justify="right" if head == "value" else "left")
    for name, group, _, *cells in rows:
        for head, text in zip(heads[3:], cells):
            if text:
                stacked.add_row(*map(escape, (name, group, head, text)))
    yield stacked


def group_grid(evaluation: Evaluation, column: str) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table of one column: system, group, n, then metrics."""
    found = _by_system(evaluation, column)
    rows = [[name, *row] for name, values in found.items() for row in group_rows(values)]
    return ["system", "group", "n", *group_heads(found)], rows


def group_heads(found: Mapping[str, GroupValues]) -> list[str]:
    """Heads of the columns that `group_rows` fills, after group and n."""
    first = next(iter(found.values()))
    heads = list(next(iter(first.estimates.values())))
    return (
        [*heads, f"exposure@{first.recommended.depth}", "of items"] if first.recommended and exposes(first) else heads
    )


def group_rows(found: GroupValues) -> list[list[str]]:
    """Rows of text: every group, then gap and ratio."""
    metrics = list(next(iter(found.estimates.values())))
    parity = demographic_parity(found) if exposes(found) else None
    ends = {m for m in metrics if needs_both_ends(estimates[m] for estimates in found.estimates.values())}
    rows = []
    for group, estimates in found.estimates.items():
        mark = "" if found.users[group] >= found.min_group else " *"
        row = [group + mark, f"{max((e.n for e in estimates.values()), default=0):,}"]
        row += [cell(estimates[m], ends=m in ends) for m in metrics]
        if parity is not None:
            own = cell(parity.values[group], ends=needs_both_ends(parity.values.values()))
            row += [own, f"{parity.target[group]:.4f}"]
        rows.append(row)
    for what in ("gap", "ratio"):
        row = [what, ""]
        row += [_apart(found.spreads[m], what) if m in found.spreads else "" for m in metrics]
        rows.append([*row, _apart(parity.spread, what), ""] if parity is not None else row)
    return rows


def _apart(spread: Spread, what: str) -> str:
    e: Estimate = getattr(spread, what)
    if math.isnan(e.value):
        return ""
    return cell(e, ends=True)


def group_footer(groups: Mapping[str, GroupValues]) -> list[str]:
    """What gaps are, and what the groups of each column are."""
    if not groups:
        return []
    first = next(iter(groups.values()))
    text = "gap = highest − lowest group, ratio = lowest / highest"
    if first.intervals.interval != "none":
        level = level_percent(first.intervals.level)
        text += f", with {level} bootstrap intervals that allow for the selection of these two groups"
    if any(exposes(found) for found in groups.values()):
        text += "; exposure is relative to the share of items (minus it for the gap, divided by it for the ratio)"
    if any(number < found.min_group for found in groups.values() for number in found.users.values()):
        text += f"; * fewer than {first.min_group} users, not used for gap and ratio"
    return [text, *(_about(found) for found in groups.values() if found.groups.about or found.groups.kind == "item")]


def _about(found: GroupValues) -> str:
    notes = [found.groups.about] if found.groups.about else []
    if found.groups.kind == "item":
        notes.append("only judgements of the group's items count; undefined for users without a relevant one")
    return f"by {found.groups.name}: " + "; ".join(notes)
