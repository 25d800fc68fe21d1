"""Splits of each user's own history: the last (or a random) interaction, the last share."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueval.data.interactions import Interactions
from trueval.splits.chance import Coded, place_within
from trueval.splits.holdout import cut_each
from trueval.splits.options import check_choice, check_count, check_ratio, check_together, need_time
from trueval.splits.parts import TEST, TRAIN, VALIDATION, Parts, assemble


def leave_one_out(log: Interactions, *, which: str = "last", n: int = 1, validation: int = 0, seed: int = 0) -> Parts:
    """Hold out the last, or a random, interaction of each user (`n` of them).

    `validation` more are held out just before those (or at random). Users with `n + validation` rows or fewer
    are not tested: all their rows stay in train, and are counted. Equal times are ordered by chance.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"user": [1, 1, 1, 2], "item": [1, 2, 3, 1], "time": [5, 9, 7, 1]})
    >>> log = Interactions.of(rows)
    >>> leave_one_out(log).test.frame["item"].to_list()
    [2]
    """
    check_choice("which", which, ("last", "random"), split="leave_one_out")
    n = check_count("n", n, split="leave_one_out")
    held = check_count("validation", validation or 0, split="leave_one_out", least=0)
    if which == "last":
        need_time(log.has("time"), split="leave_one_out", log=log.name, instead="which='random'")
    nth, size = _from_end(Coded.of(log), seed=seed, timed=which == "last")
    place = np.full(len(log), TRAIN, np.int8)
    tested = size > n + held
    place[tested & (nth < n + held)] = VALIDATION
    place[tested & (nth < n)] = TEST
    how: dict[str, Any] = {"how": "leave_one_out", "which": which, "n": n, "validation": held, "seed": seed}
    return assemble(log, place, how=how)


def user_temporal(log: Interactions, *, ratio: float = 0.2, validation: float | None = None, seed: int = 0) -> Parts:
    """Hold out each user's own last share, to the nearest whole number, halves up; one row stays in train.

    Other users' later events stay in train: `leakage` measures how many. Equal times are ordered by chance.

    >>> import polars as pl
    >>> log = Interactions.of(pl.DataFrame({"user": [1] * 5, "item": list("abcde"), "time": [5, 1, 2, 3, 4]}))
    >>> user_temporal(log, ratio=0.4).test.frame["item"].to_list()
    ['a', 'e']
    """
    ratio = check_ratio("ratio", ratio, split="user_temporal")
    held = check_together(ratio, validation, split="user_temporal")
    need_time(log.has("time"), split="user_temporal", log=log.name, instead="holdout(by='user')")
    place = cut_each(*_from_end(Coded.of(log), seed=seed, timed=True), ratio=ratio, validation=held)
    how = {"how": "user_temporal", "ratio": ratio, "validation": validation, "seed": seed}
    return assemble(log, place, how=how)


def _from_end(coded: Coded, *, seed: int, timed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Place of each row from the end of its user's history (0 is the last), and the history's length."""
    keys = [coded.times()] if timed else []
    nth, size = place_within(coded.users, *keys, coded.words(seed, "history"))
    return size - 1 - nth, size
