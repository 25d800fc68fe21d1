"""trueval track: snapshots of a real system over time."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from trueval.cli.options import CsvSafe, Format, Output, Quiet, Seed, Threads, give, result_format
from trueval.report.output_formats import rendered

_COLUMNS = "Roles of columns: user=uid,item=sku,time=ts; of --items alone: items.item=sku."
_SNAPSHOTS = "Logs or lists in their order, or a folder of them (by name), or one log with times (see --periods)."


def track_command(
    snapshots: Annotated[list[str], Argument(help=_SNAPSHOTS)],
    periods: Annotated[int | None, Option(help="Cut one log into so many periods of equally many rows.")] = None,
    items: Annotated[str | None, Option(help="The catalogue, perhaps with columns of groups.")] = None,
    by: Annotated[str | None, Option(help="Column of --items whose groups share the rows.")] = None,
    columns: Annotated[str | None, Option(help=_COLUMNS)] = None,
    format: Format = None,
    output: Output = None,
    csv_safe: CsvSafe = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Track how concentrated and how alike a system's logs or lists become over time.

    The same measures as in `trueval simulate loop`: Gini coefficient (also of equally many rows), coverage, overlap and
    Jaccard index of different users' items, the share of what was popular at first, the exposure of groups.

    Examples:

      trueval track snapshots/

      trueval track may.parquet june.parquet july.parquet --items items.csv --by provider -o track.csv

      trueval track log.csv --periods 12
    """
    from trueval.kernels import use_threads
    from trueval.progress import set_quiet
    from trueval.simulation.track import track

    set_quiet(quiet)
    chosen = result_format(format, output, csv_safe=csv_safe)
    source = snapshots[0] if len(snapshots) == 1 else snapshots
    with use_threads(threads):
        found = track(source, periods=periods, items=items, by=by, columns=columns, seed=seed)
    give(rendered(found, chosen, csv_safe=csv_safe), output)
