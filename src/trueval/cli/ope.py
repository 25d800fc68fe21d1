"""trueval ope: what another policy would have earned, from the log of the one that was live."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from trueval.cli.options import Format, Level, Output, Quiet, Seed, Threads, check_format, check_places, give, width_for

if TYPE_CHECKING:
    from trueval.online.ope.result import OffPolicy

_TARGET = (
    "The policy to judge: a file of item, probability (and position, context), a log of the policy, uniform, "
    "column:NAME (its probability of the shown item) or choice:NAME (the item it would show)."
)
_PROPENSITY = (
    "column:NAME, uniform, display_share, popularity:GAMMA, position_model or randomised:FILE; else the log's column."
)
_COLUMNS = "Roles of columns: user=visitor,item=action,reward=click,position=slot."


def ope_command(
    log: Annotated[str, Argument(help="Log of the live policy: item, reward, propensity, perhaps position, user.")],
    target: Annotated[str, Option(help=_TARGET)],
    estimators: Annotated[str | None, Option(help="Of ips, snips, clipped, dm, dr, sndr; else the first five.")] = None,
    propensity: Annotated[str | None, Option(help=_PROPENSITY)] = None,
    clip: Annotated[str, Option(help="Largest weight of the clipped estimate, or tuned.")] = "tuned",
    reward: Annotated[str | None, Option(help="Column of what a shown item earned.")] = None,
    position: Annotated[str | None, Option(help="Column of positions.")] = None,
    context: Annotated[str, Option(help="Columns that the reward model of dm and dr sees.")] = "",
    columns: Annotated[str | None, Option(help=_COLUMNS)] = None,
    interval: Annotated[str, Option(help="Intervals: t, bootstrap or none.")] = "t",
    level: Level = 0.95,
    format: Format = "table",
    output: Output = None,
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

    set_quiet(quiet)
    check_format(format)
    check_places(output)
    with use_threads(threads):
        found = ope(
            log, target, estimators=estimators, propensity=propensity, clip=clip, reward=reward, position=position,
            context=context, columns=columns, interval=interval, level=level, seed=seed,
        )  # fmt: skip
    give(render(found, format, output), output)


def render(found: OffPolicy, format: str, output: Path | None = None) -> str:
    """The result as text in a format; a table as wide as the window it is shown in, but no wider than it needs."""
    from trueval.online.ope.shown import WIDTH, as_text

    if format == "table":
        return as_text(found, width=min(width_for(output, piped=WIDTH), WIDTH))
    if format == "csv":
        return found.table().write_csv()
    text = {"json": found.to_json, "md": found.to_markdown, "latex": found.to_latex}[format]()
    return text if text.endswith("\n") else text + "\n"
