"""trueval ope: what another policy would have earned, from the log of the one that was live."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from trueval.cli.options import (
    CsvSafe,
    Format,
    Level,
    Output,
    Quiet,
    Report,
    Seed,
    Threads,
    give,
    result_format,
    width_for,
    write_page,
)
from trueval.render.widths import READING_WIDTH
from trueval.report.output_formats import rendered

if TYPE_CHECKING:
    from trueval.online.ope.result import OffPolicy

_TARGET = (
    "Target policy: a file of item, probability (and position, context), a log of the policy, uniform, "
    "column:NAME (its probability of the shown item) or choice:NAME (the item it would show)."
)
_PROPENSITY = (
    "Propensities: column:NAME, uniform, display_share, popularity:GAMMA, position_model or randomised:FILE "
    "(default: the column of the log)."
)
_COLUMNS = "Roles of columns: user=visitor,item=action,reward=click,position=slot."


def ope_command(
    log: Annotated[
        str, Argument(help="Log of the live policy: item, reward, propensity, optionally position and user.")
    ],
    target: Annotated[str, Option(help=_TARGET)],
    estimators: Annotated[
        str | None, Option(help="Estimators among ips, snips, clipped, dm, dr and sndr (default: the first five).")
    ] = None,
    propensity: Annotated[str | None, Option(help=_PROPENSITY)] = None,
    clip: Annotated[str, Option(help="Largest weight of the clipped estimator, or tuned.")] = "tuned",
    reward: Annotated[str | None, Option(help="Column of rewards.")] = None,
    position: Annotated[str | None, Option(help="Column of positions.")] = None,
    context: Annotated[str, Option(help="Context columns for the reward model of dm and dr.")] = "",
    columns: Annotated[str | None, Option(help=_COLUMNS)] = None,
    interval: Annotated[str, Option(help="Method of the confidence intervals: t, bootstrap or none.")] = "t",
    level: Level = 0.95,
    format: Format = None,
    output: Output = None,
    csv_safe: CsvSafe = False,
    report: Report = None,
    seed: Seed = 0,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Estimate what another policy would have earned, from a log with propensities.

    Examples:

      trueval ope random.csv --target bts.csv

      trueval ope log.parquet --target policy.csv --columns item=action,user=visitor --clip 20

      trueval ope log.csv --target choice:new_item --propensity display_share --format json
    """
    from trueval.kernels import use_threads
    from trueval.online.ope.estimate import ope
    from trueval.progress import set_quiet
    from trueval.report.pages import page_of

    set_quiet(quiet)
    chosen = result_format(format, output, report, csv_safe=csv_safe)
    with use_threads(threads):
        found = ope(
            log, target, estimators=estimators, propensity=propensity, clip=clip, reward=reward, position=position,
            context=context, columns=columns, interval=interval, level=level, seed=seed,
        )  # fmt: skip
    title = f"{Path(log).name}: what another policy would have earned"
    write_page(lambda made_from: page_of("ope", found, title=title, origin=made_from), report, log, target)
    give(render(found, chosen, output, csv_safe=csv_safe), output)


def render(found: OffPolicy, format: str, output: Path | None = None, *, csv_safe: bool = False) -> str:
    """The result as text in a format; a table as wide as the window it is shown in, but no wider than it needs."""
    from trueval.online.ope.render import as_text

    width = min(width_for(output), READING_WIDTH)
    return rendered(found, format, table=lambda: as_text(found, width=width), csv_safe=csv_safe)
