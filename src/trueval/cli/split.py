"""trueval split: hold out a part of a log and write the parts into a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from trueval.cli.options import Count, Seed, Threads
from trueval.cli.split_options import chosen
from trueval.report.output_formats import check_folder_name

if TYPE_CHECKING:
    from trueval.data.interactions import Interactions
    from trueval.splits import Parts


def split_command(
    ctx: typer.Context,
    data: Annotated[str, Argument(help="The log: a file, the folder of a data set or the name of a known one.")],
    output: Annotated[Path, Option("--output", "-o", help="Output folder; it must be new or empty.")],
    min_user: Annotated[int, Option(help="Remove users with fewer rows.")] = 0,
    min_item: Annotated[int, Option(help="Remove items with fewer rows.")] = 0,
    columns: Annotated[str | None, Option(help="Roles of columns: user=uid,item=sku,time=ts.")] = None,
    count: Count = None,
    seed: Seed = 0,
    force: Annotated[bool, Option("--force", help="Replace an existing split.")] = False,
    quiet: Annotated[bool, Option("--quiet", help="Print only errors.")] = False,
    threads: Threads = None,
) -> None:
    """Hold out a part of a log, and report leakage.

    Writes train.parquet, test.parquet and split.json (and validation, observed, dropped, candidates if there
    are any) into a folder; several folds or windows go to fold-1, fold-2… inside it.

    Examples:

      trueval split ml-1m --how temporal --ratio 0.2 -o parts

      trueval split log.csv --columns user=uid,item=sku --how leave_one_out -o parts

      trueval split ml-1m --how uniform_test --ratio 0.2 --eps 0.2 -o parts

      trueval split coat --how unbiased --ratio 0.2 -o parts
    """
    from trueval.data.read import read, read_pair
    from trueval.data.table_columns import columns_of, read_columns
    from trueval.errors import visible
    from trueval.kernels import use_threads
    from trueval.progress import set_quiet
    from trueval.splits import save_parts, split
    from trueval.splits.folder import check_free
    from trueval.splits.registry import find_split

    set_quiet(quiet)
    check_folder_name(output)
    check_free(output, force=force)
    how, options = chosen(ctx.obj)
    pair = find_split(how).pair
    with use_threads(threads):
        if pair:
            log, options[pair] = read_pair(data, options.get(pair), columns=columns)
        else:
            log = read(data, columns=columns_of(read_columns(columns, log=data), "log") or None)
        log = read(log, count=count)
        made = split(log, how, seed=seed, min_user=min_user, min_item=min_item, **options)
        save_parts(made, output, log=log, force=force)
        if not quiet:
            typer.echo(visible(_split_report(made, log, output)))


def _split_report(made: Parts | Sequence[Parts], log: Interactions, output: Path) -> str:
    """The report: counts of each part, reasons of drops, the leakage table."""
    from trueval.splits import Parts, leakage

    several = [made] if isinstance(made, Parts) else list(made)
    lines = [f"{log.name}: {len(log):,} rows, {log.n_users:,} users, {log.n_items:,} items -> {output}"]
    lines += [f"split: {_named(several[0])}", ""]
    for number, parts in enumerate(several, start=1):
        lines += [f"fold-{number}"] if len(several) > 1 else []
        lines += parts.counted()
    found = [leakage(parts) for parts in several]
    worst = max(found, key=lambda one: ("ok", "caution", "wrong").index(one.verdict))
    if len(found) > 1:
        lines += ["", f"worst of {len(found)}: fold-{found.index(worst) + 1}"]
    return "\n".join([*lines, *([] if len(found) > 1 else [""]), str(worst)])


def _named(parts: Parts) -> str:
    own = ("how", "fold", "window", "from", "to")  # what differs from fold to fold is not the split's name
    options = [f"{name}={value}" for name, value in parts.how.items() if name not in own and value is not None]
    return f"{parts.how['how']}({', '.join(options)})"
