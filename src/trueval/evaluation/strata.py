"""Strata that need no table: users by activity and by taste, items by popularity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trueval.errors import DataError
from trueval.metrics.beyond.popularity import whole_strata
from trueval.metrics.metric_inputs import Inputs
from trueval.render.numbers import percent

HEAD, TAIL = 0.1, 0.5  # shares of the catalogue, as in head_share and tail_share
_FIFTHS = 5


@dataclass(frozen=True, slots=True)
class Cut:
    """Codes cut into groups: the number of each one's group (-1: none), the labels of the groups, notes on the cut."""

    group: np.ndarray
    labels: tuple[str, ...]
    about: str


@dataclass(frozen=True, slots=True)
class Stratum:
    """How some codes are cut into groups, and what that takes."""

    kind: str
    needs: tuple[str, ...]
    cut: Callable[[Inputs, np.ndarray], Cut]


def equal_groups(amount: np.ndarray, *, number: int = _FIFTHS) -> np.ndarray:
    """Groups by an amount, smallest first, of sizes as equal as equal amounts allow; NaN is in no group (-1).

    Equal amounts are in one group: the one in which the middle of them falls. A group may so remain empty.

    >>> equal_groups(np.array([9.0, 1.0, np.nan, 4.0]), number=3).tolist()
    [2, 0, -1, 1]
    >>> equal_groups(np.array([1.0, 1.0, 1.0, 1.0, 2.0, 3.0]), number=3).tolist()
    [1, 1, 1, 1, 2, 2]
    """
    known = ~np.isnan(amount)
    order = np.sort(amount[known])
    below, upto = (np.searchsorted(order, amount[known], side=side) for side in ("left", "right"))
    group = np.full(len(amount), -1)
    # the places of equals are below + 1 to upto; in whole numbers, so that no rounding decides
    group[known] = number * (below + upto) // (2 * max(len(order), 1))
    return group


def _by_amount(amount: np.ndarray, what: str) -> Cut:
    """Fifths by an amount, each called by what it reaches over, e.g. "20–41"."""
    group = equal_groups(amount)
    parts = [amount[group == g] for g in range(_FIFTHS)]
    labels = [_range(float(part.min()), float(part.max())) if len(part) else "" for part in parts]
    about = f"groups by {what}: fifths of the users; users with equal numbers are in the same group"
    return Cut(group, tuple(labels), about)


def _range(low: float, high: float) -> str:
    """Two amounts, one where they are equal; all digits count, or two groups might be called the same.

    >>> _range(1234.0, 123456.5), _range(3.0, 3.0)
    ('1,234–123,456.5', '3')
    """
    texts = [f"{x:,.0f}" if x == int(x) else f"{x:,.1f}" for x in (low, high)]
    return texts[0] if low == high else "–".join(texts)


def _activity(inputs: Inputs, users: np.ndarray) -> Cut:
    assert inputs.train is not None
    return _by_amount(inputs.train.counts[users].astype(np.float64), "number of train items")


def _taste(inputs: Inputs, users: np.ndarray) -> Cut:
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
    return _by_amount(median, "popularity of the median item of the user's profile")


def _popularity(inputs: Inputs, items: np.ndarray) -> Cut:
    assert inputs.positives is not None
    rank = inputs.positives.popularity_rank(metric="grouping by popularity")
    if rank.min() == rank.max():
        raise DataError(
            "items cannot be grouped by popularity: all are equally popular",
            where="by popularity",
            found=f"{len(rank):,} items with the same number of relevant train ratings",
            do="leave popularity out of by, or pass the train log that the systems learned from",
        )
    about = f"head: the most popular {percent(HEAD, 0)} of the items, tail: the least popular {percent(TAIL, 0)}, "
    about += "by relevant train ratings; equally popular items are in the same group"
    group = whole_strata(inputs.positives, HEAD, TAIL, metric="grouping by popularity")[items]
    return Cut(group, ("head", "mid", "tail"), about)


STRATA: dict[str, Stratum] = {
    "activity": Stratum("user", ("train",), _activity),
    "taste": Stratum("user", ("train", "popularity"), _taste),
    "popularity": Stratum("item", ("positives",), _popularity),
}
