"""Runs whose files are in order, as most are: coded while they are read, so that the rows are never all in memory."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

import numpy as np
import polars as pl

from trueval.data.failures import FAILURES
from trueval.data.id_keys import ANY, SHORT, keys
from trueval.data.ids import Ids
from trueval.data.kept_items import KeptItems, kept_items
from trueval.data.key_tables import Codes
from trueval.data.together import is_first
from trueval.kernels import SMALL, choose, load_compiler

# What a column may take of the rows that are read at a time. Memory of columns below eight megabytes is used again for
# the next rows; from there on the allocator of polars gives it back, and most time would go into having it cleared.
_BYTES = 8_000_000
_AHEAD = 2  # times these rows are read while others are looked at
_SAMPLE = 10_000


@dataclass(frozen=True)
class SortedRun:
    """Lists as they stand in a file: rows of a user together, best first, no two scores of a list equal, no item twice.

    Of each list the first rows are here, `depth` of them; None: all.
    """

    users: pl.Series = field(repr=False)  # one for each list
    length: np.ndarray = field(repr=False)  # of each list, here or not
    items: Ids = field(repr=False)  # of all rows, here or not
    item: Codes = field(repr=False)  # of each row that is here
    depth: int | None

    def reaches(self, depth: int | None) -> bool:
        """Whether lists cut to this depth (None: not cut) are here."""
        return self.depth is None or (depth is not None and depth <= self.depth)

    @property
    def start(self) -> np.ndarray:
        """The row at which each list starts, among those that are here, and the end."""
        here = self.length if self.depth is None else np.minimum(self.length, self.depth)
        return np.concatenate([[0], np.cumsum(here)])


def read_sorted(run: pl.LazyFrame, rows: int, *, depth: int | None = None) -> SortedRun | None:
    """Read a run of so many rows, and keep its lists to some depth; None where it is not sorted, or looks wrong.

    Whether a user has two lists is not looked at (but see `looks_sorted`). None also for so few rows that no compiled
    kernel is worth loading.

    >>> from trueval.kernels import use_kernels
    >>> run = pl.LazyFrame({"user": [7, 7, 5], "item": [4, 2, 4], "score": [0.9, 0.1, 0.5]})
    >>> with use_kernels("compiled"):
    ...     found = read_sorted(run, 3)
    >>> found.users.to_list(), found.length.tolist(), found.items.values.to_list(), found.item.tolist()
    ([7, 5], [2, 1], [2, 4], [1, 0, 1])
    """
    schema = run.collect_schema()
    if "rank" in schema or "score" not in schema or not hasattr(choose("lists", rows), "code_keys"):
        return None
    whole = {role: schema[role].is_integer() and schema[role] not in (pl.UInt64, pl.Int128) for role in _IDS}
    texts = {role: schema[role] == pl.String for role in _IDS}
    if not all(whole[role] or texts[role] for role in _IDS) or schema["score"] not in (pl.Float32, pl.Float64):
        return None
    narrow = [role for role in _IDS if whole[role] and schema[role] != pl.Int64]
    run = run.with_columns(pl.col(narrow).cast(pl.Int64)) if narrow else run  # polars hands out more and smaller arrays
    at_a_time = max(1, _BYTES // (16 if any(texts.values()) else 8))
    try:
        return _coded(_pieces(run, rows, at_a_time), rows, depth)
    except FAILURES:  # who reads it in the other way is told
        return None


_IDS = ("user", "item")


def looks_sorted(run: pl.LazyFrame) -> bool:
    """Whether users stand together in the first rows: to read these takes next to nothing.

    >>> looks_sorted(pl.LazyFrame({"user": [7, 7, 5]})), looks_sorted(pl.LazyFrame({"user": [7, 5, 7]}))
    (True, False)
    """
    try:
        user = run.select("user").head(_SAMPLE).collect()["user"]
    except FAILURES:  # who reads it whole is told
        return False
    heads = user.filter(pl.Series(is_first(user.rechunk())))
    return heads.n_unique() == len(heads)


def _coded(pieces: Iterator[pl.DataFrame], rows: int, depth: int | None) -> SortedRun | None:
    lists, at = _Lists(depth, rows), 0
    before: tuple[Any, float] | None = None  # user and score of the last row: a row of a table would hold all of it
    for piece in pieces:
        begin = _first_rows(piece, before)
        if begin is None or not lists.add(piece, begin, at):
            return None
        before, at = (piece["user"][-1], piece["score"][-1]), at + len(piece)
    return lists.run() if at == rows else None


class _Lists:
    """What is kept of the rows so far."""

    def __init__(self, depth: int | None, rows: int) -> None:
        self.depth, self.rows = depth, rows
        self.items: KeptItems | None = None
        self.users, self.starts = list[pl.Series](), list[np.ndarray]()
        self.number, self.last = 0, 0  # of lists, and the row at which the last one starts

    def add(self, piece: pl.DataFrame, begin: np.ndarray, at: int) -> bool:
        """Add a piece in which lists begin at some rows, and which begins at row `at`; False: it cannot be kept."""
        items = self.items = self.items or kept_items(piece["item"], self.rows, self.depth)
        goes_on = int(not len(begin) or begin[0] > 0)  # whether the first rows are of the list before
        bounds = np.concatenate([np.zeros(goes_on, np.int64), begin, [len(piece)]])
        if not items.add(piece["item"], bounds, self.number - goes_on, goes_on * (at - self.last)):
            return False
        self.users.append(piece["user"].gather(pl.Series(begin, dtype=pl.UInt32)))
        self.starts.append(begin + at)
        self.number += len(begin)
        self.last = int(begin[-1]) + at if len(begin) else self.last
        return True

    def run(self) -> SortedRun | None:
        """All of it; None where there is nothing."""
        if self.items is None:
            return None
        users, length = pl.concat(self.users, rechunk=True), np.diff(np.concatenate([*self.starts, [self.rows]]))
        return SortedRun(users, length, *self.items.coded(), self.depth)


def _first_rows(piece: pl.DataFrame, before: tuple[Any, float] | None) -> np.ndarray | None:
    """The rows of a piece at which lists begin; `before` is of the row before it. None where it is not in order."""
    if not len(piece) or any(column.null_count() for column in piece):
        return None
    user, score = piece["user"], piece["score"].to_numpy()
    goes_on = before is not None and user[0] == before[0]
    last, heads = score.dtype.type(np.inf if before is None else before[1]), np.empty(len(piece), np.int32)
    whole = user.dtype.is_integer()
    for short in (True, False):  # texts that are too long to be their own keys are told on the way
        longest = np.uint64(SHORT if short and not whole else ANY)
        kernel = choose("lists", SMALL + 1).list_heads
        number = kernel(*keys(user, short=short), longest, score, goes_on, last, heads)
        if number >= -1:
            return heads[:number] if number >= 0 else None
    raise AssertionError("no text is longer than any")


def _pieces(run: pl.LazyFrame, rows: int, at_a_time: int) -> Iterator[pl.DataFrame]:
    """The rows some at a time, each column of them in one array, while the next ones are read."""

    def read(begin: int) -> pl.DataFrame:
        return run.slice(begin, at_a_time).collect()

    begins = iter(range(0, rows, at_a_time))
    with ThreadPoolExecutor(_AHEAD) as pool:
        ahead = [pool.submit(read, begin) for begin in islice(begins, _AHEAD)]
        load_compiler(rows)
        while ahead:
            piece = ahead.pop(0).result()
            ahead += [pool.submit(read, begin) for begin in islice(begins, 1)]
            yield from _arrays(piece)


def _arrays(piece: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The parts of a table that are one array a column, in turn: to join them would take as much memory again."""
    ends = np.cumsum([0, *piece["user"].chunk_lengths()])
    for begin, end in pairwise(ends.tolist()):
        part = piece[begin:end]
        yield part if set(part.n_chunks("all")) == {1} else part.rechunk()
