"""trueval reproduce: a published paper, rerun."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from trueval.cli.options import Format, Quiet, Seed, Threads, give, result_format
from trueval.errors import DefinitionError
from trueval.report.output_formats import check_folder_name, rendered

_DATA = (
    "The paper's data set in its original format (a folder, file, or name of a data set); NAME=PATH where the paper "
    "uses several. Without it, a generated world of the same shape."
)


def reproduce_command(
    paper: Annotated[str, Argument(help="bellogin2017, mena2020, parapar2021 or steck2011.")],
    figures: Annotated[
        list[str] | None, Argument(help="Some of its figures and tables: 3, table1. Default: all.")
    ] = None,
    data: Annotated[list[str] | None, Option(help=_DATA)] = None,
    quick: Annotated[bool, Option("--quick", help="Fewer repetitions and points, by the same code: minutes.")] = False,
    output: Annotated[Path | None, Option("--output", "-o", help="Output folder (default: PAPER-rerun).")] = None,
    resume: Annotated[bool, Option("--resume", help="Continue in the folder: finished steps are kept.")] = False,
    format: Format = None,
    seed: Seed = 0,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Rerun the experiments of a paper; tell for every number and claim what was published and what is found here.

    The folder receives a page (index.html), the statements, and all tables and charts.

    Examples:

      trueval reproduce bellogin2017 --data ml-1m -o bellogin

      trueval reproduce bellogin2017 3 7 --quick

      trueval reproduce steck2011 --data ml-1m -o steck --resume
    """
    from trueval.papers.reproduce import reproduce
    from trueval.progress import note, set_quiet

    set_quiet(quiet)
    chosen = result_format(format, None)
    folder = Path(f"{paper}-rerun") if output is None else output
    check_folder_name(folder)
    found = reproduce(
        paper, figures or (), data=_by_name(data or []), out=folder, quick=quick, resume=resume, seed=seed,
        threads=threads,
    )  # fmt: skip
    give(rendered(found, chosen), None)
    note(f"\nwrote {folder}; page: {folder / 'index.html'}")


def _by_name(data: list[str]) -> Any:
    """Paths by name; the one without a name alone, or under an empty one that stands for the first."""
    if len(data) <= 1 and not any(_named(one) for one in data):
        return data[0] if data else None
    found = {}
    for one in data:
        name, path = one.split("=", 1) if _named(one) else ("", one)
        if name in found:
            raise DefinitionError(
                "two data sets have one name", where="--data", found=one, do="write NAME=PATH for the second"
            )
        found[name] = path
    return found


def _named(text: str) -> bool:
    """Whether a value of --data is NAME=PATH: a path that exists as it stands is not."""
    return "=" in text and not Path(text).exists()
