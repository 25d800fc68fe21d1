"""Verdicts on axioms as text."""

from __future__ import annotations

from textwrap import wrap

from trueval.metrics.axioms.check import AxiomReport, AxiomTable, CounterExample, Verdict
from trueval.metrics.axioms.statements import AXIOMS

_SIGN = {True: "●", False: "○", None: " "}


def report_text(report: AxiomReport) -> str:
    """One metric: a line per axiom, and its counter-example where there is one."""
    lines = [f"{report.spec}: the eight axioms in random worlds", ""]
    for verdict in report.verdicts.values():
        lines += [
            f"  {verdict.axiom:<13} {_found(verdict)}{_paper(verdict)}",
            f"  {'':<13} {_statement(verdict.axiom)}",
        ]
        lines += [f"      {line}" for line in _reasons(report, verdict)]
        if verdict.counter_example is not None:
            lines += [f"      {line}" for line in example_lines(verdict.counter_example)]
        lines.append("")
    return "\n".join(lines)


def table_text(table: AxiomTable) -> str:
    """Table 1, ours beside the paper's, and a counter-example for every verdict that differs."""
    width = max(map(len, table.reports)) + 2
    lines = ["Axioms in random worlds, beside Table 1 of Parapar & Radlinski (2021): ours, the paper's", ""]
    lines.append(" " * width + "  ".join(AXIOMS))
    for name, report in table.reports.items():
        cells = [f"{_SIGN[v.holds]} {_SIGN[v.printed]}".center(len(v.axiom)) for v in report.verdicts.values()]
        lines.append(f"{name:<{width}}" + "  ".join(cells).rstrip())
    worlds = max(v.worlds for report in table.reports.values() for v in report.verdicts.values())
    lines += [
        "",
        f"● no counter-example in {worlds} worlds, or printed as satisfied   ○ a counter-example, or printed as not",
    ]
    lines += ["", "The metrics as they were checked:"]
    lines += [f"  {name:<{width}}{report.spec}" for name, report in table.reports.items()]
    every = [(name, report, verdict) for name, report in table.reports.items() for verdict in report.verdicts.values()]
    different = [one for one in every if one[2].printed is not None and one[2].holds != one[2].printed]
    lines += ["", f"Verdicts that differ from the paper's: {len(different)}"]
    for name, report, verdict in different:
        lines += [
            "",
            f"{name}, {verdict.axiom}: {_found(verdict)}{_paper(verdict)}",
            f"  {_statement(verdict.axiom)}",
            *(f"  {line}" for line in _reasons(report, verdict)),
        ]
        if verdict.counter_example is not None:
            lines += [f"    {line}" for line in example_lines(verdict.counter_example)]
    lines += ["", "TopHeavComp also depends on parameters where it holds (one changed at a time):"]
    for name, report, verdict in every:
        if verdict.axiom == "TopHeavComp" and verdict.holds:
            lines += [f"  {name}, {verdict.axiom}: {region}" for region in report.regions(verdict.axiom)]
    return "\n".join(lines) + "\n"


def _reasons(report: AxiomReport, verdict: Verdict) -> list[str]:
    """What a difference is and why, and for which parameters the axiom holds."""
    explanation = verdict.explanation
    lines = []
    if explanation is not None:
        lines = wrap(f"why: {explanation.kind}; {explanation.why}", 110, subsequent_indent="     ")
    return lines + [f"{region}, in these worlds" for region in report.regions(verdict.axiom)]


def example_lines(example: CounterExample) -> list[str]:
    """The scene, the two rankings and their scores."""
    scene = example.scene
    interest = ", ".join(f"{aspect} {scene.weight(aspect):.3f}" for aspect in scene.interest)
    lines = [f"interest {interest}"]
    items = sorted(example.items)
    for item in items[:12]:
        rating = f"rated {scene.ratings[item]:g}" if item in scene.ratings else "unrated"
        lines.append(f"{item} {'+'.join(scene.aspects[item]) or 'no aspect'}, {rating}")
    if len(items) > 12:
        lines.append(f"… and {len(items) - 12} more")
    others = len(set(scene.ratings) - set(items))
    if others:
        lines.append(f"{others} more rated items that are in neither list")
    # as many digits as distinguish the two, if any do
    digits = next((d for d in (6, 9, 12) if f"{example.better:.{d}f}" != f"{example.worse:.{d}f}"), 6)
    lines.append(f"should score higher: {' '.join(example.pair.better)}  {example.better:.{digits}f}")
    lines.append(f"than:                {' '.join(example.pair.worse)}  {example.worse:.{digits}f}")
    if example.tried > 1:
        lines.append(f"none of the {example.tried} values tried satisfies the axiom; this one comes closest")
    return lines


def _found(verdict: Verdict) -> str:
    if verdict.holds:
        return f"holds in all {verdict.worlds} worlds tried" if verdict.worlds else "not defined in any world tried"
    return f"fails in {verdict.failures} of {verdict.worlds} worlds"


def _paper(verdict: Verdict) -> str:
    return "" if verdict.printed is None else f"; the paper: {'satisfied' if verdict.printed else 'not satisfied'}"


def _statement(axiom: str) -> str:
    return (AXIOMS[axiom].__doc__ or "").strip()
