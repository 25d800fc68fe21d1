"""How unevenly recommendations fall on items: Gini index and entropy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.list_sums import tally
from trueval.metrics.metric_values import Tally
from trueval.metrics.registry import Parameter, metric
from trueval.statistics.inequality import gini_index

_EXPOSURE = Parameter(False, (False, True), meaning="count a place by its discount 1/log2(rank+1)")


def _ties(parameters: Mapping[str, Any]) -> str:
    return "order" if parameters["exposure"] else "set"


def _counted(o: Mapping[str, Any]) -> str:
    return f"sum of {'1/log2(rank + 1)' if o['exposure'] else '1'} over the top(k) that hold the item"


def _over_catalogue(counts: np.ndarray, size: int) -> np.ndarray:
    """Counts of all items that could be recommended; items outside a smaller target set were never candidates."""
    return np.sort(counts)[len(counts) - size :] if size < len(counts) else counts


@metric(
    family="beyond",
    formula=lambda o: (
        f"Σ_i Σ_j |x_i - x_j| / (2 n² mean), x of the n items of the catalogue, zeros included, x = {_counted(o)}"
    ),
    range=(0, 1),
    better="lower",
    parameters={"exposure": _EXPOSURE},
    undefined="no recommendation at all",
    reference="Gini 1912; Fleder & Hosanagar 2009",
    system=True,
    ties=_ties,
)
def gini(facts: RankingFacts, k: int, *, exposure: bool) -> Tally:
    """How unevenly recommendations fall on items: 0 all alike, near 1 all on one item.

    >>> from trueval.metrics.measure import measure
    >>> measure("gini@1", ["a", "b", "c", "d"], {"a"})
    0.75
    """
    size = facts.catalogue
    return tally(facts, k, lambda counts: gini_index(_over_catalogue(counts, size)), exposure=exposure)


@metric(
    family="beyond",
    formula=lambda o: f"-Σ p log2 p, p = x / sum of all x, x = {_counted(o)}",
    range=(0, np.inf),
    parameters={"exposure": _EXPOSURE},
    undefined="no recommendation at all",
    reference="Shannon 1948",
    system=True,
    ties=_ties,
)
def entropy(facts: RankingFacts, k: int, *, exposure: bool) -> Tally:
    """Spread of recommendations over items, in bits.

    >>> from trueval.metrics.measure import measure
    >>> measure("entropy@4", ["a", "b", "c", "d"], {"a"})
    2.0
    """

    def bits(counts: np.ndarray) -> float:
        p = counts[counts > 0] / counts.sum()
        return float(-(p * np.log2(p)).sum()) + 0.0 if len(p) else float("nan")

    return tally(facts, k, bits, exposure=exposure)
