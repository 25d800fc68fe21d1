"""Text and tables on a terminal, and the same as plain text in a pipe or a file."""

from __future__ import annotations

import io
import re
import secrets
import textwrap
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any, TextIO

from rich import box
from rich.console import Console, JustifyMethod
from rich.markup import escape as escape_markup
from rich.table import Table

from trueval.errors import visible
from trueval.render.alignment import aligned
from trueval.render.widths import PIPED_WIDTH

__all__ = [
    "console_for", "escape", "fill", "first_fitting", "new_table", "plain_table", "printed", "say", "text_and_tables",
]  # fmt: skip

_UNLIMITED = 100_000  # columns: wider than any table


class _Apart:
    """Tables that are kept as they are, each with a mark in its place in the text."""

    def __init__(self) -> None:
        self.secret = secrets.token_hex(8)  # no name in the text is taken for a mark
        self.tables: list[Table] = []

    def mark(self, table: Table) -> str:
        self.tables.append(table)
        return f"{self.secret}.{len(self.tables) - 1}."


_apart: ContextVar[_Apart | None] = ContextVar("_apart", default=None)


class _Console(Console):
    """A console that keeps tables apart where that is asked for (`text_and_tables`)."""

    def print(self, *objects: Any, **options: Any) -> None:
        apart = _apart.get()
        if apart is not None:
            objects = tuple(apart.mark(one) if isinstance(one, Table) else one for one in objects)
        super().print(*objects, **options)


def _console(file: TextIO, *, width: int | None, soft_wrap: bool = True) -> Console:
    """In a notebook, rich would display the text beside the file and leave the file empty: `force_jupyter=False`."""
    if _apart.get() is None:
        return _Console(file=file, width=width, highlight=False, emoji=False, soft_wrap=soft_wrap, force_jupyter=False)
    return _Console(  # bold and colours survive as the codes of a terminal
        file=file, width=width, highlight=False, emoji=False, soft_wrap=soft_wrap, force_jupyter=False,
        force_terminal=True, color_system="standard", no_color=False, legacy_windows=False,
    )  # fmt: skip


def console_for(file: TextIO, *, width: int | None = None) -> Console:
    """Where to print: as wide as the terminal, or as `PIPED_WIDTH` in a pipe or file. Colours only on a terminal.

    >>> console_for(io.StringIO()).width
    160
    """
    wide = width or (None if file.isatty() else PIPED_WIDTH)
    return _console(file, width=wide, soft_wrap=not file.isatty())


def escape(name: str) -> str:
    r"""A name that is printed as it stands, on one line: no markup, nothing that a terminal would obey.

    >>> print(printed(plain_table(["system"], [["[red]a\x1b[2J"], [":cat:"]])), end="")
    system
    ─────────────
    [red]a\x1b[2J
    :cat:
    """
    return escape_markup(visible(name).replace("\n", r"\n"))


def fill(line: str, width: int, *, begin: str = "") -> str:
    """A line broken at blanks, later parts indented; names and numbers stay whole.

    >>> print(fill("one two AR-TI-AN", 10))
    one two
      AR-TI-AN
    """
    if _apart.get() is not None:  # whoever shows the text breaks its lines
        return begin + visible(line)
    return textwrap.fill(
        visible(line),
        width,
        initial_indent=begin,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def say(console: Console, lines: Iterable[str], *, style: str = "") -> None:
    """Print lines as they stand, filled.

    >>> import sys
    >>> say(console_for(sys.stdout, width=12), ["[b] and more"])
    [b] and
      more
    """
    for line in lines:
        console.print(fill(line, console.width - 2), style=style, markup=False)


def new_table(*, title: str = "", tight: bool = False) -> Table:
    """A table without columns, in the style that all tables have; its title stands below an empty line."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=tight, header_style="bold")
    if title:
        table.title, table.title_justify, table.title_style = f"\n{escape(title)}", "left", "bold"
    return table


def plain_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, align: str = "l", title: str = "", wrap: bool = False
) -> Table:
    """A table of words and numbers as they stand; `align` has a letter per column, r where it ends.

    >>> print(printed(plain_table(["system", "ndcg"], [["bpr", "0.31"]])), end="")
    system   ndcg
    ─────────────
    bpr      0.31
    """
    table = new_table(title=title)
    for name, letter in zip(head, aligned(align, head)):
        justify: JustifyMethod = "left" if letter == "l" else "right"
        table.add_column(escape(name), no_wrap=not wrap, justify=justify)
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def first_fitting(tables: Iterable[Table], width: int) -> Table:
    """The first table that the width allows, else the last.

    >>> wide, narrow = (plain_table([name], [[name]]) for name in ("a long name", "name"))
    >>> first_fitting([wide, narrow], 8) is narrow, first_fitting([wide, narrow], 20) is wide
    (True, True)
    """
    measuring = _console(io.StringIO(), width=_UNLIMITED)
    for table in tables:
        if measuring.measure(table).maximum <= width:
            break
    return table


def printed(table: Table) -> str:
    """A table as plain text, as wide as it is."""
    out = io.StringIO()
    _console(out, width=_UNLIMITED).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def text_and_tables(write: Callable[[], str]) -> list[str | Table]:
    """What a function writes, taken apart: tables as they are, and the text between them.

    Lines of the text are not broken; bold and colours are written as a terminal takes them.

    >>> parts = text_and_tables(lambda: "before\\n" + printed(plain_table(["a"], [["1"]])) + "after")
    >>> [part if isinstance(part, str) else [column.header for column in part.columns] for part in parts]
    ['before\\n', ['a'], '\\nafter']
    """
    apart = _Apart()
    before = _apart.set(apart)
    try:
        text = write()
    finally:
        _apart.reset(before)
    pieces = re.split(rf"{apart.secret}\.(\d+)\.", text)  # text, number of a table, text, …
    found = [apart.tables[int(one)] if place % 2 else one for place, one in enumerate(pieces)]
    return [part for part in found if part != ""]
