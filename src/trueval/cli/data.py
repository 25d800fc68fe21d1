"""`trueval data`: list known data sets, fetch one, describe a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.options import Count, give
from trueval.errors import visible
from trueval.progress import set_quiet
from trueval.report.output_formats import check_format

app = typer.Typer(help="List known data sets, fetch one, describe a file.", no_args_is_help=True)

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no notes.")]


def _on_terminal() -> bool:
    return sys.stdout.isatty()


@app.command("list", epilog="Example: trueval data list")
def list_(quiet: Quiet = False) -> None:
    """List the known data sets and which of them are on this machine."""
    from trueval.data.datasets import CATALOGUE, data_home, is_fetched

    set_quiet(quiet)
    home = data_home()
    rows = [
        (
            name,
            "here" if is_fetched(name, home) else "get" if dataset.url else "by hand",
            f"{dataset.megabytes:g} MB",
            dataset.about,
            dataset.licence,
            dataset.checked_by,
        )
        for name, dataset in CATALOGUE.items()
    ]
    if not _on_terminal():
        print("\n".join("\t".join(row) for row in rows))
        return
    from trueval.render.terminal import console_for, escape, plain_table

    table = plain_table(["name", "", "size", "what", "terms", "checked"], rows, align="llllll", wrap=True)
    table.caption = f"stored in {escape(str(home))}"
    console_for(sys.stdout).print(table)


@app.command("get", epilog="Example: trueval data get ml-1m")
def get_(
    name: Annotated[str, typer.Argument(help="A name from `trueval data list`.")],
    home: Annotated[
        Path | None, typer.Option(help="Folder to put it in (default: TRUEVAL_HOME or a cache folder).")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Fetch from this address.")] = None,
    checksum: Annotated[str | None, typer.Option(help="Expected checksum of the file: md5:… or sha256:…")] = None,
    quiet: Quiet = False,
) -> None:
    """Fetch a data set, check it, unpack it, and print its folder; an interrupted download is resumed."""
    from trueval.data.download import get

    set_quiet(quiet)
    print(visible(str(get(name, home=home, url=url, checksum=checksum))))


@app.command("info", epilog="Example: trueval data info ratings.csv --columns user=uid,item=sku")
def info(
    path: Annotated[str, typer.Argument(help="A file, a folder, or the name of a fetched data set.")],
    columns: Annotated[str, typer.Option(help="Roles of columns, e.g. user=uid,item=sku or user=0,item=1.")] = "",
    count: Count = None,
    format: Annotated[str, typer.Option(help="table or json.")] = "table",
    quiet: Quiet = False,
) -> None:
    """Describe a log: size, sparsity, values, time, duplicates, popularity, side tables."""
    from trueval.data.describe import describe
    from trueval.data.read import read
    from trueval.data.render_description import described_lines

    set_quiet(quiet)
    check_format(format, ("table", "json"))
    described = describe(read(path, columns=columns or None, count=count))
    if format == "json":
        give(json.dumps(described, indent=2, ensure_ascii=False) + "\n", None)
        return
    lines = described_lines(described)
    if not _on_terminal():
        width = max(len(label) for label, _ in lines)
        text = "\n".join([described["name"], *(f"{label:<{width}}  {value}" for label, value in lines)])
        print(visible(text if "utf" in (sys.stdout.encoding or "").lower() else text.replace("█", "#")))
        return
    from trueval.render.terminal import console_for, plain_table

    console_for(sys.stdout).print(plain_table(["", described["name"]], lines, align="ll", wrap=True))
