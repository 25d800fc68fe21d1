"""Rankings of rated items, as facts and inputs that every metric can be computed from."""

from __future__ import annotations

import numpy as np

from trueval.data.by_user import ByUser
from trueval.data.interactions import Interactions
from trueval.data.lazy import Once
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.aspect_inputs import Interest, Targets
from trueval.metrics.metric_inputs import Inputs
from trueval.simulation.ideal_rankings import IdealRankings


def judged_facts(ideal: IdealRankings, item: np.ndarray | None = None) -> RankingFacts:
    """Facts of rankings in which all items are rated: the ideal ones, or others of the same items and lengths.

    Every rated item is relevant: what its rating is worth is left to graded metrics.

    >>> import polars as pl
    >>> from trueval.simulation.ideal_rankings import ideal_rankings
    >>> items = pl.DataFrame({"item": [1, 2], "aspects": ["war", "drama"]})
    >>> log = Interactions.of(pl.DataFrame({"user": [7, 7], "item": [1, 2], "value": [2, 5]}), items=items)
    >>> facts = judged_facts(ideal_rankings(log))
    >>> facts.items.decode(facts.item).to_list(), facts.rank.tolist()
    ([2, 1], [1, 2])
    """
    shown = ideal.item if item is None else item
    rated = ByUser.of(ideal.user, ideal.item, ideal.value, n_users=len(ideal.start) - 1)
    assert rated.value is not None
    rank = (ideal.place + 1).astype(np.int32)
    value = rated.value[rated.find(ideal.user, shown)]
    return RankingFacts(
        unit_user=np.arange(len(ideal.start) - 1, dtype=np.int32),
        start=ideal.start,
        item=shown.astype(np.int32),
        value=value,
        relevant=value > 0,
        rank=rank,
        above=rank - 1,
        tied=np.ones_like(rank),
        list_start=ideal.start,
        list_item=shown.astype(np.int32),
        targets=ideal.length,
        users=ideal.users,
        items=ideal.items,
        catalogue=len(ideal.items),
        exact=False,
        highest=float(ideal.value.max(initial=0)),
    )


def judged_inputs(ideal: IdealRankings, train: Interactions | None = None) -> Inputs:
    """What aspect metrics need besides: a user's targets are all items that anybody has rated, less those of train.

    >>> import polars as pl
    >>> from trueval.metrics.compute import compute
    >>> from trueval.metrics.grammar import parse
    >>> from trueval.simulation.ideal_rankings import ideal_rankings
    >>> items = pl.DataFrame({"item": [1, 2], "aspects": ["war", "drama"]})
    >>> log = Interactions.of(pl.DataFrame({"user": [7, 7], "item": [1, 2], "value": [2, 5]}), items=items)
    >>> ideal = ideal_rankings(log)
    >>> compute(parse("abndcg@2[profile=test]"), judged_facts(ideal), judged_inputs(ideal)).value()
    1.0
    """
    low, high = float(ideal.value.min(initial=np.inf)), float(ideal.value.max(initial=0))
    barred = None
    if train is not None:
        barred = ByUser.code(train.frame.select("user", "item"), ideal.users, ideal.items).distinct()
    return Inputs(
        aspects=ideal.aspects,
        interest=Interest(None, lambda: (low, high)),
        targets=Targets(Once(lambda: np.ones(len(ideal.items), bool)), barred),
    )
