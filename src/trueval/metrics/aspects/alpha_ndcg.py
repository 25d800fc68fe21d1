"""α-nDCG: relevant items, less and less for aspects already seen."""

from __future__ import annotations

import numpy as np

from trueval.data.aspects import Aspects
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.aspect_inputs import Interest
from trueval.metrics.aspects.kernel_columns import ALPHA, GAIN, gains, log2_discount
from trueval.metrics.aspects.novelty import cascade_ideal, cascade_value
from trueval.metrics.discount import share
from trueval.metrics.registry import metric
from trueval.metrics.wording import novelty_gain


@metric(
    family="aspects",
    formula=lambda o: (
        "DCG / DCG of the greedy order of Rel, cut at k, discount 1/log2(rank + 1), gain of an item of Rel "
        + novelty_gain(o)
    ),
    range=(0, np.inf),
    parameters={"alpha": ALPHA, "gain": GAIN},
    needs=("aspects", "interest"),
    undefined="no relevant item has an aspect",
    reference="Clarke et al. 2008",
    ties="relevant order",
    greedy_ideal=True,
)
def alpha_ndcg(
    facts: RankingFacts, k: int, *, alpha: float, gain: str, aspects: Aspects, interest: Interest
) -> np.ndarray:
    """Discounted gain with novelty: an aspect already shown counts less, as a share of the greedy ideal.

    The best order is found greedily (ties to the smaller item code), so a list may beat it: values are not cut at 1.

    >>> from trueval.metrics.measure import measure
    >>> topics = {"d1": "a", "d2": "a|b", "d4": "c", "d5": "b|c", "d6": "a|b|c"}
    >>> round(measure("alpha_ndcg@3", ["d1", "d2", "d3", "d4", "d5"], set(topics), aspects=topics), 6)
    0.485878
    """
    worth, discount = gains(facts, alpha, gain, interest), log2_discount(k)
    return share(cascade_value(facts, aspects, worth, discount), cascade_ideal(facts, aspects, worth, discount))
