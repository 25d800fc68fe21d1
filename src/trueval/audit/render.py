"""An audit as text: what is wrong first, effects before figures, remedies last."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from trueval.audit.finding import VERDICTS, Finding
from trueval.audit.sentences import counted, listed
from trueval.render.latex import latex_table
from trueval.render.markdown import markdown_table
from trueval.render.numbers import number, p_phrase
from trueval.render.terminal import console_for, fill, plain_table

if TYPE_CHECKING:
    from trueval.audit.audit import Audit

SPOKEN = ("wrong", "caution")  # verdicts that are written out, unless all are to be explained
_STYLES = {"wrong": "bold red", "caution": "bold yellow", "cannot tell": "bold", "fine": "bold green"}


def print_audit(audit: Audit, file: TextIO, *, width: int | None = None, explain: bool = False) -> None:
    """Write the audit, what may be claimed first; colours only on a terminal.

    Checks that found nothing, or that lack something, are a line together, unless all are to be explained.
    """
    console = console_for(file, width=width)

    def say(line: str, begin: str = "", style: str = "") -> None:
        console.print(fill(line, console.width - 2, begin=begin), style=style, markup=False)

    answers = audit.claims.sentences()
    for number_, line in enumerate(answers):
        say(line, style="" if number_ else "bold")
    if answers:
        console.print()
    say(headline(audit), style="bold")
    for line in describe(audit):
        say(line)
    for verdict in VERDICTS if explain else SPOKEN:
        findings = (*audit.findings, *audit.views) if explain else audit.findings
        with_verdict = [one for one in findings if one.verdict == verdict]
        if not with_verdict:
            continue
        console.print()
        say(verdict.upper(), style=_STYLES[verdict])
        for name, sentence, remedy in entries(with_verdict):
            say(f"{name}: {sentence}", begin="  ")
            if remedy:
                say(f"→ {remedy}", begin="    ")
    if not explain and (lines := folded(audit)):
        console.print()
        for line in lines:
            say(line)
    if explain and audit.claims:
        console.print()
        say("WHAT EACH READING SAYS", style="bold")
        console.print(plain_table(*audit.claims.grid(), align="lll"))
        for reading, assumption in audit.claims.assumptions.items():
            say(f"{reading}: {assumption}", begin="  ")
    if audit.accepted:
        console.print()
        say("ACCEPTED", style="bold")
        for one in audit.accepted:
            say(f"{one.finding.check} ({one.finding.verdict}): {one.finding.sentence}", begin="  ")
            say(f"accepted: {one.reason}", begin="    ")
    if "simulated_designs" in audit.measured:
        record = audit.measured["simulated_designs"]
        console.print()
        say("IN A WORLD LIKE YOURS", style="bold")
        for line in record.sentences():
            say(line, begin="  ")
        console.print(plain_table(*record.grid(), align="ll"))
        console.print(str(record.fit), markup=False)


def folded(audit: Audit) -> list[str]:
    """The checks that are not written out, in a line for those of each kind: what lacks something, what cannot be told
    from the data, and what found nothing."""
    untold = [one for one in audit.findings if one.verdict == "cannot tell"]
    lacking: dict[str, list[str]] = {}
    for one in untold:
        if "needs" in one.figures:
            lacking.setdefault(one.remedy, []).append(one.check)
    lines = []
    if lacking:
        adds = [f"{remedy} ({counted(len(checks), 'check')})" for remedy, checks in lacking.items()]
        lines.append(f"Not checked; add {'; '.join(adds)}.")
    unclear = dict.fromkeys(one.check for one in untold if "needs" not in one.figures)
    if unclear:
        lines.append(f"These data cannot tell: {', '.join(unclear)}.")
    fine = dict.fromkeys(one.check for one in audit.findings if one.verdict == "fine")
    if fine:
        lines.append(f"Nothing found: {', '.join(fine)}.")
    if audit.view_names:
        lines.append(f"Other ways to look at it, which are no verdict: {', '.join(audit.view_names)}.")
    if lines:
        lines.append("--explain (explain=True in Python) writes all of them out, and what each reading says.")
    return lines


def audit_text(audit: Audit) -> str:
    """The audit as plain text."""
    out = io.StringIO()
    print_audit(audit, out)
    return out.getvalue()


def headline(audit: Audit) -> str:
    """How many findings of each verdict."""
    many = {verdict: sum(one.verdict == verdict for one in audit.findings) for verdict in VERDICTS}
    parts = [f"{many['wrong']} wrong", counted(many["caution"], "caution")]
    parts += [f"{many[verdict]} {verdict}" for verdict in ("cannot tell", "fine")]
    parts += [f"{len(audit.accepted)} accepted"] * bool(audit.accepted)
    return f"audit: {', '.join(parts)}"


def describe(audit: Audit) -> Iterator[str]:
    """What was audited, and by which rules."""
    made = audit.manifest
    if made.get("systems"):
        yield f"{counted(len(made['systems']), 'system')} ({listed(made['systems'])}), design {made['design']}"
        changes = [f"{number(size)} on {label}" for label, size in made["relevant_change"].items() if size > 0]
        if changes:  # where nothing varies there is none
            yield f"smallest relevant change: {', '.join(changes)} ({made['relevant_change_from']})"
    if made.get("repeats"):
        yield (
            f"{counted(len(made['repeats']), 'repeat')} ({listed(made['repeats'])}): facts are counted in all of them; "
            "estimates must hold in most, by twice the median of their p-values"
        )
    tests = made.get("tests", 0)
    if tests:
        yield (
            "cautions from estimates hold at 5 % for the whole audit: Holm's correction over "
            f"{counted(tests, 'test')}, paired over users"
        )
    yield f"data {made['fingerprint']}"


def entries(found: Sequence[Finding]) -> Iterator[tuple[str, str, str]]:
    """Name, sentence and remedy; checks that lack the same thing are told together."""
    lacking: dict[str, list[Finding]] = {}
    for one in found:
        if "needs" in one.figures:
            lacking.setdefault(str(one.figures["needs"]), []).append(one)
    for one in found:
        if "needs" not in one.figures:
            sure = f" ({p_phrase(one.p)} after correction)" if one.verdict == "caution" and one.p == one.p else ""
            yield one.check, one.sentence + sure, one.remedy
    for several in lacking.values():
        if len(several) == 1:
            yield several[0].check, several[0].sentence, several[0].remedy
        else:
            without = several[0].sentence.rsplit(" without ", 1)[1]
            yield ", ".join(one.check for one in several), f"cannot be told without {without}", several[0].remedy


def _grid(audit: Audit) -> tuple[list[str], list[list[str]]]:
    findings = (*audit.findings, *audit.views)
    rows = [[one.verdict, one.check, one.sentence, one.remedy] for one in findings]
    rows += [["accepted", a.finding.check, f"{a.finding.sentence} Accepted: {a.reason}", ""] for a in audit.accepted]
    return ["verdict", "check", "effect", "remedy"], rows


def audit_markdown(audit: Audit) -> str:
    """A row per finding, in Markdown."""
    return markdown_table(*_grid(audit), align="llll", notes=[headline(audit), *describe(audit)])


def audit_latex(audit: Audit) -> str:
    """A row per finding, as a LaTeX table."""
    return latex_table(*_grid(audit), align="llll", notes=[headline(audit), *describe(audit)])
