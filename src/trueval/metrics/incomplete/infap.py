"""Inferred average precision."""

from __future__ import annotations

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.discount import share
from trueval.metrics.incomplete.expected_ranks import mean_inverse_ranks
from trueval.metrics.incomplete.judged_above import judged_above
from trueval.metrics.registry import Parameter, metric

_SMOOTHING = 0.00001  # as in trec_eval


@metric(
    family="incomplete",
    formula=lambda o: (
        "Σ over the list ∩ Rel of (1/rank + (d/rank)·(rel + ε) / (rel + non + 2ε)) / R, rel and non the items "
        f"of Rel and Non above, d = {'rank - 1' if o['pool'] == 'all' else 'rel + non'}, ε = 0.00001, 1 in place of "
        "the term at rank 1"
    ),
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
        distinct, back = np.unique(cases.astype(np.int64), axis=1, return_inverse=True)
        amount = _expected(pool, *distinct)[back.ravel()]
    else:
        amount = _amount(h.rank, above.relevant, above.relevant + above.others, pool)
    return share(facts.per_unit(h.unit, amount), facts.R)


def _amount(rank: np.ndarray, relevant: np.ndarray, judged: np.ndarray, pool: str) -> np.ndarray:
    """What a relevant item at a rank adds, given the relevant and the judged items above it."""
    pooled = rank - 1 if pool == "all" else judged
    above = (relevant + _SMOOTHING) / (judged + 2 * _SMOOTHING)
    return np.where(rank == 1, 1.0, 1 / rank + pooled / rank * above)


def _expected(
    pool: str, above: np.ndarray, size: np.ndarray, relevant: np.ndarray, others: np.ndarray,
    more_relevant: np.ndarray, more_others: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Mean over the orders of blocks of equals, of what a relevant item adds.

    It is the first, second, … of the judged equals with equal chances, whatever the unjudged ones do. With s of them
    before it, a share more_relevant / (more_relevant + more_others) of these is relevant on average.
    """
    more = more_relevant + more_others
    rate = np.divide(more_relevant, more, out=np.zeros(len(more)), where=more > 0)
    total = np.zeros(len(size))
    for rows, place, inverse in mean_inverse_ranks(above, size, more + 1):
        before = place - 1
        judged = (relevant + others)[rows] + before
        good = (relevant[rows] + before * rate[rows] + _SMOOTHING) / (judged + 2 * _SMOOTHING)
        total[rows] += inverse + (1 - inverse if pool == "all" else judged * inverse) * good
    return total / (more + 1)
