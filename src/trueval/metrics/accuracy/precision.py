"""Precision."""

from __future__ import annotations

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.discount import hits_at, share
from trueval.metrics.registry import Parameter, metric


@metric(
    family="accuracy",
    formula="|top(k) ∩ Rel| / k",
    range=(0, 1),
    parameters={
        "denom": Parameter("k", ("k", "list", "achievable"), meaning="divide by k, by what was shown, or by min(k, R)")
    },
    undefined="never for denom=k; R = 0 for denom=achievable",
    reference="Cleverdon 1967",
    aliases=("p",),
)
def precision(facts: RankingFacts, k: int, *, denom: str) -> np.ndarray:
    """Share of the first k that is relevant.

    On condensed rankings the divisor is the number of judged items shown.

    >>> from trueval.metrics.measure import measure
    >>> measure("precision@5", ["A", "B", "C", "D", "E"], {"B", "C", "E", "G"})
    0.6
    """
    hits = hits_at(facts, k)
    if denom == "achievable":
        return share(hits, np.minimum(k, facts.R))
    if denom == "list" or facts.condensed:
        return np.nan_to_num(share(hits, facts.shown(k)))
    return hits / k
