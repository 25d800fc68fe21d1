"""Area under the ROC curve, per user."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.additive_terms import Terms
from trueval.metrics.metric_inputs import Positives
from trueval.metrics.metric_values import Ratio
from trueval.metrics.popularity_strata import STRATA, stratified, stratified_formula
from trueval.metrics.registry import Parameter, metric


def _terms(facts: RankingFacts, k: None, against: str = "unrelevant") -> Terms:
    """Share of its rivals that each relevant target beats, equals counting half."""
    h = facts.hits
    if against == "judged":
        rivals = facts.per_unit(facts.unit[(facts.rank > 0) & ~facts.relevant])
        lost = _rivals_above(facts)
    else:
        rivals = facts.targets - facts.per_unit(h.unit)
        before, same = _relevant_around(h.unit, h.above)
        lost = h.above - before + (h.tied - same) / 2
    amount = 1 - lost / np.maximum(rivals, 1)[h.unit]
    return Terms(np.arange(len(lost)), amount, mean=True, defined=rivals > 0)


def _relevant_around(unit: np.ndarray, above: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Relevant items in better blocks of equals, and in the same block, for rows sorted by unit and score."""
    if not len(unit):
        return np.empty(0), np.empty(0)
    new, new_unit = np.ones(len(unit), bool), np.ones(len(unit), bool)
    new_unit[1:] = unit[1:] != unit[:-1]
    new[1:] = new_unit[1:] | (above[1:] != above[:-1])
    first, first_of_unit = np.flatnonzero(new), np.flatnonzero(new_unit)
    size = np.diff(np.append(first, len(unit)))
    before = np.repeat(first, size) - np.repeat(first_of_unit, np.diff(np.append(first_of_unit, len(unit))))
    return before, np.repeat(size, size)


def _rivals_above(facts: RankingFacts) -> np.ndarray:
    """Judged non-relevant targets above each hit, equals counting half."""
    order = np.flatnonzero(facts.rank > 0)  # rows are sorted by unit and rank, and so by score
    unit, above, rival = facts.unit[order], facts.above[order], ~facts.relevant[order]
    new = np.ones(len(unit), bool)
    new[1:] = (unit[1:] != unit[:-1]) | (above[1:] != above[:-1])
    block = np.cumsum(new) - 1
    in_block = np.bincount(block, weights=rival) if len(unit) else np.empty(0)
    total = np.cumsum(in_block) - in_block
    begins = np.searchsorted(unit, unit)  # first row of each row's unit
    worse = total[block] - total[block[begins]] + in_block[block] / 2 if len(unit) else np.empty(0)
    by_row = np.empty(len(facts.rank))
    by_row[order] = worse
    return by_row[facts.hits.row]


def _rivals(o: Mapping[str, Any]) -> str:
    return "judged targets outside Rel" if o["against"] == "judged" else "targets outside Rel"


def _formula(o: Mapping[str, Any]) -> str:
    plain = f"P(a random target in Rel scores above a random one of the {_rivals(o)}), equal scores count 1/2"
    return stratified_formula(o, plain, f"share of the {_rivals(o)} that score below, equal scores count 1/2")


@metric(
    family="accuracy",
    formula=_formula,
    range=(0, 1),
    cutoff="none",
    parameters={
        "against": Parameter("unrelevant", ("unrelevant", "judged"), meaning="all other targets, or judged ones"),
        **STRATA,
    },
    wants=("positives",),
    undefined="R = 0, or nothing to compare with",
    reference="Hanley & McNeil 1982; stratified: Steck 2011",
    exact=True,
    terms=_terms,
    amount=lambda o: f"share of the {_rivals(o)} that score below, equal scores count 1/2",
    one_relevant=lambda parameters: parameters["against"] != "judged",  # nothing is judged beside the one
)
def auc(
    facts: RankingFacts, k: None, *, against: str, beta: float, gamma: float, count_from: str, average: str,
    positives: Positives | None,
) -> np.ndarray | Ratio:  # fmt: skip
    """Chance that a relevant item is scored above one that is not.

    A property of the scores, not of an order: equal scores count 1/2 under every tie rule.

    >>> from trueval.metrics.measure import measure
    >>> round(measure("auc", ["a", "x", "b", "y", "z"], {"a", "b"}, complete=True), 6)
    0.833333
    """
    return stratified(
        partial(_terms, k=k, against=against), facts, positives, metric="auc", beta=beta, gamma=gamma,
        count_from=count_from, average=average,
    )  # fmt: skip
