"""The ground truth that runs are evaluated against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids, check_same_kind, plain
from trueval.data.judgements import Judged, check_overlap
from trueval.kernels import blocks


@dataclass(frozen=True, slots=True)
class Truth:
    """The ground truth that runs are evaluated against: coded judgements, train profiles and items.

    `catalogue` marks the items that may be recommended; None where it is unknown. A user's targets are these, less
    the user's train items unless `seen_allowed`. What is judged lies inside them (`design.targets`).
    """

    users: Ids
    items: Ids
    judged: Judged
    train: ByUser | None
    catalogue: np.ndarray | None
    seed: int = 0
    streams: np.ndarray | None = None  # numbers of the users' tie streams, where these are part of a whole
    seen_allowed: bool = False
    head: np.ndarray | None = None  # items whose judgements were removed: lists may well contain nothing else
    strangers: Ids | None = None  # ids that are no item at all, where lists may have them: codes from len(items) on

    def item_ids(self, codes: np.ndarray) -> list[object]:
        """Ids of items and of strangers, for messages."""
        known = codes[codes < len(self.items)]
        others = codes[codes >= len(self.items)] - len(self.items)
        found = np.empty(len(codes), object)
        found[codes < len(self.items)] = self.items.decode(known).to_list()
        if len(others) and self.strangers is not None:
            found[codes >= len(self.items)] = self.strangers.decode(others).to_list()
        return list(found)


def check_common_ids(users: pl.Series, items: pl.Series, truth: Truth, name: str) -> None:
    """Refuse a run without a user of the test set, or without an item: every value would be a silent zero."""
    inside = truth.judged.items(len(truth.items))
    if truth.head is not None:
        inside[truth.head] = True
    for what, column, vocabulary, there in (
        ("user", users, truth.users, np.ones(len(truth.users), bool)),
        ("item", items, truth.items, inside),
    ):
        check_same_kind(column, vocabulary.values, role=what, where=(name, "the test set"))
        common = any(
            _any_of(there, vocabulary.codes(plain(column[part.start : part.stop], where=name)))
            for part in blocks(len(column), 10_000)  # as a rule the first ones will do
        )
        check_overlap(
            np.full(min(len(column), 1), common),
            what=what,
            where=f"{name} and the test set",
            examples=(column.head(3).to_list(), vocabulary.decode(np.flatnonzero(there)[:3]).to_list()),
        )


def _any_of(there: np.ndarray, codes: np.ndarray) -> bool:
    return bool(there[codes[codes >= 0]].any())
