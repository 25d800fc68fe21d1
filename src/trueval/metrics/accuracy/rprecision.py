"""R-precision."""

from __future__ import annotations

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.discount import hits_at, share
from trueval.metrics.registry import metric


@metric(
    family="accuracy",
    formula="|top(R) ∩ Rel| / R",
    range=(0, 1),
    cutoff="none",
    undefined="R = 0",
    reference="Buckley & Voorhees 2005",
    aliases=("rprec",),
)
def rprecision(facts: RankingFacts, k: None) -> np.ndarray:
    """Precision at the number of relevant items.

    >>> from trueval.metrics.measure import measure
    >>> measure("rprecision", ["A", "B", "C", "D", "E"], {"B", "C", "E", "G"})
    0.5
    """
    return share(hits_at(facts, facts.R), facts.R)
