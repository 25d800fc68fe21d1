"""How popular the recommended items are."""

from __future__ import annotations

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.inputs import Popularity
from trueval.metrics.lists import list_mean, tally
from trueval.metrics.registry import Parameter, metric
from trueval.metrics.results import Tally

_REFERENCE = "Steck 2011"
_HEAD = Parameter(0.1, low=0.0, high=1.0, meaning="share of the catalogue that is the head")
_TAIL = Parameter(0.5, low=0.0, high=1.0, meaning="share of the catalogue that is the tail")


def strata(popularity: Popularity, head: float, tail: float) -> np.ndarray:
    """0 for head items, 1 for the middle, 2 for the tail, by popularity rank (equals share a rank)."""
    place = popularity.rank / len(popularity.counts)
    return np.where(place <= head, 0, np.where(place > 1 - tail, 2, 1))


@metric(
    family="beyond",
    formula="mean (or median) over all recommended places of the item's popularity rank, 1 the most popular",
    range=(1, np.inf),
    better="neither",
    parameters={"average": Parameter("mean", ("mean", "median"), meaning="over all recommended places")},
    needs=("popularity",),
    undefined="no recommendation at all",
    reference=_REFERENCE,
    system=True,
)
def popularity_rank(facts: RankingFacts, k: int, *, average: str, popularity: Popularity) -> Tally:
    """How far down the popularity ranking recommendations reach.

    >>> from trueval.metrics.measure import measure
    >>> measure("popularity_rank@2", ["b", "c"], {"b"}, popularity={"a": 9, "b": 5, "c": 1})
    2.5
    """
    rank = popularity.rank

    def finish(counts: np.ndarray) -> float:
        if not counts.sum():
            return float("nan")
        if average == "mean":
            return float(counts @ rank / counts.sum())
        order = np.argsort(rank, kind="stable")
        reached = np.cumsum(counts[order])
        half = reached[-1] / 2
        low = order[np.searchsorted(reached, half, side="left")]
        high = order[np.searchsorted(reached, half, side="right")] if half in reached else low
        return float(rank[low] + rank[high]) / 2

    return tally(facts, k, finish)


@metric(
    family="beyond",
    formula="mean over top(k) of the item's number of train rows",
    range=(0, np.inf),
    better="neither",
    needs=("popularity",),
    undefined="an empty list",
    reference="Abdollahpouri et al. 2019",
    aliases=("arp",),
)
def average_popularity(facts: RankingFacts, k: int, *, popularity: Popularity) -> np.ndarray:
    """Mean number of train rows of the recommended items.

    >>> from trueval.metrics.measure import measure
    >>> measure("average_popularity@2", ["a", "b"], {"a"}, popularity={"a": 9, "b": 5})
    7.0
    """
    return list_mean(facts, k, popularity.counts.astype(np.float64))


def _share(facts: RankingFacts, k: int, popularity: Popularity, head: float, tail: float, which: int) -> np.ndarray:
    return list_mean(facts, k, (strata(popularity, head, tail) == which).astype(np.float64))


@metric(
    family="beyond", formula="share of top(k) among the most popular tenth of the catalogue", range=(0, 1),
    better="neither", parameters={"head": _HEAD}, needs=("popularity",), undefined="an empty list",
    reference=_REFERENCE,
)  # fmt: skip
def head_share(facts: RankingFacts, k: int, *, head: float, popularity: Popularity) -> np.ndarray:
    """Share of the list that is head items.

    >>> from trueval.metrics.measure import measure
    >>> counts = dict(zip("abcdefghij", range(10, 0, -1)))
    >>> measure("head_share@2", list("abcdefghij"), {"a"}, popularity=counts)
    0.5
    """
    return _share(facts, k, popularity, head, 0.0, 0)


@metric(
    family="beyond", formula="share of top(k) between head and tail", range=(0, 1), better="neither",
    parameters={"head": _HEAD, "tail": _TAIL}, needs=("popularity",), undefined="an empty list", reference=_REFERENCE,
)  # fmt: skip
def mid_share(facts: RankingFacts, k: int, *, head: float, tail: float, popularity: Popularity) -> np.ndarray:
    """Share of the list that is neither head nor tail.

    >>> from trueval.metrics.measure import measure
    >>> counts = dict(zip("abcdefghij", range(10, 0, -1)))
    >>> measure("mid_share@2", list("abcdefghij"), {"a"}, popularity=counts)
    0.5
    """
    return _share(facts, k, popularity, head, tail, 1)


@metric(
    family="beyond", formula="share of top(k) among the least popular half of the catalogue", range=(0, 1),
    better="neither", parameters={"tail": _TAIL}, needs=("popularity",), undefined="an empty list",
    reference=_REFERENCE,
)  # fmt: skip
def tail_share(facts: RankingFacts, k: int, *, tail: float, popularity: Popularity) -> np.ndarray:
    """Share of the list that is tail items.

    >>> from trueval.metrics.measure import measure
    >>> counts = dict(zip("abcdefghij", range(10, 0, -1)))
    >>> measure("tail_share@10", list("abcdefghij"), {"a"}, popularity=counts)
    0.5
    """
    return _share(facts, k, popularity, 0.0, tail, 2)


@metric(
    family="beyond", formula="distinct tail items within anyone's top(k) / tail items", range=(0, 1),
    parameters={"tail": _TAIL}, needs=("popularity",), undefined="no item is in the tail", reference=_REFERENCE,
    system=True,
)  # fmt: skip
def tail_coverage(facts: RankingFacts, k: int, *, tail: float, popularity: Popularity) -> Tally:
    """Share of the tail that is recommended to anyone.

    >>> from trueval.metrics.measure import measure
    >>> counts = dict(zip("abcdefghij", range(10, 0, -1)))
    >>> measure("tail_coverage@6", list("abcdefghij"), {"a"}, popularity=counts)
    0.2
    """
    members = strata(popularity, 0.0, tail) == 2
    size = int(members.sum()) or np.nan
    return tally(facts, k, lambda counts: np.count_nonzero(counts[members]) / size)
