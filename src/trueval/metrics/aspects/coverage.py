"""Subtopic recall and reciprocal rank: how many aspects a list covers, and how soon it covers them all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from trueval.data.aspects import Aspects
from trueval.facts.ranking_facts import RankingFacts
from trueval.kernels.aspect_rows import Rated
from trueval.metrics.aspect_inputs import Targets
from trueval.metrics.aspects.kernel_columns import column, item_aspects, list_rows, no_profile, owned, run
from trueval.metrics.discount import share
from trueval.metrics.registry import Parameter, metric

_subtopic_metric = partial(
    metric,
    family="aspects",
    range=(0, 1),
    parameters={"relevant_only": Parameter(False, (False, True), meaning="count aspects of relevant items only")},
    needs=("aspects", "targets"),
    undefined="no target (with relevant_only, no relevant item) has an aspect",
    reference="Zhai et al. 2003",
)


def _share(o: Mapping[str, Any]) -> str:
    return f"|aspects of top(k){' ∩ Rel' if o['relevant_only'] else ''}| / |aspects of {_aim(o)}|"


def _first(o: Mapping[str, Any]) -> str:
    shown = "items of Rel up to it" if o["relevant_only"] else "items up to it"
    return f"1 / first rank at which the {shown} have all aspects of {_aim(o)}; 0 if not within k"


def _aim(o: Mapping[str, Any]) -> str:
    return "Rel" if o["relevant_only"] else "all targets"


def cover(
    facts: RankingFacts, aspects: Aspects, k: int, *, targets: Targets | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Aspects covered within k, aspects that can be covered, and the rank at which all are (0: never).

    Without targets only relevant items count, in the list and for what can be covered.
    """
    nothing = np.zeros(len(facts.items), bool)
    if targets is None:
        rows, counts = facts.relevant, facts.list_relevant
        offered, listed, barred = nothing, no_profile(), no_profile()
    else:
        rows, counts = (facts.rank > 0) | (not facts.exact), np.ones(len(facts.list_item), bool)
        offered = nothing if facts.condensed else targets.offered
        listed, barred = owned(targets.listed, facts), owned(targets.barred, facts)
    judged = Rated(
        np.concatenate([[0], np.cumsum(np.bincount(facts.unit[rows], minlength=len(facts)))]),
        column(facts.item[rows], np.int32),
        np.empty(0),
        np.empty(0, bool),
    )
    covered, attainable, complete = (np.zeros(len(facts), np.int64) for _ in range(3))
    work = 2 * (len(judged.item) + len(facts.list_item)) + int(offered.sum())
    run(
        facts, work, "coverage", item_aspects(aspects, facts), list_rows(facts, counts), judged, offered, listed,
        barred, k, out=(covered, attainable, complete),
    )  # fmt: skip
    return covered, attainable, complete


def relevant_aspects(facts: RankingFacts, aspects: Aspects) -> np.ndarray:
    """Number of aspects that the relevant items of each unit show together."""
    return cover(facts, aspects, 0, targets=None)[1]


@_subtopic_metric(formula=_share, ties="set")
def srecall(facts: RankingFacts, k: int, *, relevant_only: bool, aspects: Aspects, targets: Targets) -> np.ndarray:
    """Subtopic recall: share of the attainable aspects that the list covers.

    >>> from trueval.metrics.measure import measure
    >>> topics = {"d1": "a", "d2": "a|b", "d4": "c", "d5": "b|c"}
    >>> round(measure("srecall@2", ["d1", "d2", "d3", "d4", "d5"], {"d1"}, aspects=topics), 6)
    0.666667
    """
    covered, attainable, _ = cover(facts, aspects, k, targets=None if relevant_only else targets)
    return share(covered.astype(np.float64), attainable)


@_subtopic_metric(formula=_first)
def srr(facts: RankingFacts, k: int, *, relevant_only: bool, aspects: Aspects, targets: Targets) -> np.ndarray:
    """Subtopic reciprocal rank: how soon the list has covered all attainable aspects.

    >>> from trueval.metrics.measure import measure
    >>> topics = {"d1": "a", "d2": "a|b", "d4": "c", "d5": "b|c"}
    >>> measure("srr@5", ["d1", "d2", "d3", "d4", "d5"], {"d1"}, aspects=topics)
    0.25
    """
    _, attainable, complete = cover(facts, aspects, k, targets=None if relevant_only else targets)
    value = np.divide(1.0, complete, out=np.zeros(len(facts)), where=complete > 0)
    return np.where(attainable > 0, value, np.nan)
