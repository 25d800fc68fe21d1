"""An evaluation as one HTML page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from trueval.comparison.comparison import Comparison
from trueval.comparison.leaders import leaders
from trueval.comparison.render import correction_head
from trueval.evaluation.outcome import Evaluation
from trueval.render.html_elements import (
    Section,
    chip,
    class_of,
    details,
    escape,
    framed,
    hint,
    html_table,
    page,
    section,
    sentences,
    terms,
    warned,
)
from trueval.render.marks import SIGNS
from trueval.render.numbers import decimal, level_percent, p_value
from trueval.report.findings import findings
from trueval.report.html_figures import difference_plot, estimate_bar
from trueval.report.table_cells import cell, columns_with_both_ends
from trueval.report.terminal import footer

_CLASSES = {"better": "up", "worse": "down"}  # of the signs of verdicts
_DIRECTIONS = {"higher": "higher is better ↑", "lower": "lower is better ↓", "neither": "neither direction is better"}


def html_page(
    evaluation: Evaluation,
    *,
    comparisons: Sequence[Comparison] = (),
    title: str = "Evaluation",
    lead: str = "",
    notes: Sequence[str] | None = None,
    sections: Sequence[Section] = (),
) -> str:
    """The page: findings, every metric with its intervals, comparisons, sections, definitions.

    `notes` are the sentences at the top; without them they are computed (see `findings`).

    >>> import polars as pl, trueval as tv
    >>> recs = pl.DataFrame({"user": [1, 2], "item": ["a", "b"], "rank": [1, 1]})
    >>> test = pl.DataFrame({"user": [1, 2], "item": ["a", "c"]})
    >>> page = html_page(tv.evaluate_run(recs, test, metrics="rr").evaluation, title="A & B")
    >>> "<h1>A &amp; B</h1>" in page, "<script" in page
    (True, False)
    """
    notes = findings(evaluation, comparisons) if notes is None else notes
    body = [sentences(notes), results(evaluation, comparisons), *map(section, sections)]
    return page(title, body, lead=lead, foot=foot(evaluation.manifest))


def results(
    evaluation: Evaluation, comparisons: Sequence[Comparison], *, title: str = "Results", notes: Sequence[str] = ()
) -> str:
    """Every metric as a card, what the numbers rest on, warnings, and all values and comparisons as tables."""
    verdicts = {(c.system, c.metric): c.verdict for c in comparisons}
    best, ends = leaders(evaluation), columns_with_both_ends(evaluation)
    cards = "\n".join(
        _card(evaluation, label, verdicts, best=best.get(label, set()), ends=label in ends)
        for label in evaluation.specs
    )
    parts = [f"<h2>{escape(title)}</h2>", sentences(notes), f'<div class="cards">{cards}</div>']
    parts += [hint(footer(evaluation, comparisons, definitions=False)), "".join(warned(evaluation.warnings))]
    parts.append(details("All values in one table", _matrix(evaluation)))
    if comparisons:
        title = f"All comparisons with {comparisons[0].baseline}"
        parts.append(details(title, _comparisons(comparisons)))
    return "\n".join(parts)


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
        rows.append(f'<tr class="chance"><th>by chance</th><td></td><td class="num">{decimal(chance)}</td>{blank}</tr>')
    title = f'<span class="label">{escape(label)}</span><small>{_DIRECTIONS[spec.better]}</small>'
    meaning = escape(spec.metric.summary) + (" Relevance is inverted among judged items." if spec.transforms else "")
    return f'<section class="card"><h3>{title}</h3><p>{meaning}</p><table>{"".join(rows)}</table></section>'


def _matrix(evaluation: Evaluation) -> str:
    ends = columns_with_both_ends(evaluation)
    rows = [
        [name, *(cell(system.estimates[label], ends=label in ends) for label in evaluation.specs)]
        for name, system in evaluation.systems.items()
    ]
    if evaluation.random:
        chance = evaluation.random
        rows.append(["by chance", *(decimal(chance[n]) if n in chance else "" for n in evaluation.specs)])
    return html_table(["system", *evaluation.specs], rows)


def _comparisons(comparisons: Sequence[Comparison]) -> str:
    reach: dict[str, float] = {}
    for c in comparisons:
        ends = [abs(x) for x in (c.low, c.high) if math.isfinite(x)]
        reach[c.metric] = max([reach.get(c.metric, 0.0), *ends])
    rows = []
    for c in sorted(comparisons, key=lambda c: list(reach).index(c.metric)):
        interval = f"{c.low:+.4f} … {c.high:+.4f}"
        texts = [f"{c.difference:+.4f}", interval, escape(p_value(c.p_corrected))]
        cells = "".join(f'<td class="num">{text}</td>' for text in texts)
        plot = f'<td class="plotted">{difference_plot(c, reach[c.metric])}</td>'
        rows.append(
            f"<tr><td>{escape(c.metric)}</td><td>{escape(c.system)}</td>{plot}{cells}<td>{chip(c.verdict)}</td></tr>"
        )
    level = f"{level_percent(comparisons[0].level)} interval"
    heads = ["metric", "system", "difference", "", level, correction_head(comparisons), "verdict"]
    return framed(heads, rows)


def foot(manifest: Mapping[str, Any]) -> str:
    """What every number means, and all that must be equal for another result to be comparable."""
    rest = {name: value for name, value in manifest.items() if name != "definitions"}
    return f"<h2>Definitions</h2>{terms(manifest['definitions'], code=True)}<h2>Manifest</h2>{terms(rest)}"
