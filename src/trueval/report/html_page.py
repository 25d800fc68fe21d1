"""An evaluation as one HTML page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from trueval.charts.differences import differences_chart
from trueval.charts.offered import OFFERS
from trueval.comparison.comparison import Comparison
from trueval.comparison.leaders import leaders
from trueval.evaluation.outcome import Evaluation
from trueval.metrics.wording import signs_in
from trueval.render.html_elements import (
    Section,
    class_of,
    details,
    escape,
    framed,
    hint,
    page,
    section,
    sentences,
    terms,
    warned,
)
from trueval.render.marks import SIGNS
from trueval.render.numbers import decimal
from trueval.report.findings import findings
from trueval.report.html_charts import figures
from trueval.report.html_figures import estimate_bar
from trueval.report.table_cells import cell, columns_with_both_ends
from trueval.report.terminal import footer

MOST_PANELS = 6  # metrics that are drawn in the picture of differences; its table has all
_CLASSES = {"better": "up", "worse": "down"}  # of the signs of verdicts
_DIRECTIONS = {"higher": "higher is better ↑", "lower": "lower is better ↓", "neither": "neither direction is better"}


def html_page(
    evaluation: Evaluation,
    *,
    comparisons: Sequence[Comparison] = (),
    title: str = "Evaluation",
    lead: str = "",
    about: Mapping[str, str] | None = None,
    notes: Sequence[str] | None = None,
    sections: Sequence[Section] = (),
    audit: str = "",
) -> str:
    """The page: findings, differences, every metric with its intervals, pictures, sections, definitions.

    `notes` are the sentences at the top; without them they are computed (see `findings`). `about` says what the page
    was made from, `audit` is a part of the page that says whether the numbers can be trusted.

    >>> import polars as pl, trueval as tv
    >>> recs = pl.DataFrame({"user": [1, 2], "item": ["a", "b"], "rank": [1, 1]})
    >>> test = pl.DataFrame({"user": [1, 2], "item": ["a", "c"]})
    >>> page = html_page(tv.evaluate_run(recs, test, metrics="rr").evaluation, title="A & B")
    >>> "<h1>A &amp; B</h1>" in page, "http://" in page.replace("http://www.w3.org/2000/svg", "")
    (True, False)
    """
    notes = findings(evaluation, comparisons) if notes is None else notes
    body = [sentences(notes), results(evaluation, comparisons), audit, closer_look(evaluation), *map(section, sections)]
    return page(title, body, lead=lead, about=about, foot=foot(evaluation.manifest))


def results(
    evaluation: Evaluation,
    comparisons: Sequence[Comparison],
    *,
    title: str = "Results",
    notes: Sequence[str] = (),
    place: str = "",
) -> str:
    """Differences from the baseline, every metric as a card, what the numbers rest on, warnings, and all values.

    `place` tells the pictures from those of other results on the page.
    """
    verdicts = {(c.system, c.metric): c.verdict for c in comparisons}
    best, ends = leaders(evaluation), columns_with_both_ends(evaluation)
    cards = "\n".join(
        _card(evaluation, label, verdicts, best=best.get(label, set()), ends=label in ends)
        for label in evaluation.specs
    )
    forest = [differences_chart(comparisons, panels=MOST_PANELS).to_html(place=place)] if comparisons else []
    parts = [f"<h2>{escape(title)}</h2>", sentences(notes), *forest, f'<div class="cards">{cards}</div>']
    parts += [hint(footer(evaluation, comparisons, definitions=False)), "".join(warned(evaluation.warnings))]
    parts.append(details("All values in one table", _matrix(evaluation, best, ends)))
    return "\n".join(parts)


def closer_look(evaluation: Evaluation, *, title: str = "A closer look") -> str:
    """The other pictures of an evaluation, those that it has the numbers for."""
    names = [name for name in OFFERS["result"] if name != "differences"]
    return section(Section(title, figures=figures("result", evaluation, names=names)))


def _card(
    evaluation: Evaluation, label: str, verdicts: dict[tuple[str, str], str], *, best: set[str], ends: bool
) -> str:
    """One metric: a bar with its interval for every system, and the value by chance."""
    spec, chance = evaluation.specs[label], evaluation.random.get(label)
    estimates = {name: system.estimates[label] for name, system in evaluation.systems.items()}
    top = max([x for e in estimates.values() for x in (e.value, e.high) if math.isfinite(x)] + [chance or 0.0])
    level = evaluation.manifest.get("level", 0.95)
    rows = []
    for name, e in estimates.items():
        verdict = verdicts.get((name, label), "")
        colour, sign = _CLASSES.get(verdict, "other"), SIGNS.get(verdict, "")
        value, _, reach = cell(e, ends=ends).partition(" ")
        value = f"<b>{value}</b>" if name in best else value
        reach = f" <small>{reach}</small>" if reach else ""
        rows.append(
            f'<tr{class_of("best" if name in best else "")}><th scope="row" title="{escape(name)}">{escape(name)}</th>'
            f'<td>{estimate_bar(e, top, chance, level=level)}</td><td class="num">{value}{reach}</td>'
            + (f'<td class="sign {colour}">{sign}</td>' if verdicts else "")
            + "</tr>"
        )
    if chance is not None:
        blank = "<td></td>" if verdicts else ""
        value = f'<td></td><td class="num">{decimal(chance)}</td>{blank}'
        rows.append(f'<tr class="chance"><th scope="row">by chance</th>{value}</tr>')
    title = f'<span class="label">{escape(label)}</span><small>{_DIRECTIONS[spec.better]}</small>'
    return (
        f'<section class="card"><h3>{title}</h3><p>{escape(spec.summary)}</p><table>{"".join(rows)}</table></section>'
    )


def _matrix(evaluation: Evaluation, best: Mapping[str, set[str]], ends: set[str]) -> str:
    """All values; bold are those that are not shown to be worse than the best."""
    rows = []
    for name, system in evaluation.systems.items():
        cells = [f'<th scope="row">{escape(name)}</th>']
        for label in evaluation.specs:
            text = escape(cell(system.estimates[label], ends=label in ends))
            cells.append(f'<td class="num">{f"<b>{text}</b>" if name in best.get(label, ()) else text}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    if evaluation.random:
        known = [decimal(evaluation.random[n]) if n in evaluation.random else "" for n in evaluation.specs]
        numbers = "".join(f'<td class="num">{text}</td>' for text in known)
        rows.append(f'<tr class="chance"><th scope="row">by chance</th>{numbers}</tr>')
    return framed(["system", *evaluation.specs], rows)


def foot(manifest: Mapping[str, Any]) -> str:
    """What every number means, and all that must be equal for another result to be comparable."""
    rest = {name: value for name, value in manifest.items() if name != "definitions"}
    known = {**manifest["definitions"], **signs_in(manifest["definitions"].values())}
    return f"<h2>Definitions</h2>{terms(known, code=True)}<h2>Manifest</h2>{terms(rest)}"
