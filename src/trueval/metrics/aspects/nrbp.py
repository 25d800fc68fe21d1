"""NRBP: novelty- and rank-biased precision."""

from __future__ import annotations

import numpy as np

from trueval.data.aspects import Aspects
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.aspect_inputs import Interest
from trueval.metrics.aspects.coverage import relevant_aspects
from trueval.metrics.aspects.kernel_columns import ALPHA, GAIN, deepest, gains, with_zero
from trueval.metrics.aspects.novelty import cascade_value
from trueval.metrics.discount import share
from trueval.metrics.registry import Parameter, metric
from trueval.metrics.wording import novelty_gain


@metric(
    family="aspects",
    formula=lambda o: (
        "(1 - (1 - α)·β) / |aspects of Rel| · Σ over the list ∩ Rel of β^(rank - 1)·gain, gain = " + novelty_gain(o)
    ),
    range=(0, 1),
    cutoff="none",
    parameters={
        "alpha": ALPHA,
        "beta": Parameter(0.5, low=0.0, high=1.0, meaning="chance of going on to the next item"),
        "gain": GAIN,
    },
    needs=("aspects", "interest"),
    undefined="no relevant item has an aspect",
    reference="Clarke et al. 2009",
    ties="relevant order",
)
def nrbp(
    facts: RankingFacts, k: None, *, alpha: float, beta: float, gain: str, aspects: Aspects, interest: Interest
) -> np.ndarray:
    """Novelty- and rank-biased precision: patience runs out by rank, interest by aspect.

    >>> from trueval.metrics.measure import measure
    >>> topics = {"d1": "a", "d2": "a|b", "d4": "c", "d5": "b|c", "d6": "a|b|c"}
    >>> measure("nrbp", ["d1", "d2", "d3", "d4", "d5"], set(topics), aspects=topics)
    0.484375
    """
    discount = with_zero(beta ** np.arange(deepest(facts, None)))
    total = cascade_value(facts, aspects, gains(facts, alpha, gain, interest), discount)
    return (1 - (1 - alpha) * beta) * share(total, relevant_aspects(facts, aspects))
