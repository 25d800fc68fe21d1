"""Serendipity."""

from __future__ import annotations

import numpy as np

from trueval.data.by_user import ByUser
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.list_sums import place_sum
from trueval.metrics.metric_inputs import ItemPopularity
from trueval.metrics.registry import Parameter, metric


@metric(
    family="beyond",
    formula=lambda o: (
        "items of top(k) ∩ Rel that the k items with most train users, of those that the user does not "
        f"have, do not hold / {'k' if o['denom'] == 'k' else 'such items of top(k), 0 without any'}; of items "
        "with equally many at its cut that baseline shows a random part"
    ),
    range=(0, 1),
    parameters={
        "denom": Parameter(
            "k", ("k", "unexpected"), meaning="divide by k, or by the number of unexpected items in the list"
        )
    },
    needs=("popularity", "train"),
    undefined="never",
    reference="Ge et al. 2010",
    ties=lambda parameters: "linear" if parameters["denom"] == "k" else "set",
)
def serendipity(facts: RankingFacts, k: int, *, denom: str, popularity: ItemPopularity, train: ByUser) -> np.ndarray:
    """Share of the list that is relevant and not what everybody gets.

    The baseline shows each user the k most popular items that the user has not in train. Where its cut falls between
    items of equal popularity, of which it shows m of n, each of them counts as expected by m/n, whatever its id.

    >>> from trueval.metrics.measure import measure
    >>> popular = {"B": 9, "V": 8, "W": 7, "X": 6, "Y": 5}
    >>> measure("serendipity@5", ["A", "B", "C", "D", "E"], {"B", "C", "E", "G"}, popularity=popular)
    0.4
    >>> measure("serendipity@1", ["A"], {"A"}, popularity={"A": 3, "B": 3, "C": 1})  # the baseline shows A or B
    0.5
    """

    def unexpected(rows: np.ndarray) -> np.ndarray:
        return 1 - _expected(facts, k, popularity, train, facts.list_unit[rows], facts.list_item[rows])

    useful = place_sum(facts, k, lambda rows: unexpected(rows) * facts.list_relevant[rows])
    if denom == "k":
        return useful / k
    number = place_sum(facts, k, unexpected)
    return np.divide(useful, number, out=np.zeros(len(facts)), where=number > 0)


def _expected(
    facts: RankingFacts, k: int, popularity: ItemPopularity, train: ByUser, unit: np.ndarray, item: np.ndarray
) -> np.ndarray:
    """Chance that the popularity baseline shows some items to their units: the k best not in the user's profile."""
    seen = train.pick(facts.unit_user)
    counts = popularity.counts
    order = np.argsort(-counts, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    # a user's list ends after k unseen items: k places plus as many as seen items push it down
    own, owner = place[seen.item], seen.user
    near = own < k + seen.counts[owner]  # no other seen item can push
    own, owner = own[near], owner[near]
    by_place = np.lexsort((own, owner))
    own, owner = own[by_place], owner[by_place]
    nth = np.arange(len(own)) - np.searchsorted(owner, np.arange(len(facts)))[owner]
    pushed = np.bincount(owner[own < k + nth], minlength=len(facts))
    cut = counts[order][np.minimum(k + pushed, len(order)) - 1]  # popularity of the last item shown
    part = _part_at_cut(counts, cut, seen, k)
    chance = np.where(counts[item] > cut[unit], 1.0, np.where(counts[item] == cut[unit], part[unit], 0.0))
    rows = np.flatnonzero(chance)
    chance[rows[seen.contains(unit[rows], item[rows])]] = 0.0
    return chance


def _part_at_cut(counts: np.ndarray, cut: np.ndarray, seen: ByUser, k: int) -> np.ndarray:
    """For each unit, the part that is shown of the unseen items exactly as popular as its cut."""
    ascending = np.sort(counts)
    better = len(counts) - np.searchsorted(ascending, cut, side="right")
    equal = len(counts) - np.searchsorted(ascending, cut, side="left") - better
    own, owner = counts[seen.item], seen.user
    better -= np.bincount(owner[own > cut[owner]], minlength=len(cut))
    equal -= np.bincount(owner[own == cut[owner]], minlength=len(cut))
    return np.minimum((k - better) / np.maximum(equal, 1), 1.0)
