"""What runs are held against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids, plain
from trueval.data.judged import Judged, check_overlap
from trueval.kernels import blocks


@dataclass(frozen=True, slots=True)
class Truth:
    """What runs are held against: coded judgements, train profiles, and the items there are.

    `catalogue` marks the items that may be recommended; None where nobody said which.
    """

    users: Ids
    items: Ids
    judged: Judged
    train: ByUser | None
    catalogue: np.ndarray | None
    seed: int = 0
    streams: np.ndarray | None = None  # numbers of the users' tie streams, where these are part of a whole
    head: np.ndarray | None = None  # items whose judgements were left out: lists may well hold nothing else


def check_common_ids(users: pl.Series, items: pl.Series, truth: Truth, name: str) -> None:
    """Refuse a run without a user of the test set, or without an item: every value would be a silent zero."""
    judged = np.flatnonzero(np.bincount(truth.judged.rows.item, minlength=len(truth.items)))
    judged = judged if truth.head is None else np.union1d(judged, truth.head)
    for what, column, vocabulary, there in (
        ("user", users, truth.users, np.arange(len(truth.users))),
        ("item", items, truth.items, judged),
    ):
        common = any(
            bool(np.isin(vocabulary.codes(plain(column[part.start : part.stop], where=name)), there).any())
            for part in blocks(len(column), 100_000)  # as a rule the first ones will do
        )
        check_overlap(
            np.full(min(len(column), 1), common),
            what=what,
            where=f"{name} and the test set",
            examples=(column.head(3).to_list(), vocabulary.decode(there[:3]).to_list()),
        )
