"""An audit as sections of an HTML page, and as a page of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from trueval.audit.audit import SIMULATED, Audit
from trueval.audit.finding import VERDICTS
from trueval.audit.render import SPOKEN, describe, entries, headline
from trueval.audit.robustness import Robustness
from trueval.charts.offered import OFFERS
from trueval.errors import TruevalError
from trueval.render.html_elements import Section, chip, details, escape, framed, hint, html_table, page, prose, section
from trueval.render.numbers import rounded
from trueval.report.html_charts import figures
from trueval.report.html_comparisons import manifest_foot
from trueval.report.origin import UNKNOWN, Origin
from trueval.simulation.fit_table import fit_number

TITLE = "What may be claimed, and can the numbers be trusted?"
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
READ = (
    "Differences are better minus worse system, with 95 % intervals: in units of the metric as rated and by an "
    "unbiased test, of shares of liked items among judged ones under the other readings."
)


def audit_section(found: Audit) -> str:
    """The audit as a part of a page: what may be claimed, what is wrong, and everything else folded.

    >>> import polars as pl, trueval as tv
    >>> log = pl.DataFrame({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "b"]})
    >>> "leaked pairs" in audit_section(tv.audit(train=log, test=log.head(1)))
    True
    """
    return "\n".join([section(Section(TITLE)), _answers(found, first=True), *_findings(found), hint([headline(found)])])


def audited(make: Callable[[], Audit]) -> str:
    """The section of an audit, or why there is none: a report is not lost with its audit."""
    try:
        return audit_section(make())
    except TruevalError as error:
        return section(Section(TITLE, [f"No audit was made: {error.what}."]))


def audit_page(found: Audit, *, title: str = TITLE, origin: Origin = UNKNOWN) -> str:
    """A page that needs nothing else: the findings, pictures of what they rest on, and what was audited.

    >>> import polars as pl, trueval as tv
    >>> log = pl.DataFrame({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "b"]})
    >>> "<h1>What may be claimed, and" in audit_page(tv.audit(train=log, test=log.head(1)))
    True
    """
    lead = (*found.claims.sentences(), headline(found))[0]
    body = [_answers(found, first=False), *_findings(found)]
    drawn = [
        figure
        for kind, record in found.measured.items()
        if kind in OFFERS and kind != SIMULATED
        for figure in figures(kind, record)
    ]
    more = [section(Section("Figures", figures=drawn))] if drawn else []
    more += [section(one) for one in _popularity(found)]
    if found.robustness is not None:
        more += [section(one) for one in _robustness(found.robustness)]
    if more:
        body.append(details("What the checks rest on: figures, designs, orders by setting", "\n".join(more)))
    body += [section(one) for one in _simulated(found)]
    body.append(hint([headline(found), *describe(found)]))
    return page(title, body, lead=lead, about=origin.about(), foot=manifest_foot(found.manifest))


def _answers(found: Audit, *, first: bool) -> str:
    """What may be claimed, its first sentence where it is not the lead of the page, and folded below it what each
    reading says of each pair."""
    parts = [f"<p>{prose(line)}</p>" for line in found.claims.sentences()[0 if first else 1 :]]
    if found.claims:
        columns, rows = found.claims.grid()
        assumed = hint([f"{name}: {assumption}" for name, assumption in found.claims.assumptions.items()] + [READ])
        parts.append(details("What each reading says of each pair", html_table(columns, rows) + assumed))
    return "\n".join(parts)


def _findings(found: Audit) -> list[str]:
    """What is wrong, the most severe first, then accepted findings with the reason; all other checks folded."""
    spoken = [_row(*one) for one in _entries(found, SPOKEN)]
    spoken += [
        _row("accepted", one.finding.check, one.finding.sentence, f"accepted: {one.reason}") for one in found.accepted
    ]
    rest = [_row(*one) for one in _entries(found, [verdict for verdict in VERDICTS if verdict not in SPOKEN])]
    columns = ["verdict", "check", "effect", "what to do"]
    parts = [framed(columns, spoken)] if spoken else []
    if rest:
        unclear = sum(one.verdict == "cannot tell" for one in found.findings)
        fine = sum(one.verdict == "fine" for one in found.findings)
        title = f"Checks that found nothing ({fine}), or that these data do not allow ({unclear})"
        parts.append(details(title, framed(columns, rest)))
    return parts


def _entries(found: Audit, verdicts: Iterable[str]) -> Iterator[tuple[str, str, str, str]]:
    """Verdict, name, sentence and remedy of the findings with these verdicts."""
    findings = (*found.findings, *found.views)
    for verdict in verdicts:
        for name, sentence, remedy in entries([one for one in findings if one.verdict == verdict]):
            yield verdict, name, sentence, remedy


def _row(verdict: str, name: str, sentence: str, remedy: str) -> str:
    name = escape(name.replace("_", " ").replace(",", ", "))
    whole = _OPTION.sub(r'<span class="option">\g<0></span>', prose(remedy))  # a line must not end behind its dashes
    return f"<tr><td>{chip(verdict)}</td><td>{name}</td><td>{prose(sentence)}</td><td>{whole}</td></tr>"


def _popularity(found: Audit) -> Iterator[Section]:
    """What popularity earns under each design."""
    if "popularity_designs" not in found.measured:
        return
    earned = found.measured["popularity_designs"]
    for metric in earned.metrics:
        columns, rows = earned.grid(metric)
        text = [
            f"{metric} by chance and by popularity under designs that favour popular items less and less, and how much "
            "of each system's lead over chance popularity has. The last columns count the significant differences "
            "between systems, as evaluated, that are significant again, and those that are significantly reversed.",
            *(f"Not measured: {line}." for line in earned.missing),
        ]
        yield Section(f"What popularity explains of {metric}", text, columns=columns, rows=rows)


def _simulated(found: Audit) -> Iterator[Section]:
    """Designs and metrics in a world like the reader's, and how well it fits."""
    if SIMULATED not in found.measured:
        return
    record = found.measured[SIMULATED]
    columns, rows = record.grid(most=len(record.settings))
    drawn = figures(SIMULATED, record)
    yield Section("In a world like yours", record.sentences(), figures=drawn, columns=columns, rows=rows)
    fit = record.fit.table()
    shown = [[name, *(fit_number(value) for value in values)] for name, *values in fit.rows()]
    yield Section("How well that world fits", columns=["property", "data", "world", "difference"], rows=shown)


def _robustness(found: Robustness) -> Iterator[Section]:
    """In how many settings one system is above another, and what each setting makes of their order."""
    rows = [
        [f"{row[0]} above {row[1]}", f"{row[2]} of {row[3]}", str(row[4]), str(row[5])] for row in found.table().rows()
    ]
    text = "Settings are designs times metrics. Significant: p < 0.05 in that setting, without a correction."
    columns = ["systems", "settings", "significantly above", "significantly below"]
    yield Section("Who is above whom, in how many settings", [text], columns=columns, rows=rows)
    if not found.settings:
        return
    cells = [[one, other, *map(_cell, numbers)] for one, other, *numbers in found.by_setting().rows()]
    text = (
        f"τ is Kendall's, with the order of systems under {found.settings[0]}. Power is discriminative power: the "
        "share of pairs of systems with p < 0.05."
    )
    drawn = figures("robustness", found) if len(found.systems) > 2 else []
    yield Section("Orders by setting", [text], figures=drawn, columns=["design", "metric", "τ", "power"], rows=cells)


def _cell(value: float | None) -> str:
    return "–" if value is None else rounded(value)
