"""The facts as seen by one group of items."""

from __future__ import annotations

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.tie_rules import settled_by


def within_items(facts: RankingFacts, member: np.ndarray) -> RankingFacts:
    """The same rankings, judged by the items of a group alone; `member` says of every item whether it is in.

    Judgements of other items are left out, so R and N count within the group. Lists, ranks and target sets stay
    as they are: an item of another group takes its place in the ranking like any item nobody judged.

    >>> from trueval.metrics.measure import toy_facts
    >>> facts = toy_facts(["a", "b", "c"], {"a", "c"})
    >>> within_items(facts, facts.items.values.is_in(["b", "c"]).to_numpy()).rank.tolist()
    [3]
    """
    rows = member[facts.item]
    kept = np.concatenate([[0], np.cumsum(rows)])
    cut = facts.changed(
        start=kept[facts.start],
        score=None if facts.score is None else facts.score[rows],
        list_rank=None if facts.list_rank is None else facts.list_rank[rows],
        **{name: getattr(facts, name)[rows] for name in ("item", "value", "relevant", "rank", "above", "tied")},
    )
    # among equals, what is best for the group is another order than what is best for all items
    return settled_by(cut, cut.value) if facts.ties in ("best", "worst") else cut
