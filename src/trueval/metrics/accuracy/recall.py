"""Recall."""

from __future__ import annotations

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.discount import hits_at, share
from trueval.metrics.registry import Parameter, metric


@metric(
    family="accuracy",
    formula="|top(k) ∩ Rel| / R",
    range=(0, 1),
    parameters={
        "cap": Parameter(False, (False, True, "list"), meaning="divide by min(k, R), or by min(length shown, R)"),
    },
    undefined="R = 0",
    reference="Cleverdon 1967",
)
def recall(facts: RankingFacts, k: int, *, cap: bool | str) -> np.ndarray:
    """Share of the relevant items that is within the first k.

    >>> from trueval.metrics.measure import measure
    >>> measure("recall@5", ["A", "B", "C", "D", "E"], {"B", "C", "E", "G"})
    0.75
    """
    if cap == "list":
        shown = np.minimum(facts.shown(k), facts.R)
        return np.where((facts.R > 0) & (shown == 0), 0.0, share(hits_at(facts, k), shown))
    return share(hits_at(facts, k), np.minimum(k, facts.R) if cap else facts.R)
