"""Discounted cumulative gain, plain and normalised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.tie_rules import settled_by
from trueval.metrics.additive_terms import Terms
from trueval.metrics.discount import Table, collect, deepest_rank, lenskit, log2, share
from trueval.metrics.grade_checks import MOST_EXPONENTIAL, check_grades
from trueval.metrics.registry import Parameter, metric
from trueval.metrics.wording import gain_over_discount, hits

_GAIN = Parameter("linear", ("linear", "exp", "binary"), meaning="the value itself, 2^value - 1, or 1", of_grades=True)
_DISCOUNT = Parameter("log2", ("log2", "lenskit"), meaning="1/log2(rank+1), or 1/max(1, log2 rank)")


def _gains(values: np.ndarray, gain: str) -> np.ndarray:
    if gain == "exp":
        return np.exp2(values) - 1
    return np.ones_like(values) if gain == "binary" else values


def _table(facts: RankingFacts, k: int | None, gain: str, discount: str, *, ideal: str = "cut") -> Table:
    """The discounts, once it is clear that the gains are what they should be."""
    if gain == "exp":
        check_grades(facts, "gain=exp", most=MOST_EXPONENTIAL, do="use gain=linear or gain=binary")
    deepest = max(deepest_rank(facts, k), int(facts.R.max(initial=1)), (k or 1) if ideal == "k" else 1)
    return log2(deepest) if discount == "log2" else lenskit(deepest)


def _dcg(facts: RankingFacts, k: int | None, gain: str, table: Table) -> np.ndarray:
    if facts.ties in ("best", "worst") and facts.value.min(initial=0) < 0:
        facts = settled_by(facts, _gains(facts.value, gain))  # what takes away is best behind its equals
    rows, weight = collect(facts, k, table)
    h = facts.hits
    return facts.per_unit(h.unit[rows], weight * _gains(h.gain[rows], gain))


def _dcg_terms(facts: RankingFacts, k: int | None, gain: str, discount: str) -> Terms:
    rows, weight = collect(facts, k, _table(facts, k, gain, discount))
    return Terms(rows, weight * _gains(facts.hits.gain[rows], gain), mean=False)


def _best_gain(facts: RankingFacts, gain: str) -> np.ndarray:
    """Highest gain of each unit, 0 without relevant items."""
    start, best = facts.best_gains
    top, some = np.zeros(len(facts)), facts.R > 0
    top[some] = _gains(best[start[:-1][some]], gain)
    return top


def _ideal(facts: RankingFacts, k: int | None, gain: str, ideal: str, table: Table) -> np.ndarray:
    start, best = facts.best_gains
    best = _gains(best, gain)
    if ideal == "k":
        top = _best_gain(facts, gain)
        return top * table.upto(np.array(k)) if k else top * table.upto(facts.R)
    size = facts.R
    if ideal == "cut" and k is not None:
        size = np.minimum(facts.R, k)
    if len(best) and best.min() == best.max():
        return best[0] * table.upto(size)
    place = np.arange(len(best)) - np.repeat(start[:-1], facts.R)
    inside = place < np.repeat(size, facts.R)
    unit = np.repeat(np.arange(len(facts)), facts.R)[inside]
    return facts.per_unit(unit, best[inside] * table.at(place[inside] + 1))


def _ndcg_formula(o: Mapping[str, Any]) -> str:
    ideal = "DCG of the best order of Rel" + (" cut at k" if o["k"] and o["ideal"] == "cut" else "")
    if o["ideal"] == "k":
        ideal = f"DCG of {'k' if o['k'] else 'R'} items that all have the highest gain of Rel"
    return f"DCG / {ideal}, DCG = Σ over {hits(o)} of {gain_over_discount(o)}"


@metric(
    family="accuracy",
    formula=lambda o: f"Σ over {hits(o)} of {gain_over_discount(o)}",
    range=(0, np.inf),
    cutoff="optional",
    parameters={"gain": _GAIN, "discount": _DISCOUNT},
    reference="Järvelin & Kekäläinen 2002",
    terms=_dcg_terms,
    amount=gain_over_discount,
    plain_sum=True,
)
def dcg(facts: RankingFacts, k: int | None, *, gain: str, discount: str) -> np.ndarray:
    """Gain of the relevant items shown, discounted by rank.

    >>> from trueval.metrics.measure import measure
    >>> round(measure("dcg@5[gain=exp]", ["a", "b", "c", "d", "e"], {"a": 3, "c": 1, "e": 2}), 3)
    8.661
    """
    return _dcg(facts, k, gain, _table(facts, k, gain, discount))


@metric(
    family="accuracy",
    formula=_ndcg_formula,
    range=(0, 1),
    cutoff="optional",
    parameters={
        "gain": _GAIN,
        "discount": _DISCOUNT,
        "ideal": Parameter(
            "cut", ("cut", "full", "k"), meaning="best order cut at k, not cut, or k places of the best gain",
            idle=lambda o: "" if o["k"] or o["ideal"] != "full" else "without a cutoff, the best order is not cut",
        ),
    },
    undefined="R = 0, or no item of Rel has a gain",
    reference="Järvelin & Kekäläinen 2002",
)  # fmt: skip
def ndcg(facts: RankingFacts, k: int | None, *, gain: str, discount: str, ideal: str) -> np.ndarray:
    """Discounted gain as a share of the best possible.

    >>> from trueval.metrics.measure import measure
    >>> round(measure("ndcg@5", ["A", "B", "C", "D", "E"], {"B", "C", "E", "G"}), 6)
    0.592512
    >>> round(measure("ndcg@5[gain=exp]", ["a", "b", "c", "d", "e"], {"a": 3, "c": 1, "e": 2}), 3)
    0.922
    """
    table = _table(facts, k, gain, discount, ideal=ideal)
    return share(_dcg(facts, k, gain, table), _ideal(facts, k, gain, ideal, table))
