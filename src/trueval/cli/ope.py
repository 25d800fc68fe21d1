"""trueval ope: what another policy would have earned, from the log of the one that was live."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from trueval.errors import DefinitionError, suggest

FORMATS = ("table", "json", "csv", "md", "latex")


def ope_command(
    log: Annotated[
        str, typer.Argument(help="Log of the live policy: item, reward, propensity, perhaps position, user.")
    ],
    target: Annotated[
        str,
        typer.Option(
            help="The policy to judge: a file of item, probability (and position, context), a log of the policy, "
            "uniform, column:NAME (its probability of the shown item) or choice:NAME (the item it would show)."
        ),
    ],
    estimators: Annotated[
        str | None, typer.Option(help="Of ips, snips, clipped, dm, dr, sndr; else the first five.")
    ] = None,
    propensity: Annotated[
        str | None,
        typer.Option(
            help="column:NAME, uniform, display_share, popularity:GAMMA, position_model or randomised:FILE; else the "
            "log's column."
        ),
    ] = None,
    clip: Annotated[str, typer.Option(help="Largest weight of the clipped estimate, or tuned.")] = "tuned",
    reward: Annotated[str | None, typer.Option(help="Column of what a shown item earned.")] = None,
    position: Annotated[str | None, typer.Option(help="Column of positions.")] = None,
    context: Annotated[str, typer.Option(help="Columns that the reward model of dm and dr sees.")] = "",
    columns: Annotated[
        str | None, typer.Option(help="Roles of columns: user=visitor,item=action,reward=click,position=slot.")
    ] = None,
    interval: Annotated[str, typer.Option(help="Intervals: t, bootstrap or none.")] = "t",
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    format: Annotated[str, typer.Option(help="table, json, csv, md or latex.")] = "table",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the result here instead.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of all that is random.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads to use; the result is the same.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but the result and errors.")] = False,
) -> None:
    """Estimate what another policy would have earned, from a log with propensities.

    Examples:

      trueval ope random.csv --target bts.csv

      trueval ope log.parquet --target policy.csv --columns item=action,user=visitor --clip 20

      trueval ope log.csv --target choice:new_item --propensity display_share --format json
    """
    from trueval.kernels import use_threads
    from trueval.online.ope.estimate import ope
    from trueval.online.ope.shown import WIDTH, as_text
    from trueval.progress import set_quiet
    from trueval.report.files import check_writable, write_whole

    set_quiet(quiet)
    if format not in FORMATS:
        raise DefinitionError(f"unknown format {format!r}", do=suggest(format, FORMATS))
    check_writable(output)
    with use_threads(threads):
        found = ope(
            log, target, estimators=estimators, propensity=propensity, clip=clip, reward=reward, position=position,
            context=context, columns=columns, interval=interval, level=level, seed=seed,
        )  # fmt: skip
    if format == "table":
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() and output is None else WIDTH
        text = as_text(found, width=min(width, WIDTH))
    elif format == "csv":
        text = found.table().write_csv()
    else:
        text = {"json": found.to_json, "md": found.to_markdown, "latex": found.to_latex}[format]()
        text += "" if text.endswith("\n") else "\n"
    if output is None:
        sys.stdout.write(text)
    else:
        write_whole(output, text)
