"""Precision."""

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
from trueval.metrics.popularity_strata import STRATA, stratified
from trueval.metrics.registry import Parameter, metric
from trueval.metrics.wording import CONDENSED, stratum_weight, weighted

_STRATA = {name: parameter for name, parameter in STRATA.items() if name != "average"}


def _terms(facts: RankingFacts, k: int) -> Terms:
    if facts.condensed:
        raise DefinitionError(
            "a precision with weights divides by k, and on condensed rankings by the judged items within k",
            do="leave the weights out, or do not condense",
        )
    rows, weight = collect(facts, k, flat(deepest_rank(facts, k)))
    return Terms(rows, weight / k, mean=False)


def _formula(o: Mapping[str, Any]) -> str:
    if weight := stratum_weight(o):
        return weighted(o, "1 / k", weight, plain_sum=True)
    whole = {"k": "k", "list": "|top(k)|, 0 for an empty list", "achievable": "min(k, R)"}[o["denom"]]
    return f"|top(k) ∩ Rel| / {CONDENSED if o['condensed'] and o['denom'] != 'achievable' else whole}"


@metric(
    family="accuracy",
    formula=_formula,
    range=(0, 1),
    parameters={
        "denom": Parameter(
            "k", ("k", "list", "achievable"), meaning="divide by k, by the length of the list, or by min(k, R)"
        ),
        **_STRATA,
    },
    wants=("positives",),
    undefined="never for denom=k; R = 0 for denom=achievable; condensed: no judged item in the list",
    reference="Cleverdon 1967; stratified: Steck 2011",
    aliases=("p",),
    terms=_terms,
    amount="1 / k",
    plain_sum=True,
    by_set=True,
    condensed=True,
)
def precision(
    facts: RankingFacts, k: int, *, denom: str, beta: float, gamma: float, count_from: str, positives: Positives | None
) -> np.ndarray | Ratio:
    """Share of the first k that is relevant.

    On condensed rankings the divisor is the number of judged items within k; without any it is undefined.

    >>> from trueval.metrics.measure import measure
    >>> measure("precision@5", ["A", "B", "C", "D", "E"], {"B", "C", "E", "G"})
    0.6
    """
    if beta or gamma:
        if denom != "k":
            raise DefinitionError("a stratified precision divides by k", do="leave denom out")
        return stratified(
            partial(_terms, k=k), facts, positives, metric="precision", beta=beta, gamma=gamma, count_from=count_from,
            average="mean",
        )  # fmt: skip
    hits = hits_at(facts, k)
    if denom == "achievable":
        return share(hits, np.minimum(k, facts.R))
    if facts.condensed:
        return share(hits, facts.listed_at(k))
    return np.nan_to_num(share(hits, facts.listed_at(k))) if denom == "list" else hits / k
