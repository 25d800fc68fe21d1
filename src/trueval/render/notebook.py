"""Text and tables as a notebook shows them: HTML that takes its colours from the theme, light or dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from trueval.render.html_elements import class_of, escape

# Each rule begins with the class of our own element, so that none reaches beyond it. Text has the colour of the theme;
# the few colours of our own can be read on white and on black.
_RULES = {
    "": "overflow-x:auto;line-height:1.45",
    "table": "border-collapse:collapse;border:0;margin:.3em 0 .6em;font-size:.93em",
    "caption": "caption-side:top;text-align:left;font-weight:600;padding:.4em 0 .2em;color:inherit",
    "tr, {0} td, {0} th": "background:transparent;color:inherit",
    "td, {0} th": "border:0;padding:.2em 1.2em .2em 0;text-align:left;vertical-align:top;white-space:pre-wrap",
    "thead th": "border-bottom:1px solid;font-weight:600",
    "tr.cut > *": "border-bottom:1px solid rgba(128,128,128,.4)",
    "td.r, {0} th.r": "text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums",
    "p": "margin:.15em 0;max-width:110ch",
    "pre": "white-space:pre-wrap;margin:.4em 0;padding:0;line-height:1.3;background:none;color:inherit;font-size:.9em",
    ".b": "font-weight:600",
    ".dim": "opacity:.72",
    ".green": "color:#12866b",
    ".red": "color:#d5453a",
    ".yellow": "color:#a87000",
}
_CLASS = "trueval-shown"
_LEFT = ' style="text-align:left"'  # at the cell: it stays where our style is dropped
_STYLE = "".join(f".{_CLASS} {at.format('.' + _CLASS)}{{{rule}}}".replace(" {", "{") for at, rule in _RULES.items())
_COLOURS = {1: "red", 2: "green", 3: "yellow"}  # by their numbers on a terminal
_SET = ("█", "◆")  # lines with bars keep their blanks, as do those that begin with one
_PLAIN = Console(force_jupyter=False, emoji=False)  # where styles are looked up; nothing is printed on it


def notebook_html(*parts: str | Table) -> str:
    """Lines of text and tables, one below the other, in one element with its own style.

    Text may have the codes for bold and colours that a terminal takes.

    >>> from trueval.render.terminal import plain_table
    >>> made = notebook_html("A & B", plain_table(["system", "ndcg"], [["<i>", "0.31"]]))
    >>> made[made.index("<p>"):made.index("<table>")]
    '<p>A &amp; B</p>'
    >>> made[made.index("<tbody>"):made.index("</tbody>")]
    '<tbody><tr><td style="text-align:left">&lt;i&gt;</td><td class="r">0.31</td></tr>'
    """
    body = [_table(part) if isinstance(part, Table) else _lines(part) for part in parts]
    return f'<div class="{_CLASS}"><style>{_STYLE}</style>{"".join(body)}</div>'


def _table(table: Table) -> str:
    sides = ["r" if column.justify == "right" else "" for column in table.columns]
    title = str(table.title or "").strip()
    caption = f"<caption>{_marked(title)}</caption>" if title else ""
    heads = "".join(
        f'<th scope="col"{class_of(side)}>{_marked(str(column.header))}</th>'
        for column, side in zip(table.columns, sides)
    )
    cells = list(zip(*([str(cell) for cell in column.cells] for column in table.columns)))
    rows = [
        _row(row, sides, style=str(known.style or ""), cut=known.end_section and row is not cells[-1])
        for known, row in zip(table.rows, cells)
    ]
    return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _row(cells: Sequence[str], sides: Sequence[str], *, style: str, cut: bool) -> str:
    made = (f"<td{class_of(side) or _LEFT}>{_marked(cell, style)}</td>" for cell, side in zip(cells, sides))
    return f"<tr{class_of('cut' if cut else '')}>{''.join(made)}</tr>"


def _marked(markup: str, style: str = "") -> str:
    """A cell, whose names are escaped for rich."""
    text = Text.from_markup(markup, emoji=False)
    text.stylize_before(style)  # as a span: a style of the whole text is lost where there are no others
    return _styled(text)


def _lines(text: str) -> str:
    """Each line a paragraph; lines that are set with blanks stay together as they are."""
    made: list[str] = []
    kept: list[str] = []
    for line in map(_line, text.split("\n")):
        if line.plain[:1] == " " or any(sign in line.plain for sign in _SET):
            kept.append(_styled(line))
            continue
        made += _set(kept)
        kept = []
        if line.plain.strip():
            care = line.plain.startswith("! ") and not line.spans
            made.append(f"<p{class_of('yellow' if care else '')}>{_styled(line)}</p>")
    return "".join([*made, *_set(kept)])


def _set(lines: Sequence[str]) -> Iterable[str]:
    return ["<pre>" + "\n".join(lines) + "</pre>"] if lines else []


def _line(line: str) -> Text:
    return Text.from_ansi(line) if "\x1b" in line else Text(line)


def _styled(text: Text) -> str:
    text.end = ""
    made = []
    for segment in text.render(_PLAIN):
        names = _classes(segment.style) if segment.style else []
        shown = escape(segment.text)
        tag = "b" if "b" in names else "span"  # pages that drop our style, as of a notebook not trusted, keep <b>
        made.append(f"<{tag}{class_of(' '.join(names))}>{shown}</{tag}>" if names else shown)
    return "".join(made)


def _classes(style: Style) -> list[str]:
    names = ["b"] * bool(style.bold) + ["dim"] * bool(style.dim)
    colour = None if style.color is None or style.color.number is None else _COLOURS.get(style.color.number)
    return names + ([colour] if colour else [])
