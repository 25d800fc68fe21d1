"""Catalogue coverage."""

from __future__ import annotations

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.lists import tally
from trueval.metrics.registry import metric
from trueval.metrics.results import Tally


@metric(
    family="beyond",
    formula="distinct items within anyone's top(k) / items in the catalogue",
    range=(0, 1),
    reference="Herlocker et al. 2004",
    system=True,
)
def coverage(facts: RankingFacts, k: int) -> Tally:
    """Share of the catalogue that is recommended to anyone.

    >>> from trueval.metrics.measure import measure
    >>> measure("coverage@2", ["a", "b", "c", "d"], {"a"})
    0.5
    """
    size = facts.catalogue
    return tally(facts, k, lambda counts: np.count_nonzero(counts) / size)
