"""An evaluation as one HTML page that needs nothing else: no script, no font, no picture from anywhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from trueval.comparison.leaders import leaders
from trueval.comparison.paired import Comparison
from trueval.comparison.shown import correction_head
from trueval.evaluation.outcome import Evaluation
from trueval.report.cells import cell, columns_with_both_ends
from trueval.report.findings import findings
from trueval.report.html_figures import bar, difference_plot, estimate_bar
from trueval.report.html_style import STYLE
from trueval.report.terminal import footer, p_text

_CHIPS = {
    "ok": "good", "better": "good", "worse": "bad", "wrong": "bad", "caution": "care", "unknown": "care",
    "not shown": "calm", "different": "calm",
}  # fmt: skip
_SIGNS = {"better": ("up", "▲"), "worse": ("down", "▼"), "different": ("other", "≠")}
_DIRECTIONS = {"higher": "higher is better ↑", "lower": "lower is better ↓", "neither": "neither way is better"}


@dataclass(frozen=True, slots=True)
class Bar:
    """A share (0 to 1) that is drawn, with its text beside."""

    share: float
    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page: sentences, numbers in tiles, a table, commands; whatever of these there is."""

    title: str
    text: Sequence[str] = ()
    tiles: Sequence[tuple[str, str]] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str | Bar]] = ()
    code: str = ""


def html_page(
    evaluation: Evaluation,
    *,
    comparisons: Sequence[Comparison] = (),
    title: str = "Evaluation",
    lead: str = "",
    notes: Sequence[str] | None = None,
    sections: Sequence[Section] = (),
) -> str:
    """The page: what one sees in words, every metric with its intervals, comparisons, sections, definitions.

    `notes` are the sentences at the top; without them they are computed (see `findings`).

    >>> import polars as pl, trueval as tv
    >>> recs = pl.DataFrame({"user": [1, 2], "item": ["a", "b"], "rank": [1, 1]})
    >>> test = pl.DataFrame({"user": [1, 2], "item": ["a", "c"]})
    >>> page = html_page(tv.evaluate_run(recs, test, metrics="rr").evaluation, title="A & B")
    >>> "<h1>A &amp; B</h1>" in page, "<script" in page
    (True, False)
    """
    notes = findings(evaluation, comparisons) if notes is None else notes
    body = [
        f'<header><p class="brand">trueval</p><h1>{escape(title)}</h1>',
        f'<p class="lead">{escape(lead)}</p>' if lead else "",
        "</header><main>",
        _items("words", notes),
        _results(evaluation, comparisons),
        *(_section(section) for section in sections),
        "</main>",
        _foot(evaluation.manifest),
    ]
    return _whole_page(title, body)


def _whole_page(title: str, body: Iterable[str]) -> str:
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    head += f"<title>{escape(title)} · trueval</title><style>{STYLE}</style>"
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(body) + "\n</body></html>\n"


def _results(
    evaluation: Evaluation, comparisons: Sequence[Comparison], *, title: str = "Results", notes: Sequence[str] = ()
) -> str:
    verdicts = {(c.system, c.metric): c.verdict for c in comparisons}
    best, ends = leaders(evaluation), columns_with_both_ends(evaluation)
    cards = "\n".join(
        _card(evaluation, label, verdicts, best=best.get(label, set()), ends=label in ends)
        for label in evaluation.specs
    )
    rules = footer(evaluation, comparisons, definitions=False)
    legend = "<br>".join(map(escape, rules))
    warnings = "".join(f'<p class="warn">{escape(warning)}</p>' for warning in evaluation.warnings)
    parts = [f"<h2>{escape(title)}</h2>", _items("words", notes), f'<div class="cards">{cards}</div>']
    parts += [f'<p class="hint">{legend}</p>', warnings]
    parts.append(_details("All values in one table", _matrix(evaluation)))
    if comparisons:
        title = f"All comparisons with {comparisons[0].baseline}"
        parts.append(_details(title, _comparisons(comparisons)))
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
        colour, sign = _SIGNS.get(verdicts.get((name, label), ""), ("other", ""))
        value, _, reach = cell(e, ends=ends).partition(" ")
        value = f"<b>{value}</b>" if name in best else value
        reach = f" <small>{reach}</small>" if reach else ""
        rows.append(
            f'<tr{_class("best" if name in best else "")}><th scope="row" title="{escape(name)}">{escape(name)}</th>'
            f'<td>{estimate_bar(e, top, chance, level=level)}</td><td class="num">{value}{reach}</td>'
            + (f'<td class="sign {colour}">{sign}</td>' if verdicts else "")
            + "</tr>"
        )
    if chance is not None:
        blank = "<td></td>" if verdicts else ""
        rows.append(f'<tr class="chance"><th>by chance</th><td></td><td class="num">{chance:.4f}</td>{blank}</tr>')
    title = f'<span class="label">{escape(label)}</span><small>{_DIRECTIONS[spec.better]}</small>'
    meaning = escape(spec.metric.summary) + (" Turned round among judged items." if spec.transforms else "")
    return f'<section class="card"><h3>{title}</h3><p>{meaning}</p><table>{"".join(rows)}</table></section>'


def _matrix(evaluation: Evaluation) -> str:
    ends = columns_with_both_ends(evaluation)
    rows = [
        [name, *(cell(system.estimates[label], ends=label in ends) for label in evaluation.specs)]
        for name, system in evaluation.systems.items()
    ]
    if evaluation.random:
        chance = evaluation.random
        rows.append(["by chance", *(f"{chance[n]:.4f}" if n in chance else "" for n in evaluation.specs)])
    return _table(["system", *evaluation.specs], rows)


def _comparisons(comparisons: Sequence[Comparison]) -> str:
    reach: dict[str, float] = {}
    for c in comparisons:
        ends = [abs(x) for x in (c.low, c.high) if math.isfinite(x)]
        reach[c.metric] = max([reach.get(c.metric, 0.0), *ends])
    rows = []
    for c in sorted(comparisons, key=lambda c: list(reach).index(c.metric)):
        interval = f"{c.low:+.4f} … {c.high:+.4f}"
        words = [escape(c.metric), escape(c.system), f"{c.difference:+.4f}", interval, escape(p_text(c.p_corrected))]
        cells = "".join(f'<td class="num">{word}</td>' for word in words[2:])
        plot = f'<td class="plotted">{difference_plot(c, reach[c.metric])}</td>'
        rows.append(f"<tr><td>{words[0]}</td><td>{words[1]}</td>{plot}{cells}<td>{_chip(c.verdict)}</td></tr>")
    level = f"{100 * comparisons[0].level:g} % interval"
    heads = ["metric", "system", "difference", "", level, correction_head(comparisons), "verdict"]
    return _framed(heads, rows)


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>", *(f"<p>{escape(text)}</p>" for text in section.text)]
    if section.tiles:
        tiles = "".join(f"<div><b>{escape(n)}</b><span>{escape(what)}</span></div>" for n, what in section.tiles)
        parts.append(f'<div class="tiles">{tiles}</div>')
    if section.rows:
        parts.append(_table(section.columns, section.rows))
    if section.code:
        parts.append(f"<pre><code>{escape(section.code)}</code></pre>")
    return "\n".join(parts)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str | Bar]]) -> str:
    return _framed(columns, ["<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows])


def _framed(columns: Sequence[str], rows: Iterable[str]) -> str:
    heads = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _cell(content: str | Bar) -> str:
    if isinstance(content, Bar):
        kind = "plotted best" if content.strong else "plotted"
        return f'<td class="{kind}"><span class="num">{escape(content.text)}</span>{bar(content.share)}</td>'
    if content in _CHIPS:
        return f"<td>{_chip(content)}</td>"
    number = content.strip("-+±…,. %[]0123456789") == ""
    return f"<td{_class('num' if number else '')}>{escape(content)}</td>"


def _chip(verdict: str) -> str:
    return f'<span class="chip {_CHIPS.get(verdict, "calm")}">{escape(verdict)}</span>'


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _items(kind: str, lines: Sequence[str]) -> str:
    return f'<ul class="{kind}">' + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>" if lines else ""


def _details(title: str, content: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def _foot(manifest: Mapping[str, Any]) -> str:
    """What every number means, and all that must be equal for another result to be comparable."""
    definitions = "".join(
        f"<dt><code>{escape(n)}</code></dt><dd>{escape(d)}</dd>" for n, d in manifest["definitions"].items()
    )
    rest = {name: value for name, value in manifest.items() if name != "definitions"}
    told = "".join(f"<dt>{escape(str(name))}</dt><dd>{escape(_plain(value))}</dd>" for name, value in rest.items())
    return f"<footer><h2>Definitions</h2><dl>{definitions}</dl><h2>Manifest</h2><dl>{told}</dl></footer>"


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {inner}" for name, inner in value.items() if inner is not None)
    return str(value)
