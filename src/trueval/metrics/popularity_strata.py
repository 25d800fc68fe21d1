"""Popularity stratification: relevant items weighted by (number of relevant ratings)^-β (Steck 2011)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trueval.errors import DefinitionError
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.additive_terms import Terms, best_for, weigh
from trueval.metrics.metric_inputs import Positives, require
from trueval.metrics.metric_values import Ratio
from trueval.metrics.registry import Parameter
from trueval.metrics.wording import POOLED, stratum_weight, weighted

# Parameters of every metric that can be stratified.
STRATA = {
    "beta": Parameter(
        0.0, low=0.0, quiet=True, meaning="weight of an item: its number of relevant ratings to the power of -beta"
    ),
    "gamma": Parameter(0.0, low=0.0, quiet=True, meaning="alternative to beta: beta = gamma / (gamma + 1)"),
    "count_from": Parameter(
        "all",
        ("all", "train", "test"),
        quiet=True,
        meaning="where relevant ratings are counted",
        idle=lambda o: "" if o["beta"] or o["gamma"] else "without beta or gamma, every item weighs the same",
    ),
    "average": Parameter(
        "default",
        ("default", "pooled", "mean"),
        quiet=True,
        meaning="over users; pooled where beta is given, else mean",
    ),
}


def pooled_by_default(parameters: Mapping[str, Any]) -> bool:
    """Whether a metric with these parameters is pooled over users because of its weights alone.

    >>> pooled_by_default({"beta": 0.5, "gamma": 0, "average": "default"})
    True
    """
    return parameters.get("average") == "default" and bool(parameters["beta"] or parameters["gamma"])


def stratified_formula(o: Mapping[str, Any], plain: str, amount: str) -> str:
    """The formula of a mean over relevant items, `plain` without weights; `amount` is what each adds."""
    weight = stratum_weight(o)
    pooled = o["average"] == "pooled" or (o["average"] == "default" and bool(weight))
    if not weight and pooled:
        weight = "w = 1"
    return (weighted(o, amount, weight, plain_sum=False) if weight else plain) + POOLED * pooled


def stratified(
    terms: Callable[[RankingFacts], Terms], facts: RankingFacts, positives: Positives | None, *, metric: str,
    beta: float, gamma: float, count_from: str, average: str,
) -> np.ndarray | Ratio:  # fmt: skip
    """An additive metric with popularity weights; `terms` takes it apart."""
    if beta and gamma:
        raise DefinitionError(f"{metric} takes beta or gamma, not both", found=f"beta={beta:g}, gamma={gamma:g}")
    power = beta or gamma / (gamma + 1)
    counts = require(positives, "positives", metric=metric).counts(count_from) if power else np.ones(len(facts.items))

    def weights(facts: RankingFacts) -> np.ndarray:
        return np.maximum(counts[facts.item], 1.0) ** -power

    facts = best_for(facts, terms, weights)
    pooled = average == "pooled" or (average == "default" and power > 0)
    return weigh(terms(facts), facts, weights(facts), average="pooled" if pooled else "mean")
