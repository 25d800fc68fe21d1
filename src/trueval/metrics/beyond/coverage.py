"""Catalogue coverage."""

from __future__ import annotations

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.list_sums import recommended_to_anyone
from trueval.metrics.metric_values import Tally
from trueval.metrics.registry import metric


@metric(
    family="beyond",
    formula="distinct items within anyone's top(k) / items in the catalogue",
    range=(0, 1),
    reference="Herlocker et al. 2004",
    system=True,
    ties="anyone",
    finding="catalogue shown",
)
def coverage(facts: RankingFacts, k: int) -> Tally:
    """Share of the catalogue that is recommended to anyone.

    With ties=expected: the mean over items of 1 - Π over users of (1 - the chance that the user is shown the item).

    >>> from trueval.metrics.measure import measure
    >>> measure("coverage@2", ["a", "b", "c", "d"], {"a"})
    0.5
    """
    size = facts.catalogue
    return recommended_to_anyone(facts, k, lambda recommended: float(recommended.sum()) / size)
