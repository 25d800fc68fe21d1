"""Tie rules: the facts when equal scores are ordered at random, as given, for the best, for the worst or all ways."""

from __future__ import annotations

import numpy as np

from trueval.errors import DefinitionError, suggest
from trueval.facts.ranking_facts import RankingFacts

TIES = ("random", "expected", "worst", "best", "given")
BY_ID = ("descending id", "trec_eval")
OF_LIBRARIES = (*BY_ID, "ranx")  # how libraries order equal scores: for their presets alone
SETTLED = ("random", "given", *OF_LIBRARIES)  # the others leave equals open
# What a rule is, where its name does not say it.
MEANINGS = {
    "given": "equal scores in the order of rows",
    "descending id": "equal scores by falling id",
    "trec_eval": "equal scores by falling id as text, scores rounded to 32 bits",
    "ranx": "equal scores in the order of rows in lists of up to 15 items, as ranx sorts them, twice, in longer ones",
}


def with_ties(facts: RankingFacts, rule: str) -> RankingFacts:
    """The facts under another rule for equal scores.

    "random" and "given" are settled when facts are built. "expected" lets every metric average over all
    orders of equals, exactly; "worst" puts relevant items last among their equals, "best" first. Lists keep the
    order that was drawn: what is measured of them goes by `facts.equals`.
    """
    if rule not in TIES:
        raise DefinitionError(f"unknown rule for ties: {rule!r}", do=suggest(rule, TIES))
    if rule == facts.ties:
        return facts
    if rule == "expected":
        order = np.lexsort((facts.item, facts.above, facts.rank == 0, facts.unit))
        return _reordered(facts, order, facts.rank).changed(ties="expected")
    if rule in SETTLED:
        raise DefinitionError(f"facts were built with ties={facts.ties!r}", do=f"build them again with ties={rule!r}")
    return _settled(facts.changed(ties=rule), facts.relevant, np.where(facts.relevant, facts.value, 0.0))


def settled_by(facts: RankingFacts, importance: np.ndarray) -> RankingFacts:
    """Facts under "best" or "worst" for a metric to which each judged row is worth so much at the first place.

    Rows may come in another order. What is worth less than nothing is best behind its equals.

    >>> from trueval.metrics.measure import toy_facts
    >>> facts = with_ties(toy_facts(["a", "b"], {"a", "b"}, scores=[1, 1]), "best")
    >>> settled = settled_by(facts, np.array([1.0, 2.0]))
    >>> settled.item.tolist(), settled.rank.tolist()
    ([1, 0], [1, 2])
    """
    return _settled(facts, facts.relevant & (importance >= 0), np.where(facts.relevant, importance, 0.0))


def _settled(facts: RankingFacts, preferred: np.ndarray, gain: np.ndarray) -> RankingFacts:
    worst = facts.ties == "worst"
    # in "worst", what is not preferred leads its equals and the best gains come last
    lead = np.where(preferred, 1, 0) if worst else np.where(preferred, 0, 1)
    within = gain if worst else -gain
    order = np.lexsort((facts.item, within, lead, facts.above, facts.rank == 0, facts.unit))
    unit, above, tied = facts.unit[order], facts.above[order], facts.tied[order]
    leading, ranked = lead[order] == 0, facts.rank[order] > 0
    new = np.ones(len(order), bool)
    new[1:] = (unit[1:] != unit[:-1]) | (above[1:] != above[:-1]) | (ranked[1:] != ranked[:-1])
    block = np.cumsum(new) - 1
    first = np.flatnonzero(new)
    size = np.diff(np.append(first, len(order)))
    within_block = np.arange(len(order)) - first[block] if len(order) else np.empty(0, np.int64)
    from_front = above + 1 + within_block
    from_back = above + tied - (size[block] - 1 - within_block) if len(order) else from_front
    rank = np.where(leading, from_front, from_back)
    rank = np.where(ranked, rank, 0).astype(np.int32)
    settled = np.empty_like(rank)
    settled[order] = rank
    return _reordered(facts, np.lexsort((facts.item, settled, settled == 0, facts.unit)), settled)


def _reordered(facts: RankingFacts, order: np.ndarray, rank: np.ndarray) -> RankingFacts:
    rows = {name: getattr(facts, name)[order] for name in ("item", "value", "relevant", "above", "tied")}
    score = None if facts.score is None else facts.score[order]
    in_list = facts.rank if facts.list_rank is None else facts.list_rank
    return facts.changed(rank=rank[order], list_rank=in_list[order], score=score, **rows)
