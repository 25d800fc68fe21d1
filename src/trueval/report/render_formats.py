"""An evaluation as JSON, as a table of data, as Markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from trueval.comparison.leaders import leaders
from trueval.comparison.render import grid, legend
from trueval.data.json_values import json_text, without_nan
from trueval.evaluation.interval_method import describe_interval
from trueval.evaluation.outcome import Evaluation
from trueval.render.latex import latex_table, tex_comment
from trueval.render.markdown import markdown_table, markdown_text
from trueval.render.marks import SIGNS
from trueval.render.numbers import decimal
from trueval.report.table_cells import cell, columns_with_both_ends

if TYPE_CHECKING:
    from trueval.comparison.comparison import Comparison

ESTIMATE = ("value", "low", "high", "n", "undefined")


def as_record(evaluation: Evaluation, comparisons: Sequence[Comparison] = ()) -> dict[str, Any]:
    """The contract of `trueval evaluate --format json`; NaN becomes null."""
    from trueval.report.groups import group_record

    systems: dict[str, dict[str, Any]] = {}
    for name, system in evaluation.systems.items():
        found = system.estimates.items()
        systems[name] = {"metrics": {label: {field: getattr(e, field) for field in ESTIMATE} for label, e in found}}
        if notes := {label: e.note for label, e in found if e.note}:
            systems[name]["notes"] = notes
        if system.invalid is not None:
            systems[name]["invalid"] = system.invalid.record()
        if system.groups:
            systems[name]["groups"] = group_record(system.groups)
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
    return json_text(as_record(evaluation, comparisons))


def result_frame(evaluation: Evaluation, comparisons: Sequence[Comparison] = ()) -> pl.DataFrame:
    """One row per system and metric, and per group where there are groups; with the difference from a baseline."""
    from trueval.report.groups import columns_of, group_frame

    rows = [
        {"system": name, "metric": label} | {field: getattr(e, field) for field in ESTIMATE}
        for name, system in evaluation.systems.items()
        for label, e in system.estimates.items()
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None, schema_overrides=dict.fromkeys(ESTIMATE[:3], pl.Float64))
    if comparisons:
        frame = frame.join(_compared_frame(comparisons), on=["system", "metric"], how="left", maintain_order="left")
    columns = columns_of(evaluation)
    if columns:
        parts = [group_frame(evaluation, name).select(pl.lit(name).alias("by"), pl.all()) for name in columns]
        frame = pl.concat([frame, *(part.drop("compared") for part in parts)], how="diagonal_relaxed")
        frame = frame.select("system", "by", "group", pl.exclude("system", "by", "group"))
    return frame.with_columns(pl.selectors.float().fill_nan(None))


def _compared_frame(comparisons: Sequence[Comparison]) -> pl.DataFrame:
    """One row per comparison, with columns that stand beside the values."""
    rows = [
        {"system": c.system, "metric": c.metric, "baseline": c.baseline, "difference": c.difference}
        | {"difference_low": c.low, "difference_high": c.high, "p": c.p, "p_corrected": c.p_corrected}
        | {"verdict": c.verdict}
        for c in comparisons
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def as_markdown(evaluation: Evaluation, comparisons: Sequence[Comparison] = ()) -> str:
    """Systems by metrics; bold is what is not significantly worse than the best, marks are against the baseline.

    Tables of the comparisons and of groups follow, where there are any.
    """
    head, rows, bold = _grid(evaluation, comparisons)
    cells = [[f"**{c}**" if (r, at) in bold else c for at, c in enumerate(row)] for r, row in enumerate(rows)]
    if evaluation.random:
        cells[-1][0] = f"*{cells[-1][0]}*"
    first = markdown_table(head, cells, notes=_notes(evaluation, comparisons))
    others = _further(evaluation, comparisons)
    return "\n".join(
        [
            first,
            *(
                f"{markdown_text(t.title)}\n\n{markdown_table(t.head, t.rows, align='ll', notes=t.notes)}"
                for t in others
            ),
        ]
    )


def as_latex(evaluation: Evaluation, comparisons: Sequence[Comparison] = ()) -> str:
    """The same as booktabs tables; better and worse are marked by a raised + and -."""
    head, rows, bold = _grid(evaluation, comparisons)
    rule = [len(rows) - 1] if evaluation.random else []
    first = latex_table(head, rows, bold=frozenset(bold), rules=rule, notes=_notes(evaluation, comparisons))
    others = _further(evaluation, comparisons)
    return "\n".join(
        [first, *(f"{tex_comment(t.title)}\n{latex_table(t.head, t.rows, align='ll', notes=t.notes)}" for t in others)]
    )


class _Further(NamedTuple):
    """A table that follows that of the values; its first two columns are text."""

    title: str
    head: list[str]
    rows: list[list[str]]
    notes: list[str]


def _further(evaluation: Evaluation, comparisons: Sequence[Comparison]) -> list[_Further]:
    """The comparisons, and the values by group."""
    from trueval.report.groups import columns_of, group_footer, group_grid

    found = []
    if comparisons:
        found.append(_Further(f"compared with {comparisons[0].baseline}", *grid(comparisons), legend(comparisons)))
    groups = next(iter(evaluation.systems.values())).groups
    for name in columns_of(evaluation):
        found.append(_Further(f"by {name}", *group_grid(evaluation, name), group_footer({name: groups[name]})))
    return found


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
        chance = [decimal(evaluation.random[label]) if label in evaluation.random else "" for label in labels]
        rows.append(["random (expected)", *chance])
    return ["system", *labels], rows, bold


def _notes(evaluation: Evaluation, comparisons: Sequence[Comparison]) -> list[str]:
    """What the notation means."""
    notes = [f"{what}: {meaning}" for what, meaning in notation(evaluation).items()]
    if not comparisons:
        return notes
    meaning = {"better": "▲ better", "worse": "▼ worse", "different": "≠ different"}
    used = [text for verdict, text in meaning.items() if any(c.verdict == verdict for c in comparisons)]
    unsure = " or cannot tell" if any(c.verdict == "cannot tell" for c in comparisons) else ""
    than = f"than {comparisons[0].baseline}; no mark: no significant difference{unsure}"
    signs = f"{', '.join(used)} {than}" if used else f"no significant difference{unsure} from {comparisons[0].baseline}"
    return [*notes, signs]


def notation(evaluation: Evaluation) -> dict[str, str]:
    """What ±, brackets and bold stand for in the tables of an evaluation."""
    found = {}
    if evaluation.manifest["interval"] != "none":
        ends = columns_with_both_ends(evaluation)
        signs = "±" if not ends else "[low, high]" if len(ends) == len(evaluation.specs) else "± or [low, high]"
        found[signs] = describe_interval(evaluation.manifest)
    if len(evaluation.systems) > 1:
        found["bold"] = "not significantly worse than the best (paired t-test, Holm's correction, 5 %)"
    return found
