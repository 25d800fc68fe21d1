"""Strata that need no table: users by activity and by taste, items by popularity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trueval.kernels.plain import user_key
from trueval.kernels.seeds import derive
from trueval.metrics.beyond.popularity import strata as popularity_strata
from trueval.metrics.inputs import Inputs

HEAD, TAIL = 0.1, 0.5  # shares of the catalogue, as in head_share and tail_share
_FIFTHS = 5


@dataclass(frozen=True, slots=True)
class Stratum:
    """How some codes are cut into groups: the number of each one's group (-1: none), and words about the cut."""

    kind: str
    labels: tuple[str, ...]
    needs: tuple[str, ...]
    meaning: str
    cut: Callable[[Inputs, np.ndarray, int], tuple[np.ndarray, str]]


def equal_groups(amount: np.ndarray, codes: np.ndarray, *, number: int = _FIFTHS, seed: int = 0) -> np.ndarray:
    """Groups of equal size (to one) by an amount, smallest first; NaN is in no group (-1).

    Who is where among equals is a matter of chance: a hash of the seed and the code, never the order of ids.

    >>> equal_groups(np.array([9.0, 1.0, np.nan, 4.0]), np.arange(4), number=3).tolist()
    [2, 0, -1, 1]
    """
    known = np.flatnonzero(~np.isnan(amount))
    chance = user_key(int(derive(seed, "equal groups")), codes[known])
    order = known[np.lexsort((chance, amount[known]))]
    group = np.full(len(amount), -1)
    for g, part in enumerate(np.array_split(order, number)):
        group[part] = g
    return group


def _ranges(amount: np.ndarray, group: np.ndarray, what: str) -> str:
    """What each group reaches over, e.g. "20 to 41, 41 to 76 train items"."""
    parts = [amount[group == g] for g in range(int(group.max(initial=-1)) + 1)]
    return ", ".join(f"{part.min():g} to {part.max():g}" for part in parts if len(part)) + f" {what}"


def _activity(inputs: Inputs, users: np.ndarray, seed: int) -> tuple[np.ndarray, str]:
    assert inputs.train is not None
    rows = inputs.train.counts[users].astype(np.float64)
    group = equal_groups(rows, users, seed=seed)
    return group, _ranges(rows, group, "train items")


def _taste(inputs: Inputs, users: np.ndarray, seed: int) -> tuple[np.ndarray, str]:
    assert inputs.train is not None
    assert inputs.popularity is not None
    profile = inputs.train.pick(users)
    counts = inputs.popularity.counts[profile.item]
    counts = counts[np.lexsort((counts, profile.user))]
    length, begin = profile.counts, profile.start[:-1]
    median = np.full(len(users), np.nan)
    some = length > 0
    low, high = (begin + (length - 1) // 2)[some], (begin + length // 2)[some]
    median[some] = (counts[low] + counts[high]) / 2
    group = equal_groups(median, users, seed=seed)
    return group, _ranges(median, group, "is the popularity of the median item of the profile")


def _popularity(inputs: Inputs, items: np.ndarray, seed: int) -> tuple[np.ndarray, str]:
    assert inputs.positives is not None
    about = (
        f"head: the most popular {HEAD:.0%} of the items, tail: the least popular {TAIL:.0%}, by relevant train ratings"
    )
    return popularity_strata(inputs.positives, HEAD, TAIL, metric="grouping by popularity")[items], about


STRATA: dict[str, Stratum] = {
    "activity": Stratum(
        "user", ("1 least active", "2", "3", "4", "5 most active"), ("train",),
        "five equal groups by number of train items", _activity,
    ),
    "taste": Stratum(
        "user", ("1 least popular", "2", "3", "4", "5 most popular"), ("train", "popularity"),
        "five equal groups by median popularity of the profile", _taste,
    ),
    "popularity": Stratum(
        "item", ("head", "mid", "tail"), ("positives",), "head, mid and tail by popularity rank", _popularity
    ),
}  # fmt: skip
