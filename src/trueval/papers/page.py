"""A rerun as an HTML page, and as a text for the documentation."""

from __future__ import annotations

from trueval.charts.altair import hindrance
from trueval.papers.record import APART, Figure, figure_name
from trueval.papers.reproduction import COLUMNS, Reproduction, data_text, statement_rows
from trueval.render.html_elements import details, escape, html_table, page, prose, sentences, terms
from trueval.render.markdown import markdown_table, markdown_text
from trueval.render.numbers import decimal
from trueval.report.origin import Origin, today

_MOST_ROWS = 40  # of a table that the page shows; the files have all


def page_of(found: Reproduction) -> str:
    """The page: what holds, every statement, then each figure with its pictures and tables."""
    body = [
        sentences(_findings(found)),
        "<h2>Published, here, verdict</h2>",
        html_table(COLUMNS, statement_rows(found.statements)),
    ]
    body += [part for figure in found.figures for part in _figure_parts(figure)]
    about = Origin().about(data_text(found.manifest).removeprefix("on "))
    about["Command"] = command_of(found)
    return page(
        f"{found.paper.name}, rerun",
        body,
        lead=f"{found.paper.title}. {found.paper.reference}.",
        about=about,
        foot=f"<h2>Manifest</h2>{terms(_flat(found))}",
    )


def command_of(found: Reproduction) -> str:
    """The command that makes this rerun again, apart from the paths."""
    manifest = found.manifest
    names = [] if len(manifest["figures"]) == len(found.paper.figures) else manifest["figures"]
    words = ["trueval reproduce", manifest["paper"], *names]
    for place, (slot, one) in enumerate(manifest["data"].items()):
        if not one["generated"]:
            words.append(f"--data {one['name']}" if place == 0 else f"--data {slot}={one['name']}")
    words += ["--quick"] * manifest["quick"] + [f"--seed {manifest['seed']}"] * bool(manifest["seed"])
    return " ".join(words)


def _findings(found: Reproduction) -> list[str]:
    lines = [found.summary(), *found.stand_ins(), *found.paper.about, *found.disagreements()]
    apart = sum(one.verdict == APART for one in found.statements)
    return [*lines, *([f"{apart} more cannot be compared, for the reasons given beside them."] if apart else [])]


def _figure_parts(figure: Figure) -> list[str]:
    parts = [f"<h2>{escape(figure_name(figure.name))}: {escape(figure.title)}</h2>"]
    parts += [f"<p>{prose(text)}</p>" for text in figure.text]
    parts += [chart.to_html() for chart in figure.charts.values()]
    if figure.statements:
        parts.append(html_table(COLUMNS, statement_rows(figure.statements)))
    for name, table in figure.tables.items():
        rows = [[_cell(value) for value in row] for row in table.head(_MOST_ROWS).iter_rows()]
        more = f", the first {_MOST_ROWS} of {len(table):,} rows" if len(table) > _MOST_ROWS else ""
        heads = [column.replace("_", " ") for column in table.columns]
        parts.append(details(f"Table {name}{more}", html_table(heads, rows)))
    return parts


def _cell(value: object) -> str:
    if isinstance(value, float):
        return decimal(value) if value == value else "–"
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _flat(found: Reproduction) -> dict[str, object]:
    rest = {name: value for name, value in found.manifest.items() if name != "data"}
    return {**rest, **{f"data: {name}": one for name, one in found.manifest["data"].items()}}


def summary_of(found: Reproduction) -> str:
    """The statements and the pictures as Markdown, for the documentation."""
    drawn = not hindrance()
    parts = [
        f"Made on {today()} with trueval {found.manifest['version']}, {data_text(found.manifest)}, by "
        f"`{command_of(found)}`. {found.summary()}",
    ]
    for figure in found.figures:
        parts.append(f"## {figure_name(figure.name)}: {markdown_text(figure.title)}")
        parts += [markdown_text(text) for text in figure.text]
        for name, chart in figure.charts.items() if drawn else ():
            parts.append(f"![{markdown_text(chart.title)}](charts/{name}.svg)")
            parts.append(f"*{markdown_text(chart.title)}.* {markdown_text(chart.description)}")
        if figure.statements:
            rows = [row[1:] for row in statement_rows(figure.statements)]
            parts.append(markdown_table(COLUMNS[1:], rows, align="lllll").rstrip("\n"))
    return "\n\n".join(parts) + "\n"
