"""Runs measured on this machine: a table or a file at once, a large file sorted by user in chunks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trueval.data.failures import empty, reading
from trueval.data.ids import Ids, plain
from trueval.data.missing_ids import check_ids
from trueval.data.run_tables import read_run, scan_run
from trueval.data.sorted_runs import SortedRun
from trueval.data.together import first_rows
from trueval.data.whole_runs import STREAMED_ROWS, read_at_once, read_whole
from trueval.errors import DataError
from trueval.evaluation.engines.plan import MeasurementPlan, Partition, RunOptions
from trueval.evaluation.held_out import HeldOut
from trueval.evaluation.measure_and_conclude import MeasuredSystem
from trueval.evaluation.options import specs_of
from trueval.facts.truth import check_common_ids
from trueval.memory import available, need_memory

_FEWEST_ROWS, _ROW_BYTES = 100_000, 120  # of a chunk; and what a row takes there
_LEAST = 2**28  # bytes without which nothing can be read in chunks either
_TOO_MANY = "ask for fewer metrics at a time, evaluate fewer users (--only-users), or use --engine spark"
_USER_BYTES = 32  # what a metric takes for each user


def here(source: Any) -> Any:
    """A test set, train set or catalogue: all are here."""
    return source


def items_of(source: Any, how: RunOptions) -> pl.Series:
    """The items a run recommends."""
    if isinstance(source, (str, Path)):
        lazy = scan_run(source, columns=how.run_columns).select(pl.col("item").unique())
        with reading(str(source), what="recommendations"):
            return plain(lazy.collect(engine="streaming")["item"], where=str(source))
    return read_run(source, columns=how.run_columns)["item"].unique()


def measure_run(source: Any, name: str, held_out: HeldOut, how: RunOptions, *, first: bool) -> MeasuredSystem:
    """Measure one run."""
    run = None if how.sorted_by_user else read_at_once(source, how.run_columns, likely=held_out.items, depth=how.depth)
    if run is None:
        need_memory(_LEAST, "chunks of the run", where=name, do="allow more memory, or use --engine spark")
        lazy = scan_run(source, columns=how.run_columns)
        ids = _survey(lazy, source, ascending=not how.sorted_by_user)
        if ids is not None:
            plan = MeasurementPlan.of(name, held_out, ids, first=first)
            return plan.merge(_streamed(lazy, plan, source))
        run = read_whole(source, how.run_columns, likely=held_out.items)
    plan = MeasurementPlan.of(name, held_out, {"user": run.users, "item": run.items.values}, first=first)
    part = plan.sorted(run) if isinstance(run, SortedRun) else None
    if part is None:
        run = read_whole(source, how.run_columns, likely=held_out.items) if isinstance(run, SortedRun) else run
        part = plan.whole(run.frame, run.coded)
    return plan.merge([part])


def _streamed(lazy: pl.LazyFrame, plan: MeasurementPlan, source: Any) -> Iterator[Partition]:
    """Chunks of a run sorted by user, measured one by one."""
    users, metrics = plan.truth.users, len(specs_of(plan.options))
    only = plan.prepared.context.only
    number = len(users) if only is None else int(only.mask.sum())
    values = f"the values of {metrics} metrics for {number:,} users"
    need_memory(number * metrics * _USER_BYTES, values, where=plan.name, do=_TOO_MANY)
    check_common_ids(plan.ids["user"], plan.ids["item"], plan.truth, plan.name)
    seen = np.zeros(len(users), bool)
    for batch in _user_batches(lazy, source):
        codes = users.codes(plain(_heads(batch["user"]), where=plan.name))
        codes = codes[codes >= 0]
        if (codes[1:] <= codes[:-1]).any():
            codes = np.unique(codes)
        if seen[codes].any():
            user = users.decode(codes[seen[codes]][:1])[0]
            raise DataError(
                "the run is not sorted by user",
                where=plan.name,
                found=f"user {user!r} comes back after other users",
                do="sort the file by user, or leave sorted_by_user out",
            )
        seen[codes] = True
        if len(codes):
            yield plan.part(batch, codes)


def _survey(lazy: pl.LazyFrame, source: Any, *, ascending: bool) -> dict[str, pl.Series] | None:
    """The users and items of a run, read in chunks; None where users should be ascending and are not."""
    found: dict[str, list[pl.Series]] = {"user": [], "item": []}
    rows = 0
    with reading(str(source), what="recommendations"):
        for batch in lazy.select("user", "item").collect_batches(chunk_size=_chunk_rows(), maintain_order=True):
            if not len(batch):
                continue
            check_ids(batch, str(source), first=rows + 1, run=True)
            rows += len(batch)
            heads = _heads(batch["user"])
            if ascending and not (heads.is_sorted() and (not found["user"] or found["user"][-1][-1] <= heads[0])):
                return None
            found["user"].append(heads)
            found["item"].append(Ids.of(plain(batch["item"], where=str(source))).values)
    if not found["user"]:
        raise empty(str(source))
    return {role: Ids.of(*(plain(p, where=str(source)) for p in parts)).values for role, parts in found.items()}


def _chunk_rows() -> int:
    """Rows of a chunk: a quarter of the memory holds them. Results do not depend on it."""
    left = available()
    return STREAMED_ROWS if left is None else min(STREAMED_ROWS, max(_FEWEST_ROWS, left // (4 * _ROW_BYTES)))


def _chunks(lazy: pl.LazyFrame, source: Any) -> Iterator[pl.DataFrame]:
    """A file piece by piece; one that cannot be read to its end is an error that names it."""
    with reading(str(source), what="recommendations"):
        yield from (c for c in lazy.collect_batches(chunk_size=_chunk_rows(), maintain_order=True) if len(c))


def _user_batches(lazy: pl.LazyFrame, source: Any) -> Iterator[pl.DataFrame]:
    """Chunks of a file sorted by user, cut between users."""
    carried: pl.DataFrame | None = None
    for chunk in _chunks(lazy, source):
        frame = chunk if carried is None else pl.concat([carried, chunk])
        user = frame["user"]
        whole = len(frame) - int((user == user[-1]).sum())  # the last user may go on in the next chunk
        carried = frame.slice(whole)
        if whole:
            yield frame.slice(0, whole)
    if carried is not None:
        yield carried


def _heads(user: pl.Series) -> pl.Series:
    """One of each user, where the rows of a user stand together.

    >>> _heads(pl.Series([4, 4, 7, 7, 7])).to_list()
    [4, 7]
    """
    return user.gather(pl.Series(first_rows(user), dtype=pl.UInt32))
