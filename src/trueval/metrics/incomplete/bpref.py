"""Binary preference."""

from __future__ import annotations

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.discount import share
from trueval.metrics.incomplete.judged_above import judged_above
from trueval.metrics.registry import metric


@metric(
    family="incomplete",
    formula="Σ over the list ∩ Rel of (1 - min(n, R) / min(N, R)) / R, n the items of Non above, 1 in place of the "
    "term if n = 0",
    range=(0, 1),
    cutoff="none",
    undefined="R = 0",
    reference="Buckley & Voorhees 2004, in the form of trec_eval",
)
def bpref(facts: RankingFacts, k: None) -> np.ndarray:
    """How often relevant items are ranked above items known not to be; unjudged items do not count.

    >>> from trueval.metrics.measure import measure
    >>> judged = {"a": 0, "b": 1, "d": 1, "e": 0, "f": 1, "g": 1, "h": 0}
    >>> round(measure("bpref", ["a", "b", "c", "d", "e", "f"], judged), 6)
    0.416667
    """
    h, around = facts.hits, judged_above(facts)
    limit = facts.R[h.unit].astype(np.float64)
    known = facts.N[h.unit]
    # among equals the number of non-relevant items before an item is uniform on 0 … same
    lost = _mean_of_capped(around.others, around.others_tied, limit)
    penalty = np.divide(lost, np.minimum(known, limit), out=np.zeros(len(lost)), where=known > 0)
    return share(facts.per_unit(h.unit, 1 - penalty), facts.R)


def _mean_of_capped(least: np.ndarray, more: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """Mean of min(least + x, limit) over x = 0 … more."""
    below = np.clip(limit - least, 0, more + 1)  # terms under the limit
    under = below * least + below * (below - 1) / 2
    return (under + (more + 1 - below) * limit) / (more + 1)
