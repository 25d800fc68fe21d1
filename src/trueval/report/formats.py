"""An evaluation as JSON, CSV, Markdown or LaTeX."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from trueval.comparison.shown import SIGNS, method
from trueval.comparison.tables import latex, markdown
from trueval.data.records import without_nan
from trueval.evaluation.outcome import Evaluation

if TYPE_CHECKING:
    from trueval.comparison.paired import Comparison


def as_record(evaluation: Evaluation, comparisons: Sequence[Comparison] = ()) -> dict[str, Any]:
    """The contract of `trueval evaluate --format json`; NaN becomes null."""
    from trueval.report.groups import group_record

    systems = {
        name: {
            "metrics": {
                label: {"value": e.value, "low": e.low, "high": e.high, "n": e.n, "undefined": e.undefined}
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
    """A table of systems by metrics, the best of each column bold, marked where a difference is shown."""
    head, rows, bold = _grid(evaluation, comparisons)
    cells = [[f"**{c}**" if (r, at) in bold else c for at, c in enumerate(row)] for r, row in enumerate(rows)]
    if evaluation.random:
        cells[-1][0] = f"*{cells[-1][0]}*"
    return markdown(head, cells, notes=_notes(comparisons))


def as_latex(evaluation: Evaluation, comparisons: Sequence[Comparison] = ()) -> str:
    """The same as a booktabs table; better and worse are marked by a raised + and -."""
    head, rows, bold = _grid(evaluation, comparisons)
    rule = [len(rows) - 1] if evaluation.random else []
    return latex(head, rows, bold=frozenset(bold), rules=rule, notes=_notes(comparisons))


def _grid(
    evaluation: Evaluation, comparisons: Sequence[Comparison]
) -> tuple[list[str], list[list[str]], set[tuple[int, int]]]:
    """Heads, rows, and which cells are best."""
    labels, best = list(evaluation.specs), _best(evaluation)
    signs = {(c.system, c.metric): SIGNS.get(c.verdict, "") for c in comparisons}
    rows = []
    for name, system in evaluation.systems.items():
        cells = [(cell(system.estimates[label]), signs.get((name, label), "")) for label in labels]
        rows.append([name, *(f"{text} {sign}" if sign else text for text, sign in cells)])
    names = list(evaluation.systems)
    bold = {(names.index(best[label]), 1 + c) for c, label in enumerate(labels) if label in best}
    if evaluation.random:
        chance = [f"{evaluation.random[label]:.4f}" if label in evaluation.random else "" for label in labels]
        rows.append(["random (expected)", *chance])
    return ["system", *labels], rows, bold


def _notes(comparisons: Sequence[Comparison]) -> list[str]:
    """What the marks mean."""
    if not comparisons:
        return []
    meaning = {"better": "▲ better", "worse": "▼ worse", "different": "≠ different"}
    used = [words for verdict, words in meaning.items() if any(c.verdict == verdict for c in comparisons)]
    than = f"than {comparisons[0].baseline}; no mark: no difference shown"
    return [f"{', '.join(used)} {than}" if used else f"no difference from {comparisons[0].baseline} is shown",
            method(comparisons)]  # fmt: skip


def cell(estimate: Any, *, plus_minus: str = "±") -> str:
    """A value with half the width of its interval."""
    if math.isnan(estimate.value):
        return "undefined"
    digits = f"{estimate.value:.4f}" if abs(estimate.value) < 1000 else f"{estimate.value:,.1f}"
    if math.isnan(estimate.low):
        return digits
    return f"{digits} {plus_minus} {(estimate.high - estimate.low) / 2:.4f}"


def _best(evaluation: Evaluation) -> dict[str, str]:
    """The system with the best value of each metric that has a direction."""
    best = {}
    for label, spec in evaluation.specs.items():
        if spec.better == "neither" or len(evaluation.systems) < 2:
            continue
        known = {n: s.estimates[label].value for n, s in evaluation.systems.items()}
        known = {n: v for n, v in known.items() if not math.isnan(v)}
        if known:
            best[label] = (max if spec.better == "higher" else min)(known, key=known.__getitem__)
    return best
