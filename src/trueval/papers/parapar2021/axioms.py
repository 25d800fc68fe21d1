"""Table 1: which metrics satisfy which axioms, by looking for counter-examples."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from trueval.metrics.axioms import check_axioms
from trueval.metrics.axioms.check import AxiomReport, Verdict
from trueval.metrics.axioms.text import example_lines
from trueval.papers.record import FAILS, HOLDS, Figure, Statement
from trueval.papers.registry import figure
from trueval.papers.setting import Setting

_WORLDS = 200  # in the quick version as well: with fewer, rare counter-examples are not found
_TITLE = "Axioms that accuracy-diversity metrics satisfy"
_SAID = {True: "satisfied", False: "not satisfied"}
_TEXT = (
    "For each axiom a counter-example was looked for in random small worlds: what is called satisfied has none among "
    "them. The metrics have the parameters of the paper where it names them.",
)


@figure("table1", _TITLE)
def axioms(setting: Setting) -> Figure:
    """The eight axioms of seven metrics, beside the printed table."""
    found = check_axioms(worlds=_WORLDS, seed=setting.seed)
    rows = [
        (name, verdict.axiom, verdict.printed, verdict.holds, verdict.worlds, verdict.failures, str(report.spec),
         _example(verdict))
        for name, report in found.reports.items() for verdict in report.verdicts.values()
    ]  # fmt: skip
    kinds = {
        "metric": pl.String, "axiom": pl.String, "published": pl.Boolean, "here": pl.Boolean, "worlds": pl.Int64,
        "counter_examples": pl.Int64, "checked_as": pl.String, "counter_example": pl.String,
    }  # fmt: skip
    table = pl.DataFrame(rows, schema=kinds, orient="row")
    statements = [one for name, report in found.reports.items() for one in _statements(name, report)]
    return Figure("table1", _TITLE, {"parapar2021-table1": table}, {}, tuple(statements), _TEXT)


def _statements(name: str, report: AxiomReport) -> Iterator[Statement]:
    """The cells of a metric that agree as one statement, and each of the others with its counter-example."""
    alike = [verdict for verdict in report.verdicts.values() if verdict.holds == verdict.printed]
    for said in (True, False):
        same = [verdict.axiom for verdict in alike if verdict.printed is said]
        if same:
            worlds = max(verdict.worlds for verdict in alike)
            kind = f"no counter-example in {worlds} worlds" if said else "a counter-example for each"
            claim = f"{name}: {', '.join(same)} {'is' if len(same) == 1 else 'are'} {_SAID[said]}"
            yield Statement("table1", claim, "yes", "yes", HOLDS, kind)
    for verdict in report.verdicts.values():
        if verdict.holds != verdict.printed:
            why = "" if verdict.explanation is None else f"{verdict.explanation.kind}; {verdict.explanation.why}"
            regions = "; ".join(map(str, report.regions(verdict.axiom)))
            yield Statement(
                "table1", f"{name}: {verdict.axiom} is {_SAID[bool(verdict.printed)]}", "yes", "no", FAILS,
                f"fails in {verdict.failures} of {verdict.worlds} worlds. {_example(verdict)}",
                "; ".join(filter(None, (f"why: {why}" if why else "", f"it {regions}" if regions else ""))),
            )  # fmt: skip


def _example(verdict: Verdict) -> str:
    lines = [] if verdict.counter_example is None else example_lines(verdict.counter_example)
    return "; ".join(" ".join(line.split()) for line in lines)
