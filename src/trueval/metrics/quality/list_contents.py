"""What the lists look like."""

from __future__ import annotations

import numpy as np

from trueval.data.by_user import ByUser
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.list_sums import list_mean, list_share, mean_weight
from trueval.metrics.metric_inputs import ItemPopularity
from trueval.metrics.registry import metric
from trueval.metrics.wording import top


@metric(
    family="quality", formula="share of top(k) without a judgement", range=(0, 1), better="neither",
    undefined="an empty list", reference="Mena-Maldonado et al. 2020", ties="judged", finding="never judged",
)  # fmt: skip
def unjudged(facts: RankingFacts, k: int) -> np.ndarray:
    """Share of the first k items about which the test set says nothing.

    >>> from trueval.metrics.measure import measure
    >>> measure("unjudged@4", ["a", "b", "c", "d"], {"a": 1, "b": 0})
    0.5
    """
    if facts.ties == "expected":
        ranked = facts.tied > 0
        chance = mean_weight(facts.above[ranked], facts.tied[ranked], k, None)
        known = facts.per_unit(facts.unit[ranked], chance)
    else:
        known = facts.per_unit(facts.unit[(facts.rank > 0) & (facts.rank <= k)])
    listed = facts.listed_at(k)
    return 1 - np.divide(known, listed, out=np.full(len(facts), np.nan), where=listed > 0)


@metric(
    family="quality", formula=lambda o: f"number of items in {top(o)}", range=(0, np.inf), better="neither",
    cutoff="optional", reference="this tool", ties="none",
)  # fmt: skip
def list_length(facts: RankingFacts, k: int | None) -> np.ndarray:
    """Number of items shown.

    >>> from trueval.metrics.measure import measure
    >>> measure("list_length@10", ["a", "b", "c"], {"a"})
    3.0
    """
    return facts.listed_at(k).astype(np.float64)


@metric(
    family="quality", formula="share of top(k) that the user already has in train", range=(0, 1), better="neither",
    needs=("train",), undefined="an empty list", reference="this tool", ties="linear",
)  # fmt: skip
def seen(facts: RankingFacts, k: int, *, train: ByUser) -> np.ndarray:
    """Share of the list that is not new to the user.

    >>> from trueval.metrics.measure import measure
    >>> measure("seen@2", ["a", "b"], {"b"}, profile={"a"})
    0.5
    """

    def known(rows: np.ndarray) -> np.ndarray:
        users = facts.unit_user[facts.list_unit[rows]]
        return train.contains(users, facts.list_item[rows]).astype(np.float64)

    return list_share(facts, k, known)


@metric(
    family="quality", formula="share of top(k) that nobody has in train", range=(0, 1), better="neither",
    needs=("popularity",), undefined="an empty list", reference="this tool", ties="linear",
)  # fmt: skip
def cold(facts: RankingFacts, k: int, *, popularity: ItemPopularity) -> np.ndarray:
    """Share of the list that no train row mentions.

    >>> from trueval.metrics.measure import measure
    >>> measure("cold@2", ["a", "b"], {"b"}, popularity={"a": 1, "b": 0})
    0.5
    """
    return list_mean(facts, k, (popularity.counts == 0).astype(np.float64))
