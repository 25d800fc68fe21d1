"""Average precision."""

from __future__ import annotations

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.discount import deepest_rank, harmonic, hits_at, share
from trueval.metrics.registry import Parameter, metric


@metric(
    family="accuracy",
    formula="Σ over hits within k of (hits so far / rank), divided by R",
    range=(0, 1),
    cutoff="optional",
    parameters={
        "denom": Parameter(
            "relevant",
            ("relevant", "min", "hits", "k", "list"),
            meaning="divide by R, min(k, R), the number of hits, k, or min(length shown, R)",
        )
    },
    undefined="R = 0",
    reference="Buckley & Voorhees 2005",
    aliases=("map",),
)
def ap(facts: RankingFacts, k: int | None, *, denom: str) -> np.ndarray:
    """Mean of the precisions at the ranks of relevant items.

    >>> from trueval.metrics.measure import measure
    >>> round(measure("ap@5", ["A", "B", "C", "D", "E"], {"B", "C", "E", "G"}), 6)
    0.441667
    """
    total = _expected_sum(facts, k) if facts.ties == "expected" else _sum(facts, k)
    if denom == "hits":
        value = np.nan_to_num(share(total, hits_at(facts, k)))
    elif denom == "list":
        value = np.nan_to_num(share(total, np.minimum(facts.shown(k), facts.R)))
    elif denom == "relevant" or k is None:
        value = share(total, facts.R)
    else:
        value = share(total, np.minimum(k, facts.R)) if denom == "min" else total / k
    return np.where(facts.R > 0, value, np.nan)


def _first_of_unit(unit: np.ndarray) -> np.ndarray:
    """Row at which each row's unit begins."""
    new = np.ones(len(unit), bool)
    new[1:] = unit[1:] != unit[:-1]
    return np.flatnonzero(new)[np.cumsum(new) - 1] if len(unit) else np.arange(0)


def _sum(facts: RankingFacts, k: int | None) -> np.ndarray:
    h = facts.hits
    so_far = np.arange(1, len(h.unit) + 1) - _first_of_unit(h.unit)
    amount = so_far / h.rank
    inside = slice(None) if k is None else h.rank <= k
    return facts.per_unit(h.unit[inside], amount[inside])


def _expected_sum(facts: RankingFacts, k: int | None) -> np.ndarray:
    """Hit i at place j of a block of t equals has c + 1 + (j-1)(m-1)/(t-1) hits up to it in expectation,
    c being the relevant items above the block and m those within."""
    h = facts.hits
    new = np.ones(len(h.unit), bool)
    new[1:] = (h.unit[1:] != h.unit[:-1]) | (h.above[1:] != h.above[:-1])
    block = np.cumsum(new) - 1
    m = np.bincount(block)[block] if len(block) else block
    c = np.flatnonzero(new)[block] - _first_of_unit(h.unit) if len(block) else block
    a, t = h.above.astype(np.int64), h.tied.astype(np.int64)
    places = t if k is None else np.clip(k - a, 0, t)
    table = harmonic(deepest_rank(facts, None))
    inverse = table.upto(a + places) - table.upto(a)  # Σ 1/(a+j) over the places within the cutoff
    behind = places - (a + 1) * inverse  # Σ (j-1)/(a+j)
    others = np.divide(m - 1, t - 1, out=np.zeros(len(t)), where=t > 1)
    return facts.per_unit(h.unit, ((1 + c) * inverse + others * behind) / np.maximum(t, 1))
