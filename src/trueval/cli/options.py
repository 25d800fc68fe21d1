"""Options that several commands have, each written once, and what commands do with them alike."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Option

from trueval.errors import DefinitionError, suggest

FORMATS = ("table", "json", "csv", "md", "latex")

Format = Annotated[str, Option(help="table, json, csv, md or latex.")]
Output = Annotated[Path | None, Option("--output", "-o", help="Write the result here instead.")]
Level = Annotated[float, Option(help="Level of the intervals.")]
Count = Annotated[str | None, Option(help="What popularity counts: users (each once per item; the default) or rows.")]
Seed = Annotated[int, Option(help="Seed of all that is random.")]
Threads = Annotated[int | None, Option(help="Threads to use; the result is the same.")]
Quiet = Annotated[bool, Option("--quiet", help="Print nothing but the result and errors.")]


def check_format(format: str, known: Sequence[str] = FORMATS) -> None:
    """Refuse a format that does not exist.

    >>> check_format("jsn")
    Traceback (most recent call last):
    trueval.errors.DefinitionError: unknown format 'jsn'
      found: did you mean json?
    """
    if format not in known:
        raise DefinitionError(f"unknown format {format!r}", found=suggest(format, known))


def check_places(*paths: Path | str | None) -> None:
    """Refuse files that cannot be written before the work is done, not after."""
    from trueval.report.files import check_writable

    for path in paths:
        check_writable(path)


def width_for(output: Path | None, *, piped: int) -> int:
    """How wide a table may be: as the window it is shown in, or, in a file or a pipe, as wide as `piped`."""
    return shutil.get_terminal_size().columns if output is None and sys.stdout.isatty() else piped


def give(text: str, output: Path | str | None) -> None:
    """Print a result, or write it into a file."""
    from trueval.data.writing import write_whole

    if output is None:
        sys.stdout.write(text)
    else:
        write_whole(output, text)
