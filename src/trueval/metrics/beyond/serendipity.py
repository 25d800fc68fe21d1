"""Serendipity."""

from __future__ import annotations

import numpy as np

from trueval.data.by_user import ByUser
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.inputs import Popularity
from trueval.metrics.registry import Parameter, metric


@metric(
    family="beyond",
    formula="relevant items in top(k) that the popularity baseline's top(k) does not show, / k",
    range=(0, 1),
    parameters={"denom": Parameter("k", ("k", "unexpected"), meaning="divide by k, or by the unexpected items shown")},
    needs=("popularity", "train"),
    undefined="never",
    reference="Ge et al. 2010",
)
def serendipity(facts: RankingFacts, k: int, *, denom: str, popularity: Popularity, train: ByUser) -> np.ndarray:
    """Share of the list that is relevant and not what everybody gets.

    The baseline shows each user the k most popular items that the user has not in train.

    >>> from trueval.metrics.measure import measure
    >>> popular = {"B": 9, "V": 8, "W": 7, "X": 6, "Y": 5}
    >>> measure("serendipity@5", ["A", "B", "C", "D", "E"], {"B", "C", "E", "G"}, popularity=popular)
    0.4
    """
    inside = facts.top(k)
    unit, item = facts.list_unit[inside], facts.list_item[inside]
    expected = _expected(facts, k, popularity, train)
    key = facts.list_unit[inside].astype(np.int64) * len(facts.items) + item
    unexpected = ~np.isin(key, expected)
    useful = facts.per_unit(unit, (unexpected & facts.list_relevant[inside]).astype(np.float64))
    if denom == "k":
        return useful / k
    number = facts.per_unit(unit, unexpected.astype(np.float64))
    return np.divide(useful, number, out=np.zeros(len(facts)), where=number > 0)


def _expected(facts: RankingFacts, k: int, popularity: Popularity, train: ByUser) -> np.ndarray:
    """(unit, item) keys of the popularity baseline's lists: the k best items not in the user's profile."""
    seen = train.pick(facts.unit_user)
    order = np.lexsort((np.arange(len(popularity.counts)), -popularity.counts))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    # a user's list ends after k unseen items: k places plus as many as seen items push it down
    own = seen.item[seen.item < len(place)]
    owner = seen.user[seen.item < len(place)]
    by_place = np.lexsort((place[own], owner))
    own, owner = own[by_place], owner[by_place]
    first = np.searchsorted(owner, np.arange(len(facts)))
    pushed = np.zeros(len(facts), np.int64)
    nth = np.arange(len(own)) - first[owner]
    inside = place[own] < k + nth
    np.add.at(pushed, owner[inside], 1)
    length = np.minimum(k + pushed, len(order))
    unit = np.repeat(np.arange(len(facts)), length)
    at = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    keys = unit.astype(np.int64) * len(facts.items) + order[at]
    return keys[~np.isin(keys, owner.astype(np.int64) * len(facts.items) + own)]
