"""Popularity stratification: relevant items weighted by (number of relevant ratings)^-β (Steck 2011)."""

from __future__ import annotations

import numpy as np

from trueval.errors import DefinitionError
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.inputs import Positives, require
from trueval.metrics.registry import Parameter
from trueval.metrics.results import Ratio
from trueval.metrics.terms import Terms, weigh

# Parameters of every metric that can be stratified.
STRATA = {
    "beta": Parameter(
        0.0, low=0.0, quiet=True, meaning="weight of an item: its number of relevant ratings to the power of -beta"
    ),
    "gamma": Parameter(0.0, low=0.0, quiet=True, meaning="another way to say it: beta = gamma / (gamma + 1)"),
    "count_from": Parameter("all", ("all", "train", "test"), quiet=True, meaning="where relevant ratings are counted"),
    "average": Parameter(
        "default",
        ("default", "pooled", "mean"),
        quiet=True,
        meaning="over users; pooled where beta is given, else mean",
    ),
}


def stratified(
    terms: Terms, facts: RankingFacts, positives: Positives | None, *, metric: str, beta: float, gamma: float,
    count_from: str, average: str,
) -> np.ndarray | Ratio:  # fmt: skip
    """An additive metric with popularity weights."""
    if beta and gamma:
        raise DefinitionError(f"{metric} takes beta or gamma, not both", found=f"beta={beta:g}, gamma={gamma:g}")
    power = beta or gamma / (gamma + 1)
    weight = np.ones(len(facts.item))
    if power:
        counts = require(positives, "positives", metric=metric).counts(count_from)
        weight = np.maximum(counts[facts.item], 1.0) ** -power
    pooled = average == "pooled" or (average == "default" and power > 0)
    return weigh(terms, facts, weight, average="pooled" if pooled else "mean")
