"""Comparisons with a baseline, and the agreement of rankings, as HTML pages."""

from __future__ import annotations

from trueval.charts.differences import differences_chart
from trueval.comparison.agreement import Agreement
from trueval.comparison.comparisons import Comparisons
from trueval.comparison.render import legend
from trueval.comparison.render_agreement import agreement_notes, grid
from trueval.comparison.render_comparisons import main_sentences, value_grid
from trueval.render.html_elements import Section, hint, page, section, sentences, terms, warned
from trueval.report.html_charts import figures
from trueval.report.html_page import MOST_PANELS
from trueval.report.origin import UNKNOWN, Origin


def comparisons_page(found: Comparisons, *, title: str | None = None, origin: Origin = UNKNOWN) -> str:
    """Sentences, the forest plot, every value, and what the numbers rest on.

    >>> import polars as pl, trueval as tv
    >>> test = pl.DataFrame({"user": range(8), "item": range(8)})
    >>> runs = {name: test.with_columns(item=pl.col("item") // n, rank=1) for name, n in (("a", 1), ("b", 2))}
    >>> page = comparisons_page(tv.evaluate_run(runs, test, metrics="hit@1", interval="t").compare("b"))
    >>> "<h1>Comparison with b</h1>" in page, "a is better than b on hit@1" in page
    (True, True)
    """
    columns, rows = value_grid(found)
    systems = list(dict.fromkeys(level.system for level in found.levels))
    most = max(level.n for level in found.levels)
    body = [
        sentences([c.sentence for c in main_sentences(found)]),
        section(Section("Differences", figures=[differences_chart(found, panels=MOST_PANELS).to_html()])),
        section(Section("Values", columns=columns, rows=rows)),
        hint(legend(found.rows)),
        *warned(found.notes),
    ]
    data = f"{len(systems)} systems, {len(columns) - 1} metrics, {most:,} users"
    title = f"Comparison with {found.baseline}" if title is None else title
    return page(title, body, about=origin.about(data), foot=manifest_foot(found.manifest))


def agreement_page(found: Agreement, *, title: str = "Do the rankings agree?", origin: Origin = UNKNOWN) -> str:
    """The matrix of τ, drawn and as numbers, and what they mean."""
    (_, *heads), rows = grid(found)
    parts = [
        Section("Agreement", figures=figures("agreement", found)),
        Section("Estimates", columns=["ranking", *heads], rows=rows),
    ]
    data = f"{len(found.systems)} systems, {len(found.labels)} rankings, {found.users:,} users"
    return page(title, [*map(section, parts), hint(agreement_notes(found))], about=origin.about(data))


def manifest_foot(manifest: dict[str, object]) -> str:
    """Definitions, where there are some, and all else that must be equal for another result to be comparable."""
    rest = {name: value for name, value in manifest.items() if name != "definitions" and value not in (None, [], {})}
    known = manifest.get("definitions")
    begin = f"<h2>Definitions</h2>{terms(known, code=True)}" if isinstance(known, dict) and known else ""
    return f"{begin}<h2>Manifest</h2>{terms(rest)}"
