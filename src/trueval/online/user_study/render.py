"""A study's analysis as text, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from trueval.online.user_study.forms import KNOWN
from trueval.online.user_study.rows import (
    Cells,
    difference_cells,
    missing_cells,
    preference_cells,
    ranking_cells,
    scale_cells,
    strength_cells,
)
from trueval.online.user_study.sentences import attendance_sentences
from trueval.render.alignment import align_text_left
from trueval.render.latex import latex_table, tex_comment
from trueval.render.markdown import markdown_table, markdown_text
from trueval.render.numbers import level_percent, rounded
from trueval.render.terminal import fill, first_fitting, plain_table, printed
from trueval.render.widths import PIPED_WIDTH

if TYPE_CHECKING:
    from trueval.online.user_study.result import StudyAnalysis

_WORDS = (
    "system",
    "pair",
    "one",
    "other",
    "question",
    "verdict on one",
    "metric",
    "check",
)  # columns aligned to the left
_LESS = ("tied", "ranked by", "answers", "participants")  # columns that a narrow window leaves out


class StudyTable(NamedTuple):
    """A table with its heading."""

    title: str
    cells: Cells


def study_tables_shown(study: StudyAnalysis) -> Iterator[StudyTable]:
    """All tables for people."""
    level, found = study.manifest["level"], study.findings
    if (ranked := found.rankings) is not None and ranked.order == KNOWN:
        yield StudyTable("Rankings", ranking_cells(ranked, level))
        yield StudyTable("Every two systems", preference_cells(ranked.preferences))
    elif ranked is not None and ranked.missing is not None:
        yield StudyTable("Lists that have a place", missing_cells(ranked.missing))
    if (pairs := found.pairs) is not None and pairs.order == KNOWN:
        yield StudyTable("Choices between two lists", strength_cells(pairs, level))
        yield StudyTable("Every two systems", preference_cells(pairs.preferences, answers=True))
    elif pairs is not None and pairs.missing is not None:
        yield StudyTable("Pairs that have an answer", missing_cells(pairs.missing, what="pair"))
    if found.scales is not None:
        if found.scales.values:
            yield StudyTable("Answers on scales", scale_cells(found.scales, level))
            yield StudyTable("Every two systems", difference_cells(found.scales, level))
        for question, one in found.scales.missing.items():
            if found.scales.order[question] != KNOWN:
                yield StudyTable(f"Lists that have an answer to {question}", missing_cells(one))
    if study.checks:
        rows = [[f"{c.kind}: {c.meaning}", f"{len(c.participants):,}", f"{len(c.failed):,}"] for c in study.checks]
        yield StudyTable("Planted checks", (["check", "participants", "failed"], rows))
    if study.against is not None:
        head = ["metric", f"τ [{level_percent(level)}]", "τ observed"]
        rows = [[one.metric, one.text, rounded(one.observed)] for one in study.against.metrics]
        yield StudyTable("Agreement of offline metrics with people", (head, rows))


def as_text(study: StudyAnalysis, *, width: int = PIPED_WIDTH) -> str:
    """What was found in words, the tables, who took part, and what the numbers rest on."""
    parts = [fill(study.manifest["about"], width), ""]
    parts += [fill(line, width) for line in study.verdict.split("\n")]
    for title, cells in study_tables_shown(study):
        parts += ["", title, _fitting(cells, width)]
    parts += ["", *(fill(line, width) for line in (*attendance_sentences(study.attendance), *study.notes))]
    parts += [fill(f"! {warning}", width) for warning in study.warnings]
    return "\n".join(parts) + "\n"


def _fitting(cells: Cells, width: int) -> str:
    """The table, or as much of it as the window has room for."""
    head, rows = cells

    def without(hidden: tuple[str, ...]) -> Cells:
        kept = [at for at, name in enumerate(head) if name not in hidden]
        return [head[at] for at in kept], [[row[at] for at in kept] for row in rows]

    layouts = (without(_LESS[:number]) for number in range(len(_LESS) + 1))
    tables = (plain_table(names, body, align=align_text_left(names, _WORDS)) for names, body in layouts)
    return printed(first_fitting(tables, width)).rstrip("\n")


def as_markdown(study: StudyAnalysis) -> str:
    """The words and the tables in Markdown."""
    lines = [markdown_text(study.manifest["about"]), ""]
    lines += [f"- {markdown_text(line)}" for line in study.verdict.split("\n")]
    for title, (head, rows) in study_tables_shown(study):
        lines += ["", f"**{title}**", "", markdown_table(head, rows, align=align_text_left(head, _WORDS)).rstrip()]
    told = (*attendance_sentences(study.attendance), *study.notes)
    lines += ["", *(f"- {markdown_text(line)}" for line in told)]
    lines += [f"- **Warning:** {markdown_text(warning)}" for warning in study.warnings]
    return "\n".join(lines).rstrip() + "\n"


def as_latex(study: StudyAnalysis) -> str:
    """Booktabs tables, the words as comments."""
    lines = [tex_comment(line) for line in (study.manifest["about"], *study.verdict.split("\n"))]
    for title, (head, rows) in study_tables_shown(study):
        lines += [tex_comment(title), latex_table(head, rows, align=align_text_left(head, _WORDS)).rstrip()]
    told = (*attendance_sentences(study.attendance), *study.notes, *study.warnings)
    return "\n".join([*lines, *(tex_comment(line) for line in told)]) + "\n"
