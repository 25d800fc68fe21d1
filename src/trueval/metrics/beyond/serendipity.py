"""Serendipity."""

from __future__ import annotations

import numpy as np

from trueval.data.by_user import ByUser
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.inputs import Popularity
from trueval.metrics.lists import place_sum
from trueval.metrics.registry import Parameter, metric


@metric(
    family="beyond",
    formula="relevant items in top(k) that the popularity baseline's top(k) does not show, / k",
    range=(0, 1),
    parameters={"denom": Parameter("k", ("k", "unexpected"), meaning="divide by k, or by the unexpected items shown")},
    needs=("popularity", "train"),
    undefined="never",
    reference="Ge et al. 2010",
    ties=lambda parameters: "linear" if parameters["denom"] == "k" else "set",
)
def serendipity(facts: RankingFacts, k: int, *, denom: str, popularity: Popularity, train: ByUser) -> np.ndarray:
    """Share of the list that is relevant and not what everybody gets.

    The baseline shows each user the k most popular items that the user has not in train.

    >>> from trueval.metrics.measure import measure
    >>> popular = {"B": 9, "V": 8, "W": 7, "X": 6, "Y": 5}
    >>> measure("serendipity@5", ["A", "B", "C", "D", "E"], {"B", "C", "E", "G"}, popularity=popular)
    0.4
    """

    def unexpected(rows: np.ndarray) -> np.ndarray:
        return ~_expected(facts, k, popularity, train, facts.list_unit[rows], facts.list_item[rows])

    if denom == "k":
        useful = place_sum(facts, k, lambda rows: (unexpected(rows) & facts.list_relevant[rows]).astype(np.float64))
        return useful / k
    inside = facts.top(k)
    new, unit = unexpected(inside), facts.list_unit[inside]
    useful = facts.per_unit(unit[new & facts.list_relevant[inside]])
    number = facts.per_unit(unit[new])
    return np.divide(useful, number, out=np.zeros(len(facts)), where=number > 0)


def _expected(
    facts: RankingFacts, k: int, popularity: Popularity, train: ByUser, unit: np.ndarray, item: np.ndarray
) -> np.ndarray:
    """Which of some items the popularity baseline shows their units: among the k best not in the user's profile."""
    seen = train.pick(facts.unit_user)
    order = np.lexsort((np.arange(len(popularity.counts)), -popularity.counts))
    place = np.full(max(len(order), len(facts.items)), len(order), np.int64)
    place[order] = np.arange(len(order))
    # a user's list ends after k unseen items: k places plus as many as seen items push it down
    own, owner = place[seen.item], seen.user
    near = own < k + seen.counts[owner]  # no other seen item can push
    own, owner = own[near], owner[near]
    by_place = np.lexsort((own, owner))
    own, owner = own[by_place], owner[by_place]
    nth = np.arange(len(own)) - np.searchsorted(owner, np.arange(len(facts)))[owner]
    pushed = np.bincount(owner[own < k + nth], minlength=len(facts))
    length = np.minimum(k + pushed, len(order))
    shown = place[item] < length[unit]
    rows = np.flatnonzero(shown)
    shown[rows] = ~seen.contains(unit[rows], item[rows])
    return shown
