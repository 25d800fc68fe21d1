"""Splits of the whole log at a moment: train strictly before the cut, test from the cut on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from trueval.data.interactions import Interactions
from trueval.data.times import nanoseconds, ticks_per_second
from trueval.errors import DataError, DefinitionError
from trueval.splits import options
from trueval.splits.options import (
    MOST_PARTS,
    at_least,
    check_together,
    choice,
    count,
    exact,
    need_time,
    rounded_down,
    share,
)
from trueval.splits.parts import COLD, DROPPED, TEST, TRAIN, VALIDATION, Parts, assemble
from trueval.splits.registry import FUTURES, split
from trueval.splits.row_hashing import Coded

Number = int | float
Moment = int | float | str | date | datetime | np.datetime64

_REASONS = (*COLD["test"], *COLD["validation"], "after the window")
# Codes of the reasons, each for the user and, one further, for the item.
_NEW, _FIRST_IN_VALIDATION, _NEW_IN_VALIDATION, _AFTER = DROPPED, DROPPED + 2, DROPPED + 4, DROPPED + 6
_AT = "time of the cut: a number or an ISO date (optionally with an offset)"
_UNSEEN = choice("test and validation rows of users and items without train rows", "drop", "keep")


@split(
    by="time",
    options={
        "at": options.moment(_AT),
        "ratio": share("share of the log to test on"),
        "unseen": _UNSEEN,
        "validation": share("share of the log for validation"),
    },
    promises=FUTURES,
    strict=True,
    carved=("temporal", ("unseen",)),
)
def temporal(
    log: Interactions,
    *,
    at: Moment | None = None,
    ratio: float | None = None,
    unseen: str = "drop",
    validation: float | None = None,
) -> Parts:
    """Cut the log at a moment (`at`), or where a share of it (`ratio`, 0.2 if neither is given) follows.

    With a ratio the cut is the latest moment from which at least that share of rows follows: rows of one
    moment stay together. `validation` is the share of the log, again at least, just before the cut, which stays
    where it is.

    Seen means in train, the only part that systems learn from: test and validation rows of users or items
    without train rows are dropped, with a reason, and unseen="keep" keeps them. So with a validation part some users
    are not tested who would be without it, those first seen in validation. To train on its rows once parameters are
    chosen, split again without validation: the cut is the same, and these users are tested.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"user": [1, 1, 1, 2], "item": [1, 2, 1, 1], "time": [10, 20, 30, 40]})
    >>> log = Interactions.of(rows)
    >>> parts = temporal(log, at=30)
    >>> len(parts.train), len(parts.test), parts.dropped["reason"].to_list()
    (2, 1, ['user unseen before the cut'])
    """
    if at is not None and ratio is not None:
        raise DefinitionError(
            "a temporal split takes a moment or a ratio, not both",
            where="split temporal",
            found=f"at = {at!r}, ratio = {ratio!r}",
            do="leave one of them out",
        )
    need_time(
        log.has("time"), split="temporal", log=log.name, instead="holdout", columns=log.frame.columns
    )  # fmt: skip
    coded = Coded.of(log)
    times = coded.times()
    if at is None:
        ratio = 0.2 if ratio is None else ratio
        cut = _cut_of_share(np.sort(times), ratio, split="temporal", log=log.name)
    else:
        cut = moment(at, times, split="temporal")
    place = np.where(times >= cut, TEST, TRAIN).astype(np.int8)
    if validation is not None:
        _hold_before(place, times, check_together(ratio or 0.0, validation, split="temporal"), log=log.name)
    if unseen == "drop":
        _drop_unseen(place, coded)
    given = {"ratio": ratio} if at is None else {"at": str(at)}
    how = {"how": "temporal", **given, "cut": cut, "unseen": unseen, "validation": validation}
    return assemble(log, place, how=how, reasons=_REASONS)


@split(
    by="time",
    options={
        "windows": count("number of windows", most=MOST_PARTS),
        "ratio": share("share of the log to test on"),
        "at": options.moment(_AT, many=True),
        "unseen": _UNSEEN,
    },
    several="window",
    promises=FUTURES,
    strict=True,
    carved=("temporal", ("unseen",)),
)
def rolling(
    log: Interactions,
    *,
    windows: int | None = None,
    ratio: float | None = None,
    at: Sequence[Moment] | None = None,
    unseen: str = "drop",
) -> list[Parts]:
    """Several temporal cuts: each window is tested once, with everything before it as train.

    The last `ratio` (0.5) of the log, at least, is cut into `windows` (5) whose numbers of rows differ by one at most
    where all times differ, since rows of one moment stay together; or `at` gives the beginning of each window. Rows
    after a window are dropped from its parts, with a reason, and so are test rows of users or items without train
    rows, unless unseen="keep".

    >>> import polars as pl
    >>> log = Interactions.of(pl.DataFrame({"user": [1] * 8, "item": [1] * 8, "time": list(range(8))}))
    >>> [(len(parts.train), len(parts.test)) for parts in rolling(log, windows=2, ratio=0.5)]
    [(4, 2), (6, 2)]
    """
    need_time(
        log.has("time"), split="rolling", log=log.name, instead="kfold", columns=log.frame.columns
    )  # fmt: skip
    coded = Coded.of(log)
    times = coded.times()
    how: dict[str, Any]
    if at is None:
        number, ratio = 5 if windows is None else windows, 0.5 if ratio is None else ratio
        edges, how = _edges(times, number, ratio, log=log.name), {"windows": number, "ratio": ratio}
    elif windows is None and ratio is None:
        edges = _given_edges(at, times)
        how = {"windows": len(edges), "at": [str(when) for when in at]}
    else:
        raise DefinitionError(
            "a rolling split takes the beginnings of its windows, or their number and ratio, not both",
            where="split rolling",
            found=f"at = {at!r}, windows = {windows!r}, ratio = {ratio!r}",
            do="leave at out, or windows and ratio",
        )
    parts = []
    for window, (begin, end) in enumerate(zip(edges, [*edges[1:], None]), start=1):
        place = np.where(times >= begin, TEST, TRAIN).astype(np.int8)
        if end is not None:
            place[times >= end] = _AFTER
        if unseen == "drop":
            _drop_unseen(place, coded)
        window_how = {"how": "rolling", **how, "unseen": unseen, "window": window, "from": begin, "to": end}
        parts.append(assemble(log, place, how=window_how, reasons=_REASONS))
    return parts


def _cut_of_share(ordered: np.ndarray, ratio: float | Fraction, *, split: str, log: str) -> Number:
    """The latest time from which at least a share of the (ordered) times follows."""
    behind = at_least(len(ordered), ratio)
    cut = ordered[len(ordered) - behind] if behind < len(ordered) else ordered[0]
    if cut == ordered[0]:
        first = int(np.searchsorted(ordered, ordered[0], side="right"))
        largest = Fraction(len(ordered) - first, len(ordered))
        raise DataError(
            "there are no rows before the cut",
            where=f"split {split} of {log}",
            found=f"{first:,} of {len(ordered):,} rows have the first time, {ordered[0]}",
            do=f"use a ratio of at most {rounded_down(largest)}" if largest else "split it by chance: holdout",
        )
    return cut.item()


def _hold_before(place: np.ndarray, times: np.ndarray, validation: float, *, log: str) -> None:
    """Give the last rows before the cut, at least a share of the whole log, to validation."""
    before = np.sort(times[place == TRAIN])
    needed = at_least(len(times), validation)
    cut = before[len(before) - needed] if needed < len(before) else None
    if cut is None or cut == before[0]:
        raise DataError(
            "validation leaves no row for train",
            where=f"split temporal of {log}",
            found=f"{len(before):,} rows before the cut, {needed:,} of them needed for validation",
            do="use another validation share",
        )
    place[(place == TRAIN) & (times >= cut)] = VALIDATION


def _drop_unseen(place: np.ndarray, coded: Coded) -> None:
    """Drop test and validation rows of users or items without train rows.

    Once is enough: train itself never changes, so nothing that is dropped was the history of anything that stays.
    """
    train, validation, test = (place == code for code in (TRAIN, VALIDATION, TEST))
    # users last: where both are unseen, the reason is the user
    for offset, codes, number in ((1, coded.items, coded.n_items), (0, coded.users, coded.n_users)):
        known = np.zeros(number, bool)
        known[codes[train]] = True
        later = np.zeros(number, bool)
        later[codes[validation]] = True
        unseen = ~known[codes]
        place[test & unseen] = _NEW + offset
        place[test & unseen & later[codes]] = _FIRST_IN_VALIDATION + offset
        place[validation & unseen] = _NEW_IN_VALIDATION + offset


def _edges(times: np.ndarray, windows: int, ratio: float, *, log: str) -> list[Number]:
    ordered = np.sort(times)
    shares = (exact(ratio) * (windows - window) / windows for window in range(windows))
    edges = [_cut_of_share(ordered, share, split="rolling", log=log) for share in shares]
    if len(set(edges)) < windows:
        raise DataError(
            "the times are too coarse for so many windows",
            where=f"split rolling of {log}",
            found=f"{windows} windows, {len(set(edges))} different beginnings",
            do=f"use windows={len(set(edges))} or fewer, or a larger ratio",
        )
    return edges


def _given_edges(at: Sequence[Moment], times: np.ndarray) -> list[Number]:
    several = [at] if isinstance(at, Moment) else list(at)
    edges = [moment(when, times, split="rolling") for when in several]
    if not edges or edges != sorted(set(edges)):
        raise DefinitionError(
            "the beginnings of the windows must be different and in order",
            where="split rolling",
            found=f"at = {at!r}",
            do="list each moment once, earliest first",
        )
    return edges


def moment(at: Moment, times: np.ndarray, *, split: str) -> Number:
    """A moment on the clock of the log, with rows before it and from it on.

    Numbers are on the log's own scale. Dates (UTC unless they say otherwise) are turned into seconds,
    milliseconds, microseconds or nanoseconds since 1970, by the size of the log's numbers.

    >>> moment("2000-12-01", np.array([956703932, 1046454590]), split="temporal")
    975628800
    >>> moment("2000-12-01T01:00+01:00", np.array([956703932.25, 1046454590.5]), split="temporal")
    975628800.0
    """
    low, high = times.min().item(), times.max().item()
    exactly = _on_clock(at, ticks=ticks_per_second(max(abs(low), abs(high))))
    if exactly is None or not low < exactly <= high:
        raise DefinitionError(
            "the moment of the cut could not be read"
            if exactly is None
            else "the cut lies outside the time range of the log",
            where=f"split {split}",
            found=f"at = {at!r}; the log goes from {low} to {high}",
            do="use a number on the scale of the log's times, or an ISO date such as 2020-12-31",
        )
    # A float of the log is the one nearest to what was written, and so is the cut. Whole times are compared exactly:
    # a row at or after 3.5 is one at or after 4.
    return float(exactly) if times.dtype.kind == "f" else ceil(exactly)


def _on_clock(at: Moment, *, ticks: int) -> Fraction | None:
    """The moment as a number of ticks, exactly; None where it cannot be read."""
    if isinstance(at, bool):
        return None
    if isinstance(at, date | np.datetime64):
        at = at.isoformat() if isinstance(at, date) else str(at)
    try:
        return Fraction(at.item() if isinstance(at, np.number) else at)
    except (ValueError, TypeError, OverflowError):  # not a number, or not a finite one
        since = nanoseconds(at) if isinstance(at, str) else None
        return None if since is None else Fraction(since * ticks, 10**9)
