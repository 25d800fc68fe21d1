"""Splits of each user's own history: the last (or a random) interaction, the last share."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueval.data.interactions import Interactions
from trueval.splits.holdout import cut_each
from trueval.splits.options import check_together, choice, count, need_time, share
from trueval.splits.parts import TEST, TRAIN, VALIDATION, Parts, assemble
from trueval.splits.registry import BY_USER, split
from trueval.splits.row_hashing import Coded, place_within


@split(
    by="time",
    options={
        "which": choice("which rows of each user to hold out", "last", "random"),
        "n": count("interactions of each user"),
        "validation": count("interactions of each user for validation", least=0),
    },
    promises=lambda how: ("own_future",) if how.get("which") == "last" else (),
    chance=lambda how: BY_USER if how.get("which") == "random" else None,
    carved=("leave_one_out", ("which", "n")),
)
def leave_one_out(
    log: Interactions, *, which: str = "last", n: int = 1, validation: int | None = 0, seed: int = 0
) -> Parts:
    """Hold out the last, or a random, interaction of each user (`n` of them).

    `validation` more are held out just before those (or at random). Users with `n + validation` rows or fewer
    are not tested: all their rows stay in train, and are counted. Equal times are ordered by chance.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"user": [1, 1, 1, 2], "item": [1, 2, 3, 1], "time": [5, 9, 7, 1]})
    >>> log = Interactions.of(rows)
    >>> leave_one_out(log).test.frame["item"].to_list()
    [2]
    """
    n_validation = validation or 0
    if which == "last":
        need_time(
        log.has("time"), split="leave_one_out", log=log.name, instead="which='random'", columns=log.frame.columns
    )  # fmt: skip
    nth, size = _from_end(Coded.of(log), seed=seed, timed=which == "last")
    place = np.full(len(log), TRAIN, np.int8)
    tested = size > n + n_validation
    place[tested & (nth < n + n_validation)] = VALIDATION
    place[tested & (nth < n)] = TEST
    how: dict[str, Any] = {"how": "leave_one_out", "which": which, "n": n, "validation": n_validation, "seed": seed}
    return assemble(log, place, how=how)


@split(
    by="time",
    options={"ratio": share("share of the log to test on"), "validation": share("share of the log for validation")},
    promises=("own_future",),
    carved=("user_temporal", ()),
)
def user_temporal(log: Interactions, *, ratio: float = 0.2, validation: float | None = None, seed: int = 0) -> Parts:
    """Hold out each user's own last share, to the nearest whole number, halves up; one row stays in train.

    Other users' later events stay in train: `leakage` measures how many. Equal times are ordered by chance.

    >>> import polars as pl
    >>> log = Interactions.of(pl.DataFrame({"user": [1] * 5, "item": list("abcde"), "time": [5, 1, 2, 3, 4]}))
    >>> user_temporal(log, ratio=0.4).test.frame["item"].to_list()
    ['a', 'e']
    """
    validation_share = check_together(ratio, validation, split="user_temporal")
    need_time(
        log.has("time"), split="user_temporal", log=log.name, instead="holdout(by='user')", columns=log.frame.columns
    )  # fmt: skip
    place = cut_each(*_from_end(Coded.of(log), seed=seed, timed=True), ratio=ratio, validation=validation_share)
    how = {"how": "user_temporal", "ratio": ratio, "validation": validation, "seed": seed}
    return assemble(log, place, how=how)


def _from_end(coded: Coded, *, seed: int, timed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Place of each row from the end of its user's history (0 is the last), and the history's length."""
    keys = [coded.times()] if timed else []
    nth, size = place_within(coded.users, *keys, coded.hashes(seed, "history"))
    return size - 1 - nth, size
