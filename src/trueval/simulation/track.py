"""Snapshots of a real system over time, measured like the rounds of a feedback loop."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trueval.arguments import checked
from trueval.data.column_roles import naming
from trueval.data.ids import Ids, check_same_kind
from trueval.data.interactions import Interactions
from trueval.data.items import read_items
from trueval.data.logged_tables import has_log
from trueval.data.read import read
from trueval.data.table_columns import columns_of, read_columns
from trueval.data.tables import stem
from trueval.errors import DataError, DefinitionError
from trueval.simulation.feedback_loop import group_items
from trueval.simulation.list_likeness import equal_gini, mean_jaccard, mean_overlap
from trueval.simulation.trajectory import PREFIX, Trajectory
from trueval.statistics.inequality import gini_index

__all__ = ["track"]

_ENDINGS = (".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".json", ".jsonl", ".feather", ".arrow")
_HEAD = 0.1


@checked
def track(
    snapshots: Any,
    *,
    periods: int | None = None,
    items: Any = None,
    by: str | None = None,
    columns: Mapping[str, Any] | str | None = None,
    seed: int = 0,
) -> Trajectory:
    """Measure a series of logs or lists over time, to see whether the rich get richer.

    Parameters
    ----------
    snapshots : folder, list of files or tables, mapping from names to them, or one log
        A folder is read file by file, in the order of names. Each is a log (user, item), or lists that were shown. One
        log is cut into `periods` of equally many rows, by time.
    periods : int, optional
        Number of snapshots to cut one log into. Default: 10 for one log.
    items : list of ids, table or file, optional
        The catalogue, perhaps with columns of groups. Default: all items of all snapshots.
    by : text, optional
        Column of `items` whose groups share the rows.
    columns : mapping or text, optional
        Roles of columns without a common name: {"user": "uid"} or "user=uid,items.item=sku", the latter for the table
        of items alone.
    seed : int, default 0
        Seed of the draws that make snapshots of different sizes comparable.

    Returns
    -------
    Trajectory
        A row per snapshot: rows, users, Gini, Gini of equally many rows, coverage, overlap and Jaccard index of the
        items of different users, mean value, share of the first snapshot's head, exposure of groups.

    Raises
    ------
    TruevalError
        For fewer than two snapshots, and for tables that cannot be read.

    Examples
    --------
    >>> import polars as pl, trueval as tv
    >>> early = pl.DataFrame({"user": [1, 1, 2, 2], "item": ["a", "b", "c", "d"]})
    >>> late = pl.DataFrame({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "b"]})
    >>> found = tv.track({"May": early, "June": late}).to_polars()
    >>> found["gini"].to_list(), found["overlap"].to_list()
    ([0.0, 0.5], [0.0, 1.0])
    """
    roles = read_columns(columns, log=snapshots, items=items)
    of_logs = columns_of(roles, "log") or None
    named = _named(snapshots, periods, of_logs)
    if len(named) < 2:
        raise DefinitionError(
            "a series needs at least two snapshots", found=f"{len(named)}", do="give more files, or periods=10 of a log"
        )
    logs = {name: _log(name, source, of_logs) for name, source in named.items()}
    table = None if items is None else read_items(items, columns=roles)
    if by is not None and table is None:
        first = next(iter(logs.values()))
        if first.items is None:
            raise DefinitionError("groups need a table of items", found=f"by = {by!r}, no items", do="give items=…")
        table = first.items
    _check_ids(logs, table)
    ids = Ids.of(*(log.frame["item"] for log in logs.values()), *([] if table is None else [table["item"]]))
    groups = _group_of(table, by, ids)
    least = min(map(len, logs.values()))
    rows: list[dict[str, Any]] = []
    head = np.empty(0, np.int64)
    for name, log in logs.items():
        counts = np.bincount(ids.codes(log.frame["item"]), minlength=len(ids))
        if not rows:
            head = np.lexsort((np.arange(len(ids)), -counts))[: max(1, round(_HEAD * len(ids)))]
        rows.append(_measured(name, log, ids, counts, head, groups, least, seed))
    frame = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col(pl.Float64).fill_nan(None))
    return Trajectory(frame, {"snapshots": list(logs), "items": len(ids), "by": by, "seed": seed})


def _check_ids(logs: Mapping[str, Interactions], table: pl.DataFrame | None) -> None:
    """Refuse item ids that are numbers in one table and text in another: none would be found again."""
    name, first = next(iter(logs.items()))
    others = [(other, log.frame["item"]) for other, log in logs.items()]
    for other, items in [*others, *([] if table is None else [("items", table["item"])])]:
        check_same_kind(first.frame["item"], items, role="item", where=(name, other))


def _measured(
    name: str, log: Interactions, ids: Ids, counts: np.ndarray, head: np.ndarray, groups: Any, least: int, seed: int
) -> dict[str, Any]:
    item = ids.codes(log.frame["item"])
    user = Ids.of(log.frame["user"]).codes(log.frame["user"])
    once = np.unique(user.astype(np.int64) * len(ids) + item)
    owner, thing = once // len(ids), once % len(ids)
    row: dict[str, Any] = {
        "snapshot": name, "rows": len(log), "users": len(np.unique(user)), "gini": gini_index(counts),
        "gini_equal": equal_gini(counts, least, seed=seed), "coverage": float((counts > 0).mean()),
        "overlap": mean_overlap(owner, thing), "jaccard": mean_jaccard(owner, thing, seed=seed),
    }  # fmt: skip
    if log.has("value") and log.frame["value"].n_unique() > 1:
        row["mean_value"] = float(log.frame["value"].mean())  # type: ignore[arg-type]
    row["old_head"] = float(counts[head].sum() / max(counts.sum(), 1))
    group, names = groups
    total = np.bincount(group, counts, minlength=len(names)) if names else np.empty(0)
    return row | {PREFIX + one: float(part) for one, part in zip(names, total / max(total.sum(), 1e-300))}


def _group_of(table: pl.DataFrame | None, by: str | None, ids: Ids) -> tuple[np.ndarray, list[str]]:
    """The group of each item, and the names of the groups; items that the table lacks are "unknown"."""
    if by is None or table is None:
        return np.empty(0, np.int64), []
    own = ids.values.alias("item").to_frame()
    wide = own.join(table, on="item", how="left", maintain_order="left")
    return group_items(wide, by)[1:]


def _named(snapshots: Any, periods: int | None, columns: Any) -> dict[str, Any]:
    if isinstance(snapshots, Mapping):
        return {str(name): source for name, source in snapshots.items()}
    if isinstance(snapshots, (list, tuple)):
        return _by_name(snapshots)
    folder = Path(snapshots) if isinstance(snapshots, (str, Path)) and periods is None else None
    if folder is not None and folder.is_dir() and not has_log(folder):
        found = sorted(path for path in folder.iterdir() if path.name.endswith(_ENDINGS) or has_log(path))
        if not found:
            raise DataError(
                "the folder has no snapshots", where=str(snapshots), do="give a folder of parquet or csv files"
            )
        return _by_name(found)
    return _cut(_log("log", snapshots, columns), 10 if periods is None else periods)


def _by_name(sources: Any) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for number, source in enumerate(sources, 1):
        name = stem(Path(source)) if isinstance(source, (str, Path)) else str(number)
        named[name if name not in named else f"{name} ({number})"] = source
    return named


def _cut(log: Interactions, periods: int) -> dict[str, Any]:
    """Snapshots of equally many rows, in the order of time."""
    if not log.has("time"):
        raise DataError(
            "one log needs times to be cut into snapshots", where=log.name,
            found="columns " + ", ".join(log.frame.columns),
            do=f"{naming('time', log.frame.columns)}, or give several files",
        )  # fmt: skip
    if not 2 <= periods <= len(log):
        found = f"{periods} of {len(log):,} rows"
        raise DefinitionError("a log cannot be cut into so many periods", found=found, do="10 are usual")
    ordered = log.frame.sort("time", "user", "item")
    cuts = np.linspace(0, len(ordered), periods + 1).astype(int)
    return {str(n): log.keep(ordered[a:b]) for n, (a, b) in enumerate(pairwise(cuts), 1)}


def _log(name: str, source: Any, columns: Any) -> Interactions:
    if isinstance(source, Interactions):
        return source
    log = read(source, columns=columns)
    return log.keep(log.frame, name=name)
