"""Splits by chance: a share held out, and folds."""

from __future__ import annotations

import numpy as np

from trueval.data.interactions import Interactions
from trueval.errors import DataError
from trueval.splits.options import MOST_PARTS, check_together, choice, count, share, share_of
from trueval.splits.parts import TEST, TRAIN, VALIDATION, Parts, assemble
from trueval.splits.registry import BY_USER, split
from trueval.splits.row_hashing import Coded, chain, coin, place_within


@split(
    by="chance",
    options={
        "ratio": share("share of the log to test on"),
        "by": choice("a share of all rows, or of those of each user", "rating", "user"),
        "validation": share("share of the log for validation"),
    },
    chance=lambda how: {"rating": how.get("ratio"), "user": BY_USER}.get(how.get("by", "")),
    carved=("holdout", ("by",)),
)
def holdout(
    log: Interactions,
    *,
    ratio: float = 0.2,
    by: str = "rating",
    validation: float | None = None,
    seed: int = 0,
) -> Parts:
    """Hold out a share at random; `ratio` and `validation` are both shares of the whole log.

    by="rating" flips a coin for every row. by="user" takes an exact share of each user's rows, to the nearest
    whole number, halves up; at least one row of every user stays in train.
    The test part is the same with and without validation.

    >>> import polars as pl
    >>> log = Interactions.of(pl.DataFrame({"user": [1] * 10, "item": list(range(10))}))
    >>> parts = holdout(log, ratio=0.3, by="user", validation=0.2)
    >>> len(parts.train), len(parts.validation), len(parts.test)
    (5, 2, 3)
    """
    validation_share = check_together(ratio, validation, split="holdout")
    coded = Coded.of(log)
    hashes = coded.hashes(seed, "holdout")
    place = np.full(len(log), TRAIN, np.int8)
    if by == "rating":
        flips = coin(hashes)
        place[flips < ratio + validation_share] = VALIDATION
        place[flips < ratio] = TEST
    else:
        place = cut_each(*place_within(coded.users, hashes), ratio=ratio, validation=validation_share)
    how = {"how": "holdout", "ratio": ratio, "by": by, "validation": validation, "seed": seed}
    return assemble(log, place, how=how)


def cut_each(nth: np.ndarray, size: np.ndarray, *, ratio: float, validation: float) -> np.ndarray:
    """Places of rows when a share of each group is held out: the first go to test, the next to validation.

    One row of each group always stays in train.
    """
    test = np.minimum(share_of(size, ratio), size - 1)
    n_validation = np.minimum(share_of(size, validation), size - 1 - test) if validation else 0
    place = np.where(nth < test + n_validation, VALIDATION, TRAIN)
    return np.where(nth < test, TEST, place).astype(np.int8)


@split(
    by="chance",
    options={
        "n": count("number of folds", least=2, most=MOST_PARTS, flag="folds"),
        "over": choice("what to distribute over the folds", "ratings", "users"),
    },
    several="fold",
    chance=lambda how: 1 / int(how["n"]),
    outside=lambda how: 1.0 if how.get("over") == "users" else 1 / int(how["n"]),  # tested users have nothing in train
)
def kfold(log: Interactions, *, n: int = 5, over: str = "ratings", seed: int = 0) -> list[Parts]:
    """Disjoint folds, each the test part once: over ratings (sizes differ by at most one row) or over users.

    Over users, all rows of a fold's users are its test part, so they are unseen in train.

    >>> import polars as pl
    >>> log = Interactions.of(pl.DataFrame({"user": [1, 1, 2, 2, 3], "item": [1, 2, 1, 2, 1]}))
    >>> sorted(len(parts.test) for parts in kfold(log, n=2))
    [2, 3]
    """
    coded = Coded.of(log)
    if over == "ratings":
        turn = _shuffled(coded.hashes(seed, "kfold")) % n
    else:
        turn = (_shuffled(chain(seed, "kfold", np.arange(coded.n_users))) % n)[coded.users]
    have = len(log) if over == "ratings" else coded.n_users
    if have < n:
        raise DataError(
            f"there are fewer {over} than folds",
            where=f"split kfold of {log.name}",
            found=f"{have:,} {over}, n = {n}",
            do=f"use n={have} or fewer" if have > 1 else "use more data",
        )
    how = {"how": "kfold", "n": n, "over": over, "seed": seed}
    return [
        assemble(log, np.where(turn == fold, TEST, TRAIN).astype(np.int8), how={**how, "fold": fold + 1})
        for fold in range(n)
    ]


def _shuffled(hashes: np.ndarray) -> np.ndarray:
    """Place of each hash in sorted order."""
    place = np.empty(len(hashes), np.int64)
    place[np.argsort(hashes, kind="stable")] = np.arange(len(hashes))
    return place
