"""RBU: rank-biased utility."""

from __future__ import annotations

import numpy as np

from trueval.data.aspects import Aspects
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.aspect_inputs import Interest
from trueval.metrics.aspects.kernel_columns import PROFILE, deepest, exponential, places, profile_rows, with_zero
from trueval.metrics.aspects.novelty import cascade_value
from trueval.metrics.registry import Parameter, metric
from trueval.metrics.wording import interest, top


@metric(
    family="aspects",
    formula=lambda o: (
        f"(1 - p)·Σ over {top(o)} of p^(rank - 1)·(gain - e), gain of an item of Rel Σ over its aspects of "
        "w_a·s·Π(1 - s of the items of Rel above with the aspect), s = (2^value - 1) / 2^(highest value in Rel with "
        "the aspect), " + interest(o)
    ),
    range=(-1, 1),
    cutoff="optional",
    parameters={
        "p": Parameter(0.99, low=0.0, high=1.0, meaning="chance of going on to the next item"),
        "e": Parameter(0.05, low=0.0, high=1.0, meaning="effort of reading an item"),
        "profile": PROFILE,
    },
    needs=("aspects", "interest"),
    reference="Amigó et al. 2018",
    ties="relevant order",
)
def rbu(
    facts: RankingFacts, k: int | None, *, p: float, e: float, profile: str, aspects: Aspects, interest: Interest
) -> np.ndarray:
    """Rank-biased utility: patience by rank, satisfaction by aspect, and an effort for every item read.

    >>> from trueval.metrics.measure import measure
    >>> genres = {"i1": "a", "i2": "a|b", "i3": "b"}
    >>> round(measure("rbu@2[p=0.5,profile=test]", ["i1", "i2", "i3"], {"i1": 2, "i3": 2}, aspects=genres), 6)
    0.15
    """
    table = with_zero(p ** np.arange(deepest(facts, k)))
    gain = exponential(facts)
    weights = profile_rows(facts, interest, profile, metric="rbu")
    total = cascade_value(facts, aspects, (gain, gain), table, profile=weights, scaled=True)
    return (1 - p) * (total - e * np.cumsum(table)[places(facts, k)])
