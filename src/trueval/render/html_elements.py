"""Parts of HTML pages that need nothing else: no font, no picture and no script from anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape as escape_html

from trueval.errors import visible
from trueval.render.html_script import SCRIPT, policy
from trueval.render.html_style import STYLE
from trueval.render.marks import verdict_text
from trueval.render.svg import bar

_CHIPS = {
    "ok": "good", "better": "good", "worse": "bad", "wrong": "bad", "caution": "care", "unknown": "care",
    "not shown": "calm", "different": "calm", "fine": "good", "cannot tell": "calm", "accepted": "calm",
    "holds": "good", "does not hold": "bad", "differs": "care", "not comparable": "calm",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bar:
    """A share (0 to 1) that is drawn, with its text beside."""

    share: float
    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page: sentences, numbers in tiles, figures (HTML), a table, commands; whatever of these there is."""

    title: str
    text: Sequence[str] = ()
    tiles: Sequence[tuple[str, str]] = ()
    figures: Sequence[str] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str | Bar]] = ()
    code: str = ""


def escape(text: str) -> str:
    """Text as a page shows it, in an element or in a quoted attribute.

    >>> escape('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return escape_html(visible(text))


def prose(text: str) -> str:
    """A sentence as a page shows it; no line ends between a number and its percent sign.

    >>> prose("95 % of <a>")
    '95\\xa0% of &lt;a&gt;'
    """
    return re.sub(r"(?<=\d) %", "\xa0%", escape(text))


def page(
    title: str, body: Iterable[str], *, lead: str = "", about: Mapping[str, str] | None = None, foot: str = ""
) -> str:
    """A whole page: its title, what it shows and what it was made from, the body, and what stands below.

    >>> "<h1>A &amp; B</h1>" in page("A & B", [])
    True
    """
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    head += f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'
    head += f"<title>{escape(title)} · trueval</title><style>{STYLE}</style>"
    lines = [
        f'<header><p class="brand">trueval</p><h1>{escape(title)}</h1>',
        f'<p class="lead">{escape(lead)}</p>' if lead else "",
        f'<div class="about">{terms(about)}</div>' if about else "",
        "</header><main>",
        *body,
        "</main>",
        f"<footer>{foot}</footer>" if foot else "",
        f"<script>{SCRIPT}</script>",
    ]
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(lines) + "\n</body></html>\n"


def section(part: Section) -> str:
    """A section of a page.

    >>> section(Section("Data", ["Few & old."]))
    '<h2>Data</h2>\\n<p>Few &amp; old.</p>'
    """
    parts = [f"<h2>{escape(part.title)}</h2>", *(f"<p>{prose(text)}</p>" for text in part.text)]
    if part.tiles:
        tiles = "".join(f"<div><b>{escape(n)}</b><span>{escape(what)}</span></div>" for n, what in part.tiles)
        parts.append(f'<div class="tiles">{tiles}</div>')
    parts += part.figures
    if part.rows:
        parts.append(html_table(part.columns, part.rows))
    if part.code:
        parts.append(f'<pre tabindex="0"><code>{escape(part.code)}</code></pre>')
    return "\n".join(parts)


def html_table(columns: Sequence[str], rows: Iterable[Sequence[str | Bar]]) -> str:
    """A table of text; verdicts become chips, numbers stand to the right."""
    return framed(columns, ["<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows])


def framed(columns: Sequence[str], rows: Iterable[str]) -> str:
    """Rows that are HTML already, below their heads."""
    heads = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    # what scrolls can be reached by the keyboard, and says what it is
    return f'<div class="wide" tabindex="0" role="group" aria-label="Table">{table}</div>'


def _cell(content: str | Bar) -> str:
    if isinstance(content, Bar):
        kind = "plotted best" if content.strong else "plotted"
        return f'<td class="{kind}"><span class="num">{escape(content.text)}</span>{bar(content.share)}</td>'
    if content in _CHIPS:
        return f"<td>{chip(content)}</td>"
    number = content.strip("-−+±…,. %[]<≈▲▼≠0123456789") == ""
    return f"<td{class_of('num' if number else '')}>{escape(content)}</td>"


def chip(verdict: str) -> str:
    """A verdict in its colour, as people read it.

    >>> chip("better")
    '<span class="chip good">better</span>'
    """
    return f'<span class="chip {_CHIPS.get(verdict, "calm")}">{escape(verdict_text(verdict))}</span>'


def class_of(name: str) -> str:
    """The attribute of an element that has a class, perhaps."""
    return f' class="{name}"' if name else ""


def sentences(lines: Sequence[str]) -> str:
    """What one sees, as a list."""
    return '<ul class="findings">' + "".join(f"<li>{prose(line)}</li>" for line in lines) + "</ul>" if lines else ""


def hint(lines: Iterable[str]) -> str:
    """What numbers rest on, in small letters."""
    return '<p class="hint">' + "<br>".join(map(prose, lines)) + "</p>"


def warned(warnings: Iterable[str]) -> list[str]:
    """Warnings, each a paragraph."""
    return [f'<p class="warn">{escape(warning)}</p>' for warning in warnings]


def details(title: str, content: str) -> str:
    """Content that is seen once its title is clicked, and in print."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def terms(entries: Mapping[str, object], *, code: bool = False) -> str:
    """Names and what they stand for; the names perhaps as code.

    >>> terms({"seed": 0, "data": {"rows": 3, "time": None}, "arms": ["a", "b"]})
    '<dl><dt>seed</dt><dd>0</dd><dt>data</dt><dd>rows 3</dd><dt>arms</dt><dd>a, b</dd></dl>'
    """
    begin, end = ("<code>", "</code>") if code else ("", "")
    rows = (f"<dt>{begin}{escape(str(n))}{end}</dt><dd>{escape(_plain(value))}</dd>" for n, value in entries.items())
    return f"<dl>{''.join(rows)}</dl>"


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_inner(inner)}" for name, inner in value.items() if inner is not None)
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _inner(value: object) -> str:
    """A value within a value; entries of its own are in brackets, those that are None included.

    >>> _inner({"k": 5, "shrink": None}), _inner([1, 2])
    ('(k 5, shrink none)', '[1, 2]')
    """
    if isinstance(value, Mapping):
        return f"({', '.join(f'{name} {_inner(inner)}' for name, inner in value.items())})"
    return "none" if value is None else str(value)
