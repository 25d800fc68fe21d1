"""Area under the recall curve (ATOP)."""

from __future__ import annotations

from functools import partial

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.additive_terms import Terms
from trueval.metrics.metric_inputs import Positives
from trueval.metrics.metric_values import Ratio
from trueval.metrics.popularity_strata import STRATA, stratified, stratified_formula
from trueval.metrics.registry import metric

_AMOUNT = "1 - (rank - 1) / (|T| - 1)"


def _terms(facts: RankingFacts, k: None) -> Terms:
    h = facts.hits
    rank = h.above + (h.tied + 1) / 2 if facts.ties == "expected" else h.rank
    amount = (facts.targets[h.unit] - rank) / np.maximum(facts.targets[h.unit] - 1.0, 1.0)
    return Terms(np.arange(len(rank)), amount, mean=True, defined=facts.targets > 1)


@metric(
    family="accuracy",
    formula=lambda o: stratified_formula(o, f"mean over Rel of {_AMOUNT}", _AMOUNT),
    range=(0, 1),
    cutoff="none",
    parameters=STRATA,
    wants=("positives",),
    undefined="R = 0 or a single target",
    reference="Steck 2010, 2011",
    exact=True,
    terms=_terms,
    amount=_AMOUNT,
)
def atop(
    facts: RankingFacts, k: None, *, beta: float, gamma: float, count_from: str, average: str,
    positives: Positives | None,
) -> np.ndarray | Ratio:  # fmt: skip
    """How near the top relevant items are, on a scale from last (0) to first (1).

    >>> from trueval.metrics.measure import measure
    >>> round(measure("atop", list("abcdefghij"), {"a", "d", "j"}, complete=True), 6)
    0.555556
    """
    return stratified(
        partial(_terms, k=k), facts, positives, metric="atop", beta=beta, gamma=gamma, count_from=count_from,
        average=average,
    )  # fmt: skip
