"""How popular the recommended items are."""

from __future__ import annotations

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.list_sums import list_mean, recommended_to_anyone, tally
from trueval.metrics.metric_inputs import ItemPopularity, Positives
from trueval.metrics.metric_values import Tally
from trueval.metrics.registry import Parameter, metric
from trueval.metrics.wording import number

_REFERENCE = "Steck 2011"
_HEAD = Parameter(0.1, low=0.0, high=1.0, meaning="share of the catalogue that is the head")
_STRATA = ("head_share", "mid_share", "tail_share")
_TAIL = Parameter(0.5, low=0.0, high=1.0, meaning="share of the catalogue that is the tail")

_RANK = "rank 1 the item with most relevant train ratings, equals sharing the mean of their ranks"


def _below(share: float) -> str:
    return f"with a popularity rank of at most {number(share)} times the items of the catalogue"


def _above(share: float) -> str:
    return f"with a popularity rank above {number(share)} times the items of the catalogue"


def strata(positives: Positives, head: float, tail: float, *, metric: str) -> np.ndarray:
    """0 for head items, 1 for the middle, 2 for the tail, by popularity rank (equals share a rank)."""
    rank = positives.popularity_rank(metric=metric)
    place = rank / len(rank)
    return np.where(place <= head, 0, np.where(place > 1 - tail, 2, 1))


@metric(
    family="beyond",
    formula=lambda o: f"{o['average']} over all recommended places of the item's popularity rank, {_RANK}",
    range=(1, np.inf),
    better="neither",
    parameters={"average": Parameter("mean", ("mean", "median"), meaning="over all recommended places")},
    needs=("positives",),
    undefined="no recommendation at all",
    reference=_REFERENCE,
    system=True,
    ties=lambda parameters: "linear" if parameters["average"] == "mean" else "set",
)
def popularity_rank(facts: RankingFacts, k: int, *, average: str, positives: Positives) -> Tally:
    """How far down the popularity ranking recommendations reach.

    Popular is what many train users found relevant: ratings from the threshold on, without a threshold all above 0,
    and without values every row. Head, mid and tail are cut from the same ranking.

    >>> from trueval.metrics.measure import measure
    >>> measure("popularity_rank@2", ["b", "c"], {"b"}, popularity={"a": 9, "b": 5, "c": 1})
    2.5
    """
    rank = positives.popularity_rank(metric="popularity_rank")

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
    formula="mean over top(k) of the item's popularity in train",
    range=(0, np.inf),
    better="neither",
    needs=("popularity",),
    undefined="an empty list",
    reference="Abdollahpouri et al. 2019",
    ties="linear",
    aliases=("arp",),
)
def average_popularity(facts: RankingFacts, k: int, *, popularity: ItemPopularity) -> np.ndarray:
    """Mean popularity of the recommended items: their train users or, where the log counts those, their train rows.

    Like novelty, it asks how well known items are, so all users of an item count, whether they liked it or not.

    >>> from trueval.metrics.measure import measure
    >>> measure("average_popularity@2", ["a", "b"], {"a"}, popularity={"a": 9, "b": 5})
    7.0
    """
    return list_mean(facts, k, popularity.counts.astype(np.float64))


def _share(facts: RankingFacts, k: int, positives: Positives, head: float, tail: float, which: int) -> np.ndarray:
    return list_mean(facts, k, (strata(positives, head, tail, metric=_STRATA[which]) == which).astype(np.float64))


@metric(
    family="beyond", formula=lambda o: f"share of top(k) {_below(o['head'])}, {_RANK}", range=(0, 1),
    better="neither", parameters={"head": _HEAD}, needs=("positives",), undefined="an empty list",
    reference=_REFERENCE, ties="linear",
)  # fmt: skip
def head_share(facts: RankingFacts, k: int, *, head: float, positives: Positives) -> np.ndarray:
    """Share of the list that is head items.

    >>> from trueval.metrics.measure import measure
    >>> counts = dict(zip("abcdefghij", range(10, 0, -1)))
    >>> measure("head_share@2", list("abcdefghij"), {"a"}, popularity=counts)
    0.5
    """
    return _share(facts, k, positives, head, 0.0, 0)


@metric(
    family="beyond", formula=lambda o: f"share of top(k) {_below(1 - o['tail'])}, but not {_below(o['head'])}, "
    + _RANK,
    range=(0, 1), better="neither",
    parameters={"head": _HEAD, "tail": _TAIL}, needs=("positives",), undefined="an empty list", reference=_REFERENCE,
    ties="linear",
)  # fmt: skip
def mid_share(facts: RankingFacts, k: int, *, head: float, tail: float, positives: Positives) -> np.ndarray:
    """Share of the list that is neither head nor tail.

    >>> from trueval.metrics.measure import measure
    >>> counts = dict(zip("abcdefghij", range(10, 0, -1)))
    >>> measure("mid_share@2", list("abcdefghij"), {"a"}, popularity=counts)
    0.5
    """
    return _share(facts, k, positives, head, tail, 1)


@metric(
    family="beyond", formula=lambda o: f"share of top(k) {_above(1 - o['tail'])}, {_RANK}", range=(0, 1),
    better="neither", parameters={"tail": _TAIL}, needs=("positives",), undefined="an empty list",
    reference=_REFERENCE, ties="linear",
)  # fmt: skip
def tail_share(facts: RankingFacts, k: int, *, tail: float, positives: Positives) -> np.ndarray:
    """Share of the list that is tail items.

    >>> from trueval.metrics.measure import measure
    >>> counts = dict(zip("abcdefghij", range(10, 0, -1)))
    >>> measure("tail_share@10", list("abcdefghij"), {"a"}, popularity=counts)
    0.5
    """
    return _share(facts, k, positives, 0.0, tail, 2)


@metric(
    family="beyond",
    formula=lambda o: f"distinct items within anyone's top(k) {_above(1 - o['tail'])} / all such items, "
    + _RANK,
    range=(0, 1),
    parameters={"tail": _TAIL}, needs=("positives",), undefined="no item is in the tail", reference=_REFERENCE,
    system=True, ties="anyone",
)  # fmt: skip
def tail_coverage(facts: RankingFacts, k: int, *, tail: float, positives: Positives) -> Tally:
    """Share of the tail that is recommended to anyone.

    >>> from trueval.metrics.measure import measure
    >>> counts = dict(zip("abcdefghij", range(10, 0, -1)))
    >>> measure("tail_coverage@6", list("abcdefghij"), {"a"}, popularity=counts)
    0.2
    """
    members = strata(positives, 0.0, tail, metric="tail_coverage") == 2
    size = int(members.sum()) or np.nan
    return recommended_to_anyone(facts, k, lambda recommended: float(recommended[members].sum()) / size)
