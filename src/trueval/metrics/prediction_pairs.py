"""Facts of plain (prediction, rating) pairs, where nothing is ranked."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.data.ids import Ids
from trueval.errors import DataError
from trueval.facts.ranking_facts import UNKNOWN, RankingFacts


def pair_facts(predicted: object, actual: object, users: object = None) -> RankingFacts:
    """One judged row per pair; without users all pairs are one user's.

    >>> len(pair_facts([1.0, 2.0], [1.0, 1.0], ["a", "b"]))
    2
    """
    p, a = np.asarray(predicted, np.float64).ravel(), np.asarray(actual, np.float64).ravel()
    if len(p) != len(a) or not len(p):
        raise DataError("predictions and ratings must pair up", found=f"{len(p)} and {len(a)} values")
    wrong = ~(np.isfinite(p) & np.isfinite(a))
    if wrong.any():
        raise DataError(
            "predictions and ratings must be finite",
            found=f"{int(wrong.sum())} pairs, first at {int(np.flatnonzero(wrong)[0])}",
        )
    names = pl.Series(["all"] * len(p)) if users is None else pl.Series(np.asarray(users))
    if len(names) != len(p):
        raise DataError("there must be one user per pair", found=f"{len(names)} users, {len(p)} pairs")
    ids = Ids.of(names)
    order = np.argsort(ids.codes(names), kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(ids.codes(names), minlength=len(ids)))])
    nothing = np.zeros(len(p), np.int32)
    return RankingFacts(
        unit_user=np.arange(len(ids), dtype=np.int32),
        start=start,
        item=np.arange(len(p), dtype=np.int32),
        value=a[order],
        relevant=a[order] > 0,
        rank=nothing,
        above=nothing,
        tied=nothing,
        score=p[order],
        list_start=np.zeros(len(ids) + 1, np.int64),
        list_item=np.empty(0, np.int32),
        targets=np.full(len(ids), UNKNOWN),
        users=ids,
        items=Ids(pl.Series(np.arange(len(p)))),
        catalogue=len(p),
        exact=False,
    )
