"""What metrics of the lists themselves share: how often each item was recommended."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.discount import log2
from trueval.metrics.results import Added, Tally


def tally(facts: RankingFacts, k: int, finish: Callable[[np.ndarray], float], *, exposure: bool = False) -> Tally:
    """A metric of how often each item was recommended."""
    key = ("recommended rows", k, exposure)
    if key not in facts.memory:
        inside = facts.top(k)
        amount = log2(max(facts.depth, 1)).at(facts.place[inside]) if exposure else None
        users = facts.unit_user[facts.list_unit[inside]]
        facts.memory[key] = Added((k, exposure), users, facts.list_item[inside], amount)
    return Tally(recommended(facts, k, exposure=exposure), finish, (facts.memory[key],))


def recommended(facts: RankingFacts, k: int, *, exposure: bool = False) -> np.ndarray:
    """Times each item was shown within k, or with `exposure` its rank-discounted total."""
    key = ("recommended", k, exposure)
    if key not in facts.memory:
        inside = facts.top(k)
        weights = log2(max(facts.depth, 1)).at(facts.place[inside]) if exposure else None
        counts = np.bincount(facts.list_item[inside], weights=weights, minlength=len(facts.items))
        facts.memory[key] = counts.astype(np.float64)
    return facts.memory[key]


def list_mean(facts: RankingFacts, k: int, amounts: np.ndarray) -> np.ndarray:
    """Mean of an amount per item over each list cut at k; NaN for an empty list."""
    inside = facts.top(k)
    total = facts.per_unit(facts.list_unit[inside], amounts[facts.list_item[inside]])
    shown = facts.shown(k)
    return np.divide(total, shown, out=np.full(len(facts), np.nan), where=shown > 0)


def discounted_mean(facts: RankingFacts, k: int, amounts: np.ndarray, *, relevance: bool) -> np.ndarray:
    """Σ discount · relevance · amount / Σ discount over each list; `amounts` is per row of the lists.

    A user who is shown nothing discovers nothing: an empty list has 0, and stays in the mean.
    """
    inside = facts.top(k)
    weight = log2(max(facts.depth, 1)).at(facts.place[inside])
    kept = weight * facts.list_relevant[inside] if relevance else weight
    unit = facts.list_unit[inside]
    below = facts.per_unit(unit, weight)
    total = facts.per_unit(unit, kept * amounts[inside])
    return np.divide(total, below, out=np.zeros(len(facts)), where=below > 0)
