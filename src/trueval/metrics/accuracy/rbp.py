"""Rank-biased precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.additive_terms import Terms
from trueval.metrics.discount import collect, deepest_rank, geometric
from trueval.metrics.registry import Parameter, metric
from trueval.metrics.wording import hits


def _terms(facts: RankingFacts, k: int | None, p: float, gain: str) -> Terms:
    rows, weight = collect(facts, k, geometric(p, deepest_rank(facts, k)))
    worth = facts.hits.gain[rows] if gain == "linear" else 1.0
    return Terms(rows, (1 - p) * weight * worth, mean=False)


def _worth(o: Mapping[str, Any]) -> str:
    return "value·p^(rank - 1)" if o["gain"] == "linear" else "p^(rank - 1)"


@metric(
    family="accuracy",
    formula=lambda o: f"(1 - p)·Σ over {hits(o)} of {_worth(o)}",
    range=(0, np.inf),  # 1 with binary gains
    cutoff="optional",
    parameters={
        "p": Parameter(0.8, low=0.0, high=0.999999, meaning="chance of looking at the next item"),
        "gain": Parameter("binary", ("binary", "linear"), meaning="1, or the value itself", quiet=True, of_grades=True),
    },
    reference="Moffat & Zobel 2008",
    terms=_terms,
    amount=lambda o: f"(1 - p)·{_worth(o)}",
    plain_sum=True,
)
def rbp(facts: RankingFacts, k: int | None, *, p: float, gain: str) -> np.ndarray:
    """What a reader who goes on with probability p gains per item seen.

    >>> from trueval.metrics.measure import measure
    >>> measure("rbp[p=0.5]", ["a", "b", "c", "d", "e"], {"a", "c", "e"})
    0.65625
    """
    terms = _terms(facts, k, p, gain)
    return facts.per_unit(facts.hits.unit[terms.rows], terms.amount)
