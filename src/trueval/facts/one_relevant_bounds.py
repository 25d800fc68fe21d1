"""How far 1R precision can be from AR precision: the lemma's bounds (Bellogín et al. 2017)."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from trueval.errors import DataError, DefinitionError
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import one_relevant


def one_relevant_bounds(facts: RankingFacts, n: int) -> tuple[float, float, float]:
    """Lower bound, value and upper bound of 1RP@n, all from the facts of an AR design.

    |U| · P@n / |PR|  <=  1RP@n  <=  Σ_u m_u · P_u@m_u / (n · |PR|),   m_u = n + R_u − 1,

    where |PR| counts all relevant test items and U the users who have one. Relevant items below rank n can
    only gain from the removal of other relevant items, by at most R_u − 1 places.

    >>> from trueval.metrics.measure import toy_facts
    >>> one_relevant_bounds(toy_facts(["x", "a", "b"], {"a", "b"}, complete=True), 1)
    (0.0, 0.0, 0.5)
    """
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise DefinitionError("the cutoff must be a whole number, 1 or more", found=f"n = {n!r}")
    if facts.one_relevant:
        raise DefinitionError(
            "the bounds compare 1R with AR, and these facts are 1R already", do="give the facts of the AR design"
        )
    if not facts.exact:
        raise DefinitionError(
            f"the bounds need the rank of every relevant item, and this run shows only the first {facts.depth}",
            do="rank with the model itself (scores or factors), or give a run that ranks all targets",
        )
    pairs = int(facts.R.sum())
    if not pairs:
        raise DataError("no user has a relevant item", found=f"{len(facts):,} units", do="lower the threshold")
    lower = _within(facts, np.full(len(facts), n)) / (n * pairs)
    upper = _within(facts, n + facts.R - 1) / (n * pairs)
    alone = one_relevant(facts)
    return lower, _within(alone, np.full(len(alone), n)) / (n * pairs), upper


def _within(facts: RankingFacts, k: np.ndarray) -> float:
    """Relevant items within each unit's own cutoff, in expectation where equal scores are left open."""
    hits = facts.hits
    limit = k[hits.unit]
    if facts.ties != "expected":
        return float(np.count_nonzero(hits.rank <= limit))
    return float(np.sum(np.clip((limit - hits.above) / hits.tied, 0, 1)))
