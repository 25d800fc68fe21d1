"""Corrected values of sampled 1R designs: what a full ranking would have given, as well as can be told."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueval.design.corrections import RankMetric, bias_variance, rank_metric, rescaled_rank
from trueval.errors import DefinitionError, suggest
from trueval.facts.ranking_facts import RankingFacts

METHODS = ("bias_variance", "rescale")


def correct(
    facts: RankingFacts,
    metric: RankMetric,
    *,
    pool: np.ndarray | int | None = None,
    method: str = "bias_variance",
    gamma: float = 0.1,
) -> np.ndarray:
    """One corrected value per unit of a sampled 1R design; their mean estimates the metric of the full ranking.

    `metric` is a metric of one relevant item by name (`ndcg@10`) or a function from ranks to values. `pool` is
    the number of non-relevant items each unit's sample was drawn from, as recorded in the facts unless given.
    "bias_variance" weighs bias against variance by `gamma` (see `trueval.design.corrections.bias_variance`; the
    values of single units mean little), "rescale" takes the metric at the rescaled rank. Both are for samples
    in which all items were equally likely, without replacement. Samples by popularity are refused: facts keep
    the rank but not which items were drawn, which `weighted_rank` would need.

    >>> from trueval.metrics.measure import toy_facts
    >>> from trueval.facts.readings import one_relevant
    >>> facts = one_relevant(toy_facts(["x", "a", "y"], {"a"}, complete=True))
    >>> correct(facts, "auc", pool=20, method="rescale").tolist()
    [0.5]
    """
    if method not in METHODS:
        raise DefinitionError(f"unknown correction {method!r}", found=suggest(method, METHODS))
    sizes = _pool_sizes(facts, pool)
    drawn = facts.targets - 1
    if (drawn > sizes).any():
        at = int(np.flatnonzero(drawn > sizes)[0])
        raise DefinitionError(
            "a sample cannot be larger than what it is drawn from",
            found=f"unit {at}: {drawn[at]} of {sizes[at]} non-relevant items",
            do="give the number of non-relevant candidates of each unit as pool",
        )

    def corrected(n: int, m: int) -> np.ndarray:
        if method == "bias_variance":
            return bias_variance(metric, pool=n, sample=m, gamma=gamma)
        if not m:
            return np.full(1, np.nan)
        return rank_metric(metric, rescaled_rank(np.arange(1, m + 2), pool=n, sample=m), size=n + 1)

    return _look_up(facts, sizes, drawn, corrected)


def _look_up(
    facts: RankingFacts, sizes: np.ndarray, drawn: np.ndarray, corrected: Callable[[int, int], np.ndarray]
) -> np.ndarray:
    """The corrected value of each unit's rank; equal scores in expectation where they are left open."""
    value = np.empty(len(facts))
    cases, case = np.unique(np.stack([sizes, drawn]), axis=1, return_inverse=True)
    order = np.argsort(case.ravel(), kind="stable")
    members = np.split(order, np.cumsum(np.bincount(case.ravel(), minlength=cases.shape[1]))[:-1])
    for (n, m), units in zip(cases.T, members):
        by_rank = corrected(int(n), int(m))
        if facts.ties == "expected":
            upto = np.concatenate([[0.0], np.cumsum(by_rank)])
            first, tied = facts.above[units], facts.tied[units]
            value[units] = (upto[first + tied] - upto[first]) / tied
        else:
            value[units] = by_rank[facts.rank[units] - 1]
    return value


def _pool_sizes(facts: RankingFacts, pool: np.ndarray | int | None) -> np.ndarray:
    if not facts.one_relevant:
        raise DefinitionError(
            "corrections are for one relevant item per target set", do="use a 1R design, or one_relevant(facts)"
        )
    if not facts.exact or (facts.rank == 0).any():
        raise DefinitionError(
            "corrections need the rank of every relevant item", do="rank with the model itself (scores or factors)"
        )
    if pool is None:
        pool = facts.pool
    if pool is None:
        raise DefinitionError(
            "the facts do not tell how many items the samples were drawn from",
            do="use a design with a uniform sample (NN100), or give pool=…",
        )
    sizes = np.asarray(pool, np.int64)
    if sizes.shape not in ((), (len(facts),)):
        raise DefinitionError("pool must be one number, or one for each unit", found=f"shape {sizes.shape}")
    return np.broadcast_to(sizes, (len(facts),))
