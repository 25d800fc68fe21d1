"""trueval split: hold out a part of a log and write the parts into a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from trueval.cli.options import Count, Seed, Threads
from trueval.report.output_formats import check_folder_name

if TYPE_CHECKING:
    from trueval.data.interactions import Interactions
    from trueval.splits import Parts

_AT = "temporal, rolling: number or ISO date (perhaps with an offset) of the cut."
_HOW = "holdout, kfold, leave_one_out, temporal, user_temporal, rolling, uniform_test or unbiased."
_MAR = "unbiased: ratings of items chosen at random; not needed where DATA holds them (Coat, CM100k, Yahoo! R3)."
_UNSEEN = "temporal, rolling: drop or keep test and validation rows of users and items without train rows."
_VALIDATION = "Share of the log for validation (leave_one_out: interactions)."


def split_command(
    data: Annotated[str, Argument(help="A log: a file, a data-set folder or a known name.")],
    output: Annotated[Path, Option("--output", "-o", help="Folder to write; it must be new or empty.")],
    how: Annotated[str, Option(help=_HOW)] = "holdout",
    ratio: Annotated[float | None, Option(help="Share of the log to test on.")] = None,
    folds: Annotated[int | None, Option(help="kfold: number of folds.")] = None,
    eps: Annotated[float | None, Option(help="uniform_test: share of each item kept for train.")] = None,
    at: Annotated[list[str] | None, Option(help=_AT)] = None,
    windows: Annotated[int | None, Option(help="rolling: number of windows.")] = None,
    by: Annotated[str | None, Option(help="holdout: rating or user.")] = None,
    over: Annotated[str | None, Option(help="kfold: ratings or users.")] = None,
    which: Annotated[str | None, Option(help="leave_one_out: last or random.")] = None,
    n: Annotated[int | None, Option("--n", help="leave_one_out: interactions of each user.")] = None,
    unseen: Annotated[str | None, Option(help=_UNSEEN)] = None,
    mar: Annotated[str | None, Option(help=_MAR)] = None,
    sample: Annotated[float | None, Option(help="unbiased: share of the random ratings to test on.")] = None,
    rounding: Annotated[str | None, Option("--round", help="uniform_test: floor or nearest.")] = None,
    threshold: Annotated[float | None, Option(help="uniform_test: count only values from here on.")] = None,
    validation: Annotated[float | None, Option(help=_VALIDATION)] = None,
    min_user: Annotated[int, Option(help="Leave out users with fewer rows.")] = 0,
    min_item: Annotated[int, Option(help="Leave out items with fewer rows.")] = 0,
    columns: Annotated[str | None, Option(help="Roles of columns: user=uid,item=sku,time=ts.")] = None,
    count: Count = None,
    seed: Seed = 0,
    force: Annotated[bool, Option("--force", help="Replace a split made earlier.")] = False,
    quiet: Annotated[bool, Option("--quiet", help="Print nothing but errors.")] = False,
    threads: Threads = None,
) -> None:
    """Hold out a part of a log, and say what leaks.

    Writes train.parquet, test.parquet and split.json (and validation, observed, dropped, candidates if there
    are any) into a folder; several folds or windows go to fold-1, fold-2… inside it.

    Examples:

      trueval split ml-1m --how temporal --ratio 0.2 -o parts

      trueval split log.csv --columns user=uid,item=sku --how leave_one_out -o parts

      trueval split ml-1m --how uniform_test --ratio 0.2 --eps 0.2 -o parts

      trueval split coat --how unbiased --ratio 0.2 -o parts
    """
    from trueval.data.read import read, read_pair
    from trueval.kernels import use_threads
    from trueval.progress import set_quiet
    from trueval.splits import save_parts, split

    set_quiet(quiet)
    check_folder_name(output)
    given = {"ratio": ratio, "eps": eps, "windows": windows, "by": by, "over": over, "which": which}
    given |= {"unseen": unseen, "round": rounding, "threshold": threshold, "validation": _whole(validation)}
    given |= {"mar": mar, "sample": sample}
    given |= {"n" if how == "kfold" else "folds": folds}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if n is not None:
        options["n"] = n
    if at:
        options["at"] = at if how == "rolling" or len(at) > 1 else at[0]
    with use_threads(threads):
        if how == "unbiased":
            log, options["mar"] = read_pair(data, mar, columns=columns)
        else:
            log = read(data, columns=columns)
        log = read(log, count=count)
        made = split(log, how, seed=seed, min_user=min_user, min_item=min_item, **options)
        save_parts(made, output, log=log, force=force)
        if not quiet:
            typer.echo(_told(made, log, output))


def _whole(number: float | None) -> float | int | None:
    """A number of interactions is whole, a share is not."""
    return int(number) if number is not None and number >= 1 and number == int(number) else number


def _told(made: Parts | Sequence[Parts], log: Interactions, output: Path) -> str:
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
    told = [f"{name}={value}" for name, value in parts.how.items() if name not in own and value is not None]
    return f"{parts.how['how']}({', '.join(told)})"
