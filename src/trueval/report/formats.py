"""An evaluation as JSON, CSV, Markdown or LaTeX."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from trueval.comparison.paired import Comparison
from trueval.evaluation.outcome import Evaluation


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
    return _without_nan(record)


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


def as_markdown(evaluation: Evaluation) -> str:
    """A table of systems by metrics, the best of each column bold."""
    labels = list(evaluation.specs)
    lines = ["| system | " + " | ".join(labels) + " |", "|---|" + "---:|" * len(labels)]
    best = _best(evaluation)
    for name, system in evaluation.systems.items():
        cells = [cell(system.estimates[label]) for label in labels]
        cells = [f"**{c}**" if best.get(label) == name else c for c, label in zip(cells, labels)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    if evaluation.random:
        cells = [f"{evaluation.random[label]:.4f}" if label in evaluation.random else "" for label in labels]
        lines.append("| *random (expected)* | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def as_latex(evaluation: Evaluation) -> str:
    """The same as a booktabs table."""
    labels = list(evaluation.specs)
    best = _best(evaluation)
    lines = [r"\begin{tabular}{l" + "r" * len(labels) + "}", r"\toprule"]
    lines += ["system & " + " & ".join(map(_tex, labels)) + r" \\", r"\midrule"]
    for name, system in evaluation.systems.items():
        cells = [cell(system.estimates[label], plus_minus=r"$\pm$") for label in labels]
        cells = [rf"\textbf{{{c}}}" if best.get(label) == name else c for c, label in zip(cells, labels)]
        lines.append(f"{_tex(name)} & " + " & ".join(cells) + r" \\")
    if evaluation.random:
        cells = [f"{evaluation.random[label]:.4f}" if label in evaluation.random else "" for label in labels]
        lines += [r"\midrule", r"\emph{random (expected)} & " + " & ".join(cells) + r" \\"]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


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


def _tex(text: str) -> str:
    for character in r"\&%$#_{}":
        text = text.replace(character, rf"\{character}")
    return text


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(inner) for inner in value]
    return value
