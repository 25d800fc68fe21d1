"""Several designs of one experiment as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from trueval.comparison.paired import Comparison
from trueval.evaluation.outcome import Evaluation
from trueval.report.findings import findings
from trueval.report.html import Section, _foot, _items, _results, _section, _whole_page
from trueval.report.html_groups import group_sections


def designs_page(
    evaluations: Mapping[str, Evaluation],
    *,
    comparisons: Mapping[str, Sequence[Comparison]],
    title: str,
    lead: str = "",
    notes: Sequence[str] = (),
    before: Sequence[Section] = (),
    after: Sequence[Section] = (),
    manifest: Mapping[str, Any] | None = None,
) -> str:
    """The page: notes, what one sees under each design between sections about all of them, and every definition.

    >>> import polars as pl, trueval as tv
    >>> recs = pl.DataFrame({"user": [1, 2], "item": ["a", "b"], "rank": [1, 1]})
    >>> found = tv.evaluate_run(recs, pl.DataFrame({"user": [1, 2], "item": ["a", "c"]}), metrics="rr").evaluation
    >>> page = designs_page({"given": found}, comparisons={}, title="Two users")
    >>> "<h2>given</h2>" in page
    True
    """
    body = [
        f'<header><p class="brand">trueval</p><h1>{escape(title)}</h1>',
        f'<p class="lead">{escape(lead)}</p>' if lead else "",
        "</header><main>",
        _items("words", notes),
        *(_section(section) for section in before),
    ]
    for name, evaluation in evaluations.items():
        own = comparisons.get(name, ())
        body.append(_results(evaluation, own, title=name, notes=findings(evaluation, own)))
        body += [_section(section) for section in group_sections(evaluation)]
    told = [evaluation.manifest["definitions"].items() for evaluation in evaluations.values()]
    definitions = {label.partition("|n=")[0]: text for own in told for label, text in own}
    body += [
        *(_section(section) for section in after),
        "</main>",
        _foot({**(manifest or {}), "definitions": definitions}),
    ]
    return _whole_page(title, body)
