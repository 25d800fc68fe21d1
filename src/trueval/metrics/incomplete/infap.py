"""Inferred average precision."""

from __future__ import annotations

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.discount import share
from trueval.metrics.incomplete.judged_above import judged_above
from trueval.metrics.registry import Parameter, metric

_SMOOTHING = 0.00001  # as in trec_eval


@metric(
    family="incomplete",
    formula="1/R · Σ over retrieved relevant items of 1/k + (d/k)·(rel + ε) / (rel + non + 2ε), counts above rank k, "
    "d the pooled items above; 1 at rank 1",
    range=(0, 1),
    cutoff="none",
    parameters={
        "pool": Parameter("all", ("all", "judged"), meaning="every item above counts as pooled, or only judged ones")
    },
    undefined="R = 0",
    reference="Yilmaz & Aslam 2006",
)
def infap(facts: RankingFacts, k: None, *, pool: str) -> np.ndarray:
    """Average precision where unjudged items are as relevant as the judged ones above suggest.

    >>> from trueval.metrics.measure import measure
    >>> measure("infap", ["a", "b"], {"b": 1})
    0.75
    """
    h, above = facts.hits, judged_above(facts)
    if facts.ties == "expected":
        cases = np.stack([h.above, h.tied, above.relevant, above.others, above.relevant_tied, above.others_tied])
        distinct, back = np.unique(cases, axis=1, return_inverse=True)
        values = np.array([_expected(pool, *map(int, case)) for case in distinct.T])
        amount = values[back.ravel()] if len(values) else np.empty(0)
    else:
        amount = _amount(h.rank, above.relevant, above.relevant + above.others, pool)
    return share(facts.per_unit(h.unit, amount), facts.R)


def _amount(rank: np.ndarray, relevant: np.ndarray, judged: np.ndarray, pool: str) -> np.ndarray:
    """What a relevant item at a rank adds, given the relevant and the judged items above it."""
    pooled = rank - 1 if pool == "all" else judged
    above = (relevant + _SMOOTHING) / (judged + 2 * _SMOOTHING)
    return np.where(rank == 1, 1.0, 1 / rank + pooled / rank * above)


def _expected(
    pool: str, above: int, size: int, relevant: int, others: int, more_relevant: int, more_others: int
) -> float:
    """Mean over the places of a block of equals: at place j the number s of judged equals before the item is
    hypergeometric, and of those a share more_relevant / (more_relevant + more_others) is relevant on average."""
    from scipy.special import gammaln

    def log_choose(n: np.ndarray | int, k: np.ndarray) -> np.ndarray:
        inside = (k >= 0) & (k <= n)
        k = np.where(inside, k, 0)
        return np.where(inside, gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0), -np.inf)

    judged = more_relevant + more_others
    place, s = np.arange(1, size + 1)[:, None], np.arange(judged + 1)[None, :]
    chance = np.exp(
        log_choose(judged, s) + log_choose(size - 1 - judged, place - 1 - s) - log_choose(size - 1, place - 1)
    )
    relevant_above = relevant + (s * more_relevant / judged if judged else 0.0 * s)
    return float((chance * _amount(above + place, relevant_above, relevant + others + s, pool)).sum() / size)
