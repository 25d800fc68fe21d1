"""Options that several commands have, each written once, and what commands do with them alike."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from trueval.arguments import check_range
from trueval.errors import DefinitionError
from trueval.render.widths import PIPED_WIDTH
from trueval.report.output_formats import PAGES, RESULTS, check_csv_safe, choose_format, endings, format_of

if TYPE_CHECKING:
    from trueval.report.origin import Origin

COLUMNS = "Roles of columns: user=uid,item=sku,score=pred; of one table alone: items.item=sku,test.user=uid."
_FORMAT = f"{', '.join(RESULTS)}; default: as the file's ending says, otherwise a table."
_CSV_SAFE = (
    "Put an apostrophe before text in CSV and TSV that begins with =, +, -, @, a tab or an end of line: spreadsheets "
    "run such cells as formulas, and names and ids may come from strangers."
)

Format = Annotated[str | None, Option(help=_FORMAT)]
Output = Annotated[Path | None, Option("--output", "-o", help=f"Write the result to a file: {endings(RESULTS)}.")]
Report = Annotated[Path | None, Option(help=f"Write a report to this file: {endings(PAGES)}.")]
Level = Annotated[float, Option(help="Confidence level of the intervals.")]
Count = Annotated[str | None, Option(help="How to count popularity: users (default; each once per item) or rows.")]


def bounded(name: str) -> Callable[[Any], Any]:
    """What refuses a number that is out of its range as soon as it is read (see `arguments.RANGES`)."""

    def check(value: Any) -> Any:
        if value is not None:
            check_range(name, value, where=f"--{name}")
        return value

    return check


Seed = Annotated[int, Option(help="Random seed.", callback=bounded("seed"))]
Threads = Annotated[
    int | None, Option(help="Number of threads; the result does not depend on it.", callback=bounded("threads"))
]
CsvSafe = Annotated[bool, Option("--csv-safe", help=_CSV_SAFE)]
Quiet = Annotated[bool, Option("--quiet", help="Print only the result and errors.")]


def named_numbers(text: str | None, option: str, *, what: str, do: str) -> dict[str, float] | None:
    """Numbers by name from an option such as old=9,new=1, None where it was not given; `what` says how it is written.

    >>> named_numbers("old=9, new=1", "--shares", what="shares are written arm=number", do="old=9,new=1")
    {'old': 9.0, 'new': 1.0}
    """
    if text is None:
        return None
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, number = (word.strip() for word in part.rpartition("="))
        try:
            found[name] = float(number)
        except ValueError:
            name = ""
        if not name:
            raise DefinitionError(what, where=option, found=part, do=do)
    return found


def result_format(
    format: str | None,
    output: Path | str | None,
    report: Path | None = None,
    *,
    do: str = "",
    csv_safe: bool = False,
    also: str | None = None,
) -> str:
    """The format of a result, with all refusals of formats and files that can be made before the work.

    `also` is the format of another file that is written.
    """
    check_places(output, report)
    chosen = choose_format(format, output, do=do)
    check_csv_safe(csv_safe, (chosen, also))
    if report is not None:
        format_of(report, PAGES, option="--report")
    return chosen


def check_places(*paths: Path | str | None) -> None:
    """Refuse files that cannot be written before the work is done, not after."""
    from trueval.report.files import check_writable

    for path in paths:
        check_writable(path)


def held(folder: Path | str | None) -> AbstractContextManager[None]:
    """Hold an output folder while the work is done, so that a second writer is refused before its own."""
    from trueval.data.locks import locked

    return nullcontext() if folder is None else locked(Path(folder))


def width_for(output: Path | None) -> int:
    """How wide a table may be: as the window it is shown in, or, in a file or a pipe, as `PIPED_WIDTH`."""
    return shutil.get_terminal_size().columns if output is None and sys.stdout.isatty() else PIPED_WIDTH


def write_page(make: Callable[[Origin], str], report: Path | None, *files: object) -> None:
    """Write a report, where one is asked for, which tells this command line and those of some options that are files.

    `make` makes the page of what it is made from.
    """
    if report is None:
        return
    from trueval.data.writing import once_written, write_whole
    from trueval.progress import note
    from trueval.report.origin import Origin, named_files

    flat = [one for some in files for one in (some if isinstance(some, (list, tuple)) else [some])]
    write_whole(report, make(Origin(shlex.join(["trueval", *sys.argv[1:]]), named_files(flat))))
    once_written(lambda: note(f"wrote {report}"))


def give(text: str, output: Path | str | None) -> None:
    """Print a result, or write it into a file. On a terminal nothing in it is obeyed; a pipe gets it as it is."""
    if output is None:
        from trueval.errors import visible

        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
        return
    from trueval.data.writing import once_written, write_whole
    from trueval.progress import note

    write_whole(output, text)
    once_written(lambda: note(f"wrote {output}"))
