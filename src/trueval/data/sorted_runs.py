"""Runs whose files are in order, as most are: coded while they are read, so that the rows are never all in memory."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import polars as pl

from trueval.data.failures import FAILURES
from trueval.data.first_seen import FirstSeen
from trueval.data.ids import Ids
from trueval.data.key_tables import Codes
from trueval.data.together import is_first
from trueval.kernels import choose

# Rows that are read at a time. Memory of columns below eight megabytes is used again for the next rows; from there on
# the allocator of polars gives it back, and most of the time would go into having it cleared.
_ROWS = 1 << 19
_SAMPLE = 10_000
_AHEAD = 2  # times these rows are read while others are looked at


@dataclass(frozen=True)
class SortedRun:
    """Lists as they stand in a file: rows of a user together, best first, no two scores of a list equal."""

    users: pl.Series = field(repr=False)  # one for each list
    start: np.ndarray = field(repr=False)  # row at which each list starts, and the end
    items: Ids = field(repr=False)
    places: Codes = field(repr=False)  # of the item of each row, among the items as they were found
    codes: Codes = field(repr=False)  # of the items as they were found


def read_sorted(run: pl.LazyFrame, rows: int) -> SortedRun | None:
    """Read a run of so many rows; None where it is not sorted, or anything looks wrong with it.

    Whether a user has two lists is not looked at. None also for so few rows that no compiled kernel is worth loading.

    >>> from trueval.kernels import use_kernels
    >>> run = pl.LazyFrame({"user": [7, 7, 5], "item": [4, 2, 4], "score": [0.9, 0.1, 0.5]})
    >>> with use_kernels("compiled"):
    ...     found = read_sorted(run, 3)
    >>> found.users.to_list(), found.start.tolist(), found.items.values.to_list(), found.codes[found.places].tolist()
    ([7, 5], [0, 2, 3], [2, 4], [1, 0, 1])
    """
    schema = run.collect_schema()
    if "rank" in schema or "score" not in schema or not hasattr(choose("lists", rows), "code_keys"):
        return None
    whole = {role: schema[role].is_integer() and schema[role] not in (pl.UInt64, pl.Int128) for role in _IDS}
    if not all(whole[role] or schema[role] == pl.String for role in _IDS) or not schema["score"].is_float():
        return None
    run = run.with_columns(pl.col(role).cast(pl.Int64) for role in _IDS if whole[role])
    try:
        return None if _user_comes_back(run) else _coded(run, rows)
    except FAILURES:  # who reads it in the other way is told
        return None


_IDS = ("user", "item")


def _user_comes_back(run: pl.LazyFrame) -> bool:
    """Whether the first rows tell already that users do not stand together: to read them takes next to nothing."""
    user = run.select("user").head(_SAMPLE).collect()["user"]
    heads = user.filter(pl.Series(is_first(user.rechunk())))
    return heads.n_unique() < len(heads)


def _coded(run: pl.LazyFrame, rows: int) -> SortedRun | None:
    seen, places = FirstSeen(), np.empty(rows, np.int32)
    users: list[pl.Series] = []
    starts: list[np.ndarray] = []
    last: pl.DataFrame | None = None
    at = 0
    for piece in _slices(run, rows):
        begin = _first_rows(piece, last)
        if begin is None:
            return None
        users.append(piece["user"].gather(pl.Series(begin, dtype=pl.UInt32)))
        starts.append(begin + at)
        seen.code(piece["item"], places[at : at + len(piece)])
        last, at = piece[-1], at + len(piece)
    if at != rows:
        return None
    found = seen.ids
    order = found.arg_sort().to_numpy()
    codes = np.empty(len(order), np.int32)
    codes[order] = np.arange(len(order), dtype=np.int32)
    return SortedRun(
        pl.concat(users, rechunk=True), np.append(np.concatenate(starts), rows), Ids(found[order]), places, codes
    )


def _first_rows(piece: pl.DataFrame, before: pl.DataFrame | None) -> np.ndarray | None:
    """The rows of a piece at which lists begin; `before` is the row before it. None where it is not in order."""
    if not len(piece) or any(column.null_count() for column in piece):
        return None
    user, score = piece["user"], piece["score"].to_numpy()
    first = is_first(user)
    first[0] = before is None or user[0] != before["user"][0]
    falling = np.empty(len(score), bool)
    np.less(score[1:], score[:-1], out=falling[1:])
    falling[0] = before is None or score[0] < before["score"][0]
    falling |= first
    begin = np.flatnonzero(first)
    ends = np.append(begin - 1, -1)  # where lists fall, these and their heads tell of all
    in_order = falling.all() and np.isfinite(score[begin]).all() and np.isfinite(score[ends]).all()
    return begin if in_order else None


def _slices(run: pl.LazyFrame, rows: int) -> Iterator[pl.DataFrame]:
    """The rows some at a time, each column of them in one array, while the next ones are read."""

    def read(begin: int) -> pl.DataFrame:
        piece = run.slice(begin, _ROWS).collect()
        return piece if piece.n_chunks() == 1 else piece.rechunk()

    begins = iter(range(0, rows, _ROWS))
    with ThreadPoolExecutor(_AHEAD) as pool:
        ahead = [pool.submit(read, begin) for begin in islice(begins, _AHEAD)]
        while ahead:
            piece = ahead.pop(0).result()
            ahead += [pool.submit(read, begin) for begin in islice(begins, 1)]
            yield piece
