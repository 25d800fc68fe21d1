"""Area under the ROC curve, per user."""

from __future__ import annotations

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.discount import share
from trueval.metrics.registry import Parameter, metric


@metric(
    family="accuracy",
    formula="P(a random relevant target scores above a random other target), equal scores count 1/2",
    range=(0, 1),
    cutoff="none",
    parameters={
        "against": Parameter("unrelevant", ("unrelevant", "judged"), meaning="all other targets, or judged ones")
    },
    undefined="R = 0, or nothing to compare with",
    reference="Hanley & McNeil 1982",
    exact=True,
)
def auc(facts: RankingFacts, k: None, *, against: str) -> np.ndarray:
    """Chance that a relevant item is scored above one that is not.

    >>> from trueval.metrics.measure import measure
    >>> round(measure("auc", ["a", "x", "b", "y", "z"], {"a", "b"}, complete=True), 6)
    0.833333
    """
    ranked = facts.rank > 0
    found = facts.per_unit(facts.hits.unit)  # a relevant item outside the targets loses every pair
    if against == "judged":
        rivals = ranked & ~facts.relevant
        others = facts.per_unit(facts.unit[rivals])
        lost = _lost(facts, rivals)
    else:
        others = facts.targets - found
        all_above = facts.per_unit(facts.hits.unit, facts.hits.above + (facts.hits.tied - 1) / 2)
        lost = all_above - found * (found - 1) / 2  # pairs of relevant items cost half a place each way
    return share(found * others - lost, facts.R * others.astype(np.float64))


def _lost(facts: RankingFacts, rivals: np.ndarray) -> np.ndarray:
    """Sum over relevant items of the rivals above, equals counting half."""
    rows = np.flatnonzero((facts.rank > 0) & (facts.relevant | rivals))
    unit, above, rival = facts.unit[rows], facts.above[rows], rivals[rows]
    order = np.lexsort((above, unit))
    unit, above, rival = unit[order], above[order], rival[order]
    if not len(unit):
        return np.zeros(len(facts))
    new = np.ones(len(unit), bool)
    new[1:] = (unit[1:] != unit[:-1]) | (above[1:] != above[:-1])
    block = np.cumsum(new) - 1
    in_block = np.bincount(block, weights=rival)
    new_unit = np.concatenate([[True], unit[1:] != unit[:-1]])
    before = np.cumsum(in_block) - in_block
    start = before[block[np.flatnonzero(new_unit)]][np.cumsum(new_unit) - 1]
    worse = before[block] - start + in_block[block] / 2
    return facts.per_unit(unit[~rival], worse[~rival])
