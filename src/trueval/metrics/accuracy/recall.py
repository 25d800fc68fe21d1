"""Recall."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from trueval.errors import DefinitionError
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.additive_terms import Terms
from trueval.metrics.discount import collect, deepest_rank, flat, hits_at, share
from trueval.metrics.metric_inputs import Positives
from trueval.metrics.metric_values import Ratio
from trueval.metrics.popularity_strata import STRATA, stratified, stratified_formula
from trueval.metrics.registry import Parameter, metric


def _terms(facts: RankingFacts, k: int) -> Terms:
    return Terms(*collect(facts, k, flat(deepest_rank(facts, k))), mean=True)


def _formula(o: Mapping[str, Any]) -> str:
    plain = f"|top(k) ∩ Rel| / {'min(k, R)' if o['cap'] else 'R'}"
    return stratified_formula(o, plain, "1")


@metric(
    family="accuracy",
    formula=_formula,
    range=(0, 1),
    parameters={
        "cap": Parameter(False, (False, True), meaning="divide by min(k, R)"),
        **STRATA,
    },
    wants=("positives",),
    undefined="R = 0",
    reference="Cleverdon 1967; stratified: Steck 2011",
    terms=_terms,
    amount="1",
    by_set=True,
)
def recall(
    facts: RankingFacts, k: int, *, cap: bool, beta: float, gamma: float, count_from: str, average: str,
    positives: Positives | None,
) -> np.ndarray | Ratio:  # fmt: skip
    """Share of the relevant items that is within the first k.

    With `beta` every relevant item counts (its number of relevant ratings)^-beta, above and below the line.

    >>> from trueval.metrics.measure import measure
    >>> measure("recall@5", ["A", "B", "C", "D", "E"], {"B", "C", "E", "G"})
    0.75
    """
    if beta or gamma or average == "pooled":
        if cap:
            raise DefinitionError("a stratified or pooled recall has no cap", do="leave cap out")
        return stratified(
            partial(_terms, k=k), facts, positives, metric="recall", beta=beta, gamma=gamma, count_from=count_from,
            average=average,
        )  # fmt: skip
    return share(hits_at(facts, k), np.minimum(k, facts.R) if cap else facts.R)
