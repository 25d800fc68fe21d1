"""Area under the recall curve (ATOP)."""

from __future__ import annotations

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.discount import share
from trueval.metrics.registry import metric


@metric(
    family="accuracy",
    formula="mean over relevant items of 1 - (rank - 1) / (|T| - 1)",
    range=(0, 1),
    cutoff="none",
    undefined="R = 0 or a single target",
    reference="Steck 2010",
    exact=True,
)
def atop(facts: RankingFacts, k: None) -> np.ndarray:
    """How near the top relevant items are, on a scale from last (0) to first (1).

    >>> from trueval.metrics.measure import measure
    >>> round(measure("atop", list("abcdefghij"), {"a", "d", "j"}, complete=True), 6)
    0.555556
    """
    h = facts.hits
    rank = h.above + (h.tied + 1) / 2 if facts.ties == "expected" else h.rank
    won = facts.per_unit(h.unit, (facts.targets[h.unit] - rank).astype(np.float64))  # outside the targets: nothing
    return np.where(facts.R > 0, share(won, facts.R * (facts.targets - 1.0)), np.nan)
