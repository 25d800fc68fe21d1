"""Novelty: how little known the recommended items are."""

from __future__ import annotations

import numpy as np

from trueval.errors import DefinitionError
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.list_sums import discounted_mean, list_mean
from trueval.metrics.metric_inputs import ItemPopularity
from trueval.metrics.registry import Parameter, metric
from trueval.metrics.wording import discounted

_RELEVANCE = Parameter(True, (True, False), meaning="count relevant items only")
_REFERENCE = "Vargas & Castells 2011"


@metric(
    family="beyond",
    formula="mean over top(k) of -log2(share of train users who have the item); unseen items take 1/(2·train users)",
    range=(0, np.inf),
    needs=("popularity",),
    undefined="an empty list",
    reference="Zhou et al. 2010",
    ties="linear",
)
def novelty(facts: RankingFacts, k: int, *, popularity: ItemPopularity) -> np.ndarray:
    """Mean self-information of the recommended items, in bits: an item known to 1 % of users has 6.64.

    >>> from trueval.metrics.measure import measure
    >>> round(measure("novelty@1", ["a", "b"], {"a"}, popularity={"a": 1, "b": 50}, users=100), 6)
    6.643856
    """
    owners = popularity.users_of(metric="novelty")
    share = np.where(owners > 0, owners, 0.5) / popularity.users
    return list_mean(facts, k, -np.log2(share))


@metric(
    family="beyond",
    formula=lambda o: discounted(o, "(1 - share of train users who have the item)"),
    range=(0, 1),
    parameters={"relevance": _RELEVANCE},
    needs=("popularity",),
    reference=_REFERENCE,
    ties="linear",
)
def epc(facts: RankingFacts, k: int, *, relevance: bool, popularity: ItemPopularity) -> np.ndarray:
    """Expected popularity complement: how unlikely it is that a user already knows what is shown.

    >>> from trueval.metrics.measure import measure
    >>> known = {"A": 9, "B": 5, "C": 1}
    >>> round(measure("epc@3", ["A", "B", "C"], {"B", "C"}, popularity=known, users=10), 6)
    0.359216
    """
    complement = 1 - popularity.users_of(metric="epc") / popularity.users
    return discounted_mean(facts, k, complement[facts.list_item], relevance=relevance)


@metric(
    family="beyond",
    formula=lambda o: (
        discounted(o, "-log2(q)") + ", q = n / Σ of n over all items, n the "
        "item's train users, in the numerator 1/2 if there are none"
    ),
    range=(0, np.inf),
    parameters={"relevance": _RELEVANCE},
    needs=("popularity",),
    reference=_REFERENCE,
    ties="linear",
)
def efd(facts: RankingFacts, k: int, *, relevance: bool, popularity: ItemPopularity) -> np.ndarray:
    """Expected free discovery: self-information of what is shown, in bits.

    Popularity is the number of train users of the item, or of its train rows where the log counts those.

    >>> from trueval.metrics.measure import measure
    >>> known = {"A": 9, "B": 5, "C": 1}
    >>> round(measure("efd@3", ["A", "B", "C"], {"B", "C"}, popularity=known, users=10), 6)
    1.385989
    """
    whole = popularity.counts.sum()
    if not whole:
        raise DefinitionError(
            "efd takes shares of the popularity of all items",
            found="no item has a train user",
            do="pass the train log, or leave efd out",
        )
    share = np.where(popularity.counts > 0, popularity.counts, 0.5) / whole
    return discounted_mean(facts, k, -np.log2(share)[facts.list_item], relevance=relevance)
