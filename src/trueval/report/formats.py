"""An evaluation as JSON, CSV, Markdown or LaTeX."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from trueval.comparison.leaders import leaders
from trueval.comparison.shown import SIGNS, method
from trueval.comparison.tables import latex, markdown
from trueval.data.records import without_nan
from trueval.evaluation.drawing import told_interval
from trueval.evaluation.outcome import Evaluation
from trueval.report.cells import cell, columns_with_both_ends

if TYPE_CHECKING:
    from trueval.comparison.paired import Comparison


def as_record(evaluation: Evaluation, comparisons: Sequence[Comparison] = ()) -> dict[str, Any]:
    """The contract of `trueval evaluate --format json`; NaN becomes null."""
    from trueval.report.groups import group_record

    systems = {
        name: {
            "metrics": {
                label: {"value": e.value, "low": e.low, "high": e.high, "n": e.n, "undefined": e.undefined}
                | ({"note": e.note} if e.note else {})
                for label, e in system.estimates.items()
            }
        }
        | ({"groups": group_record(system.groups)} if system.groups else {})
        for name, system in evaluation.systems.items()
    }
    record = {
        "systems": systems,
        "comparisons": [c.record() for c in comparisons],
        "random": evaluation.random,
        "manifest": evaluation.manifest,
        "warnings": evaluation.warnings,
    }
    return without_nan(record)


def as_json(evaluation: Evaluation, comparisons: Sequence[Comparison] = ()) -> str:
    """The record as text."""
    return json.dumps(as_record(evaluation, comparisons), ensure_ascii=False, indent=1, default=str)


def summary_frame(evaluation: Evaluation) -> pl.DataFrame:
    """One row per system and metric: value, low, high, n, undefined."""
    rows = [
        {
            "system": name,
            "metric": label,
            "value": e.value,
            "low": e.low,
            "high": e.high,
            "n": e.n,
            "undefined": e.undefined,
        }
        for name, system in evaluation.systems.items()
        for label, e in system.estimates.items()
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.with_columns(pl.col("value", "low", "high").cast(pl.Float64).fill_nan(None))


def as_csv(evaluation: Evaluation) -> str:
    """The summary as CSV."""
    return summary_frame(evaluation).write_csv()


def as_markdown(evaluation: Evaluation, comparisons: Sequence[Comparison] = ()) -> str:
    """Systems by metrics; bold is what no test shows to be worse than the best, marks are against the baseline."""
    head, rows, bold = _grid(evaluation, comparisons)
    cells = [[f"**{c}**" if (r, at) in bold else c for at, c in enumerate(row)] for r, row in enumerate(rows)]
    if evaluation.random:
        cells[-1][0] = f"*{cells[-1][0]}*"
    return markdown(head, cells, notes=_notes(evaluation, comparisons))


def as_latex(evaluation: Evaluation, comparisons: Sequence[Comparison] = ()) -> str:
    """The same as a booktabs table; better and worse are marked by a raised + and -."""
    head, rows, bold = _grid(evaluation, comparisons)
    rule = [len(rows) - 1] if evaluation.random else []
    return latex(head, rows, bold=frozenset(bold), rules=rule, notes=_notes(evaluation, comparisons))


def _grid(
    evaluation: Evaluation, comparisons: Sequence[Comparison]
) -> tuple[list[str], list[list[str]], set[tuple[int, int]]]:
    """Heads, rows, and which cells are bold."""
    labels, best, ends = list(evaluation.specs), leaders(evaluation), columns_with_both_ends(evaluation)
    signs = {(c.system, c.metric): SIGNS.get(c.verdict, "") for c in comparisons}
    rows = []
    for name, system in evaluation.systems.items():
        cells = [(cell(system.estimates[label], ends=label in ends), signs.get((name, label), "")) for label in labels]
        rows.append([name, *(f"{text} {sign}" if sign else text for text, sign in cells)])
    names = list(evaluation.systems)
    bold = {(names.index(name), 1 + c) for c, label in enumerate(labels) for name in best.get(label, ())}
    if evaluation.random:
        chance = [f"{evaluation.random[label]:.4f}" if label in evaluation.random else "" for label in labels]
        rows.append(["random (expected)", *chance])
    return ["system", *labels], rows, bold


def _notes(evaluation: Evaluation, comparisons: Sequence[Comparison]) -> list[str]:
    """What the notation means."""
    notes = [f"{what}: {meaning}" for what, meaning in notation(evaluation).items()]
    if not comparisons:
        return notes
    meaning = {"better": "▲ better", "worse": "▼ worse", "different": "≠ different"}
    used = [words for verdict, words in meaning.items() if any(c.verdict == verdict for c in comparisons)]
    than = f"than {comparisons[0].baseline}; no mark: no significant difference"
    signs = f"{', '.join(used)} {than}" if used else f"no significant difference from {comparisons[0].baseline}"
    return [*notes, signs, method(comparisons)]


def notation(evaluation: Evaluation) -> dict[str, str]:
    """What ±, brackets and bold stand for in the tables of an evaluation."""
    found = {}
    if evaluation.manifest["interval"] != "none":
        ends = columns_with_both_ends(evaluation)
        signs = "±" if not ends else "[low, high]" if len(ends) == len(evaluation.specs) else "± or [low, high]"
        found[signs] = told_interval(evaluation.manifest)
    if len(evaluation.systems) > 1:
        found["bold"] = "not significantly worse than the best (paired t-test, Holm's correction, 5 %)"
    return found
