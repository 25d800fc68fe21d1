"""The analysis of a user study as an HTML page."""

from __future__ import annotations

from dataclasses import replace

from trueval.online.user_study.render import study_tables_shown
from trueval.online.user_study.result import StudyAnalysis
from trueval.online.user_study.sentences import attendance_sentences, failed_checks
from trueval.render.html_elements import Section, details, hint, html_table, page, section, sentences, warned
from trueval.report.html_charts import figures
from trueval.report.html_comparisons import manifest_foot
from trueval.report.origin import UNKNOWN, Origin

_FIGURES = {
    "Rankings": ["strengths", "first_places"],
    "Choices between two lists": ["strengths"],
    "Answers on scales": ["answers"],
}


def study_page(found: StudyAnalysis, *, title: str = "User study", origin: Origin = UNKNOWN) -> str:
    """What people prefer in sentences, drawn and as numbers; then positions, checks, who took part, and metrics.

    >>> import polars as pl, trueval as tv
    >>> answers = pl.DataFrame({"participant": [*"ppqqrr"], "system": ["a", "b"] * 3, "rank": [1, 2, 1, 2, 2, 1]})
    >>> "Every two systems" in study_page(tv.study_analysis(answers))
    True
    """
    sections = []
    for name, (columns, rows) in study_tables_shown(found):
        drawn = figures("study", found, names=_FIGURES[name]) if name in _FIGURES else []
        sections.append(Section(name, figures=drawn, columns=columns, rows=rows))
    if found.position_bias:
        sections.append(Section("Where lists stood", figures=figures("study", found, names=["positions"])))
    body = [
        sentences(found.verdict.split("\n")),
        section(Section("Participants", attendance_sentences(found.attendance)[1:], tiles=_tiles(found))),
        *warned(found.warnings),
        *map(section, sections),
        *_careful(found),
        hint(found.notes),
    ]
    return page(title, body, about=origin.about(found.manifest["about"]), foot=manifest_foot(dict(found.manifest)))


def _tiles(found: StudyAnalysis) -> list[tuple[str, str]]:
    who = found.attendance
    tiles = [(f"{who.answered:,}", "participants answered")]
    if who.started is not None:
        tiles.append((f"{who.started:,}", "started"))
    if who.finished is not None:
        tiles.append((f"{who.finished:,}", "finished"))
    if found.checks:
        tiles.append((f"{len(failed_checks(found.checks)):,}", "failed a planted check"))
    return tiles


def _careful(found: StudyAnalysis) -> list[str]:
    """The tables without participants who failed a check, folded away."""
    if found.careful is None:
        return []
    careful = replace(found, findings=found.careful, careful=None, checks=(), against=None)
    tables = "".join(f"<h3>{name}</h3>{html_table(*cells)}" for name, cells in study_tables_shown(careful))
    return [details("The same without participants who failed a planted check", tables)]
