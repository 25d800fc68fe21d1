"""A chart: the question it answers, the data behind it, and how it is drawn."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from trueval.charts.altair import FONT, GRID, INK, SOFT, converter, hindrance, look
from trueval.charts.compact import compact
from trueval.charts.short_names import readable
from trueval.data.writing import write_whole
from trueval.errors import OutputError
from trueval.render.html_elements import escape, html_table, prose
from trueval.render.numbers import decimal

# On a page, what is drawn in these colours follows the page, which may be light or dark.
_PAGE_COLOURS = {INK: "var(--ink)", SOFT: "var(--soft)", GRID: "var(--line)"}
_FORMATS = (".svg", ".pdf", ".png", ".json")


@dataclass(frozen=True, slots=True)
class Chart:
    """One picture. It shows itself in a notebook, and saves itself for a paper.

    Attributes
    ----------
    name : text
        Short name, as `result.plot(name)` takes it.
    title : text
        What the chart shows.
    description : text
        What it says, in a sentence or two, for those who cannot see it.
    data : DataFrame
        The numbers that are drawn.
    draw : function
        Makes the declaration (of Altair) from the numbers.

    Examples
    --------
    >>> import trueval as tv
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "a"], "rank": [1, 2, 1]})
    >>> test = pl.DataFrame({"user": [1, 2], "item": ["b", "a"]})
    >>> chart = tv.evaluate_run(recs, test, metrics="rr", interval="none").plot("users")
    >>> chart.title, chart.data.rows()
    ('rr over 2 users', [('run', 0.5, 0.5), ('run', 1.0, 1.0)])
    """

    name: str
    title: str
    description: str
    data: pl.DataFrame
    draw: Callable[[pl.DataFrame], Any] = field(repr=False)

    def spec(self) -> dict[str, Any]:
        """The declaration, as Vega-Lite."""
        made: dict[str, Any] = self.draw(readable(self.data)).to_dict()
        return {**made, "config": look()}

    def to_svg(self, *, page: bool = False) -> str:
        """The picture as SVG.

        Parameters
        ----------
        page : bool
            For inclusion in an HTML page of trueval: as wide as its place, in the colours of the page.
        """
        svg = compact(converter().vegalite_to_svg(self.spec()))
        return _for_page(svg, self, self.name) if page else svg

    def save(self, path: str | Path) -> None:
        """Write the picture to a file.

        Parameters
        ----------
        path : path
            Its ending decides the format: .svg, .pdf, .png, or .json (the declaration, as Vega-Lite).
        """
        ending = Path(path).suffix.lower()
        if ending not in _FORMATS:
            raise OutputError(
                "there is no picture format for this file name",
                where=str(path),
                found=f"the ending {ending}" if ending else "no ending",
                do=f"use one of the available endings: {' '.join(_FORMATS)}",
            )
        write_whole(path, lambda place: _write_bytes(place, self._content(ending)))

    def _content(self, ending: str) -> bytes:
        if ending == ".svg":
            return self.to_svg().encode()
        if ending == ".json":
            return json.dumps(self.spec(), indent=1, ensure_ascii=False).encode() + b"\n"
        made = converter()
        data: bytes = (
            made.vegalite_to_pdf(self.spec()) if ending == ".pdf" else made.vegalite_to_png(self.spec(), scale=3)
        )
        return data

    def to_html(self, *, place: str = "") -> str:
        """The picture with its title, a description and its table, as a part of a page.

        Where no pictures can be made, the table stands in its place.

        Parameters
        ----------
        place : text
            Letters that tell this chart from others of its name on the page.
        """
        name = "-".join(filter(None, (self.name, place)))
        title, caption = f"<h3>{escape(self.title)}</h3>", f"<figcaption>{prose(self.description)}</figcaption>"
        missing = hindrance()
        if not missing:
            drawn = f'<div class="drawing" tabindex="0">{_for_page(self.to_svg(), self, name)}</div>'
            numbers = f'<details class="data"><summary>The numbers</summary>{_table(self.data)}</details>'
        else:
            drawn = f'<p class="hint">Without a picture: it needs {escape(missing)}.</p>'
            numbers = _table(self.data)
        return f'<figure class="chart" id="chart-{escape(name)}">{title}{drawn}{caption}{numbers}</figure>'

    def _repr_html_(self) -> str:
        """For notebooks, on white: the theme of a notebook cannot be known, and inline SVG does not get through to the
        readers of one that they did not run themselves."""
        svg = self.to_svg()
        begin = svg.index(">") + 1
        on_white = f'{svg[:begin]}<rect width="100%" height="100%" fill="#fff"/>{svg[begin:]}'
        source = f"data:image/svg+xml;base64,{base64.b64encode(on_white.encode()).decode()}"
        picture = f'<img alt="{escape(self.title)}" src="{source}">'
        return f"<h4>{escape(self.title)}</h4>{picture}<p>{prose(self.description)}</p>"


def _write_bytes(place: Path, content: bytes) -> None:
    place.write_bytes(content)


def _for_page(svg: str, chart: Chart, name: str) -> str:
    """The picture inside a page: colours that follow it, no fixed size, ids that are its own by its name."""
    for colour, variable in _PAGE_COLOURS.items():
        svg = re.sub(rf'"{colour}"', f'"{variable}"', svg, flags=re.IGNORECASE)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'url\(#([^)"]+)\)', rf"url(#{name}-\1)", svg)
    size = re.match(r'<svg[^>]*?\bwidth="([\d.]+)"[^>]*?\bheight="([\d.]+)"', svg)
    width = f"max-width:{float(size.group(1)):.0f}px;" if size else ""
    label = f"{chart.title}. {chart.description}"
    opening = (
        f'<svg class="figure" role="img" aria-label="{escape(label)}" style="{width}width:100%;height:auto" '
        f'font-family="{FONT}" xmlns="http://www.w3.org/2000/svg" viewBox="{_view(svg)}">'
    )
    inside = re.sub(r' (?:aria-[a-z]+|role)="[^"]*"', "", svg[svg.index(">") + 1 :])
    return opening + inside


def _view(svg: str) -> str:
    found = re.search(r'viewBox="([^"]+)"', svg)
    return found.group(1) if found else "0 0 600 400"


def _table(frame: pl.DataFrame) -> str:
    """The numbers as an HTML table."""
    rows = [[_cell(value) for value in row] for row in frame.iter_rows()]
    return html_table([name.replace("_", " ") for name in frame.columns], rows)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return decimal(value) if value == value else "–"
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
