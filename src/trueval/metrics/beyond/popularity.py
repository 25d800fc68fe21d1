"""How popular the recommended items are."""

from __future__ import annotations

import math

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.list_sums import list_mean, recommended_to_anyone, tally
from trueval.metrics.metric_inputs import ItemPopularity, Positives
from trueval.metrics.metric_values import Tally
from trueval.metrics.registry import Parameter, metric
from trueval.metrics.wording import number

_REFERENCE = "Steck 2011"
_HEAD = Parameter(0.1, low=0.0, high=1.0, meaning="share of the catalogue that is the head")
_TAIL = Parameter(0.5, low=0.0, high=1.0, meaning="share of the catalogue that is the tail")

_RANK = "rank 1 the item with most relevant train ratings, equals sharing the mean of their ranks"
_TIED = "; items of equal popularity have equal parts in the places that they share"


def _head(share: float) -> str:
    return f"the first ⌊{number(share)}·n⌋ of n items by popularity rank"


def _tail(share: float) -> str:
    return f"the last ⌈{number(share)}·n⌉ of n items by popularity rank"


def _ends(n_items: int, head: float, tail: float) -> tuple[int, int]:
    """The last place of the head and the last before the tail: ⌊head·n⌋ places are head, ⌈tail·n⌉ are tail.

    >>> _ends(15, 0.1, 0.5), _ends(10, 0.1, 0.9)
    ((1, 7), (1, 1))
    """
    first, last = (round(share * n_items, 9) for share in (head, tail))  # 0.1 × 30 is 3, not a little more
    return math.floor(first), n_items - math.ceil(last)


def _taken(rank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The places of each item and its equals: those after the first number, up to the second."""
    _, equals, sizes = np.unique(rank, return_inverse=True, return_counts=True)
    upto = np.cumsum(sizes)
    return (upto - sizes)[equals], upto[equals]


def strata_shares(positives: Positives, head: float, tail: float, *, metric: str) -> np.ndarray:
    """How much of each item is head, middle and tail (rows): the share of the orders of equals that put it there.

    >>> counts = Positives(lambda: np.array([9, 4, 4, 4, 0]), lambda: np.zeros(5))
    >>> strata_shares(counts, 0.4, 0.4, metric="").round(2).tolist()
    [[1.0, 0.33, 0.33, 0.33, 0.0], [0.0, 0.33, 0.33, 0.33, 0.0], [0.0, 0.33, 0.33, 0.33, 1.0]]
    """
    above, upto = _taken(positives.popularity_rank(metric=metric))
    first, last = _ends(len(above), head, tail)
    last = max(first, last)  # where head and tail would overlap, the head comes first
    cuts = [(0, first), (first, last), (last, len(above))]
    return np.array([np.maximum(np.minimum(upto, high) - np.maximum(above, low), 0) for low, high in cuts]) / (
        upto - above
    )


def whole_strata(positives: Positives, head: float, tail: float, *, metric: str) -> np.ndarray:
    """0 for head items, 1 for the middle, 2 for the tail, where an item cannot be divided.

    Items of equal popularity go together: they are head, or tail, where this comes closer to the number of places
    there than to leave them out, as where the head is removed; otherwise they are in the middle.

    >>> counts = Positives(lambda: np.array([9, 4, 4, 4, 0]), lambda: np.zeros(5))
    >>> whole_strata(counts, 0.4, 0.4, metric="").tolist()
    [0, 1, 1, 1, 2]
    """
    above, upto = _taken(positives.popularity_rank(metric=metric))
    n_items = len(above)
    first, last = _ends(n_items, head, tail)
    in_tail = 2 * n_items - above - upto + 1 <= 2 * (n_items - last)
    return np.where(above + upto + 1 <= 2 * first, 0, np.where(in_tail, 2, 1))


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


def _share(facts: RankingFacts, k: int, positives: Positives, head: float, tail: float, which: str) -> np.ndarray:
    place = ("head", "mid", "tail").index(which)
    return list_mean(facts, k, strata_shares(positives, head, tail, metric=f"{which}_share")[place])


@metric(
    family="beyond", formula=lambda o: f"share of top(k) in the head, {_head(o['head'])}{_TIED}", range=(0, 1),
    better="neither", parameters={"head": _HEAD}, needs=("positives",), undefined="an empty list",
    reference=_REFERENCE, ties="linear",
)  # fmt: skip
def head_share(facts: RankingFacts, k: int, *, head: float, positives: Positives) -> np.ndarray:
    """Share of the list that is head items; equals count as they would on average if chance put them in order.

    A catalogue of items that are all equally popular has the head's share of the catalogue in every list.

    >>> from trueval.metrics.measure import measure
    >>> counts = dict(zip("abcdefghij", range(10, 0, -1)))
    >>> measure("head_share@2", list("abcdefghij"), {"a"}, popularity=counts)
    0.5
    >>> measure("head_share@2", list("abcdefghij"), {"a"}, popularity=dict.fromkeys(counts, 7))
    0.1
    """
    return _share(facts, k, positives, head, 0.0, "head")


@metric(
    family="beyond", range=(0, 1), better="neither",
    formula=lambda o: (
        f"share of top(k) outside of the head, {_head(o['head'])}, and of the tail, {_tail(o['tail'])}{_TIED}"
    ),
    parameters={"head": _HEAD, "tail": _TAIL}, needs=("positives",), undefined="an empty list", reference=_REFERENCE,
    ties="linear",
)  # fmt: skip
def mid_share(facts: RankingFacts, k: int, *, head: float, tail: float, positives: Positives) -> np.ndarray:
    """Share of the list that is neither head nor tail; where the two overlap, nothing is.

    >>> from trueval.metrics.measure import measure
    >>> counts = dict(zip("abcdefghij", range(10, 0, -1)))
    >>> measure("mid_share@2", list("abcdefghij"), {"a"}, popularity=counts)
    0.5
    >>> measure("mid_share@2", list("abcdefghij"), {"a"}, popularity=dict.fromkeys(counts, 7))
    0.4
    """
    return _share(facts, k, positives, head, tail, "mid")


@metric(
    family="beyond", formula=lambda o: f"share of top(k) in the tail, {_tail(o['tail'])}{_TIED}", range=(0, 1),
    better="neither", parameters={"tail": _TAIL}, needs=("positives",), undefined="an empty list",
    reference=_REFERENCE, ties="linear",
)  # fmt: skip
def tail_share(facts: RankingFacts, k: int, *, tail: float, positives: Positives) -> np.ndarray:
    """Share of the list that is tail items; equals count as they would on average if chance put them in order.

    >>> from trueval.metrics.measure import measure
    >>> counts = dict(zip("abcdefghij", range(10, 0, -1)))
    >>> measure("tail_share@10", list("abcdefghij"), {"a"}, popularity=counts)
    0.5
    >>> measure("tail_share@2", list("abcdefghij"), {"a"}, popularity=dict.fromkeys(counts, 7))
    0.5
    """
    return _share(facts, k, positives, 0.0, tail, "tail")


@metric(
    family="beyond", range=(0, 1),
    formula=lambda o: f"tail items within anyone's top(k) / number of tail items, {_tail(o['tail'])}{_TIED}",
    parameters={"tail": _TAIL}, needs=("positives",), undefined="no item is in the tail", reference=_REFERENCE,
    system=True, ties="anyone",
)  # fmt: skip
def tail_coverage(facts: RankingFacts, k: int, *, tail: float, positives: Positives) -> Tally:
    """Share of the tail that is recommended to anyone; the tail is that of `tail_share`.

    >>> from trueval.metrics.measure import measure
    >>> counts = dict(zip("abcdefghij", range(10, 0, -1)))
    >>> measure("tail_coverage@6", list("abcdefghij"), {"a"}, popularity=counts)
    0.2
    """
    shares = strata_shares(positives, 0.0, tail, metric="tail_coverage")[2]
    some = shares > 0
    members, size = shares[some], float(shares.sum()) or np.nan
    return recommended_to_anyone(facts, k, lambda recommended: float((members * recommended[some]).sum()) / size)
