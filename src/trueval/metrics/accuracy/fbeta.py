"""F measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.discount import hits_at, share
from trueval.metrics.registry import Parameter, metric
from trueval.metrics.wording import CONDENSED

_REFERENCE = "van Rijsbergen 1979"


def _formula(o: Mapping[str, Any]) -> str:
    mean = "(1 + β²)·P·Q / (β²·P + Q)" if "beta" in o else "2·P·Q / (P + Q)"
    whole = CONDENSED if o["condensed"] else "k"
    return f"{mean}, 0 without hits, Q = |top(k) ∩ Rel| / R, P = |top(k) ∩ Rel| / {whole}"


_UNDEFINED = "R = 0; condensed: no judged item in the list"


def _f(facts: RankingFacts, k: int, beta: float) -> np.ndarray:
    # with P = h/n and Q = h/R, (1+β²)PQ/(β²P+Q) is linear in the hits h
    n = facts.listed_at(k) if facts.condensed else np.full(len(facts), k)  # what precision divides by
    both = (facts.R > 0) & (n > 0)
    return np.where(both, share((1 + beta**2) * hits_at(facts, k), n + beta**2 * facts.R), np.nan)


@metric(
    family="accuracy",
    formula=_formula,
    range=(0, 1),
    undefined=_UNDEFINED,
    reference=_REFERENCE,
    by_set=True,
    condensed=True,
)
def f1(facts: RankingFacts, k: int) -> np.ndarray:
    """Harmonic mean of precision and recall.

    >>> from trueval.metrics.measure import measure
    >>> round(measure("f1@5", ["A", "B", "C", "D", "E"], {"B", "C", "E", "G"}), 6)
    0.666667
    """
    return _f(facts, k, 1.0)


@metric(
    family="accuracy",
    formula=_formula,
    range=(0, 1),
    parameters={"beta": Parameter(1.0, low=0.0, high=1e6, meaning="weight of recall against precision")},
    undefined=_UNDEFINED,
    reference=_REFERENCE,
    by_set=True,
    condensed=True,
)
def fbeta(facts: RankingFacts, k: int, *, beta: float) -> np.ndarray:
    """Weighted harmonic mean of precision and recall.

    >>> from trueval.metrics.measure import measure
    >>> round(measure("fbeta@5[beta=2]", ["A", "B", "C", "D", "E"], {"B", "C", "E", "G"}), 6)
    0.714286
    """
    return _f(facts, k, beta)
