"""Items in the list that the user is known to dislike."""

from __future__ import annotations

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import flip
from trueval.metrics.discount import hits_at, share
from trueval.metrics.registry import metric
from trueval.metrics.wording import CONDENSED

_REFERENCE = "Mena-Maldonado et al. 2020"


@metric(
    family="false_positives",
    formula=lambda o: f"|top(k) ∩ Non| / {CONDENSED if o['condensed'] else 'k'}",
    range=(0, 1),
    better="lower",
    undefined="never; condensed: no judged item in the list",
    reference=_REFERENCE,
    by_set=True,
    condensed=True,
)
def antiprecision(facts: RankingFacts, k: int) -> np.ndarray:
    """Share of the first k that the user is known not to like; the same as anti(precision).

    On condensed rankings the divisor is the number of judged items within k, so that it is 1 - precision, and
    undefined where there is none.

    >>> from trueval.metrics.measure import measure
    >>> measure("antiprecision@4", ["a", "b", "c", "d"], {"a": 1, "b": 0})
    0.25
    """
    wrong = hits_at(flip(facts), k)
    return share(wrong, facts.listed_at(k)) if facts.condensed else wrong / k


@metric(
    family="false_positives",
    formula="|top(k) ∩ Non| / N, 0 if N = 0",
    range=(0, 1),
    better="lower",
    reference=_REFERENCE,
    by_set=True,
)
def fallout(facts: RankingFacts, k: int) -> np.ndarray:
    """Share of the items the user is known not to like that is within the first k.

    >>> from trueval.metrics.measure import measure
    >>> measure("fallout@2", ["a", "b", "c"], {"a": 1, "b": 0, "c": 0})
    0.5
    """
    return np.nan_to_num(share(hits_at(flip(facts), k), facts.N))
