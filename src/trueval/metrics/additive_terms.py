"""Additive metrics taken apart, so that every relevant item can be given a weight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.tie_rules import settled_by
from trueval.metrics.metric_values import Ratio


@dataclass(frozen=True, slots=True)
class Terms:
    """What each hit adds to a metric, and what the sum is divided by.

    `rows` are rows of `facts.hits`. With `mean` the metric is the mean over all relevant items (those not
    ranked add nothing); otherwise it is the sum itself, and the amounts hold whatever constant divides it.
    `defined` says for which units there is anything to add up.
    """

    rows: np.ndarray
    amount: np.ndarray
    mean: bool
    defined: np.ndarray | None = None


def best_for(
    facts: RankingFacts, terms: Callable[[RankingFacts], Terms], weight: Callable[[RankingFacts], np.ndarray]
) -> RankingFacts:
    """The facts with equals in the order that is best (ties=worst: worst) once every item has its weight."""
    if facts.ties not in ("best", "worst"):
        return facts
    # what each item adds at the first place
    ranked = facts.rank > 0
    first = terms(facts.changed(rank=ranked.astype(np.int32), ties="random"))
    importance = np.zeros(len(facts.item))
    importance[np.flatnonzero(facts.relevant & ranked)[first.rows]] = first.amount
    return settled_by(facts, importance * weight(facts))


def weigh(terms: Terms, facts: RankingFacts, weight: np.ndarray, *, average: str = "mean") -> np.ndarray | Ratio:
    """The metric with a weight for each judged row: Σ w·amount, for means over Σ w of all relevant items.

    "pooled" adds numerators and denominators over units before dividing; "mean" averages units' own values.
    """
    h = facts.hits
    unit, hit_weight = h.unit[terms.rows], weight[h.row[terms.rows]]
    total = facts.per_unit(unit, hit_weight * terms.amount)
    if not terms.mean:
        return total
    whole = facts.per_unit(facts.unit[facts.relevant], weight[facts.relevant])
    if terms.defined is not None:  # what is undefined adds nothing to a pool, above or below
        total, whole = np.where(terms.defined, total, 0.0), np.where(terms.defined, whole, 0.0)
    ratio = Ratio(total, whole)
    return ratio if average == "pooled" else ratio.per_unit()


def self_normalised(terms: Terms, facts: RankingFacts, weight: np.ndarray) -> Ratio:
    """The metric with weights scaled to mean 1 over all relevant rows, so that equal weights change nothing.

    A mean over relevant items is Σ w·amount / Σ w. A sum for each user is (Σ w·amount / Σ w) · (R / users): what the
    weighted mean relevant item adds, times the number of relevant items per user.
    """
    found = weigh(replace(terms, mean=True), facts, weight, average="pooled")
    assert isinstance(found, Ratio)
    if terms.mean:
        return found
    number, users = facts.per_unit(facts.unit[facts.relevant]), np.ones(len(facts))
    return Ratio(np.column_stack([found.numerator, number]), np.column_stack([found.denominator, users]))
