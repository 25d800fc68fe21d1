"""Metrics of one system by group, from the same facts; parts over different users add up to the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trueval.evaluation.groups import Groups
from trueval.facts.equal_scores import list_blocks
from trueval.facts.groups import within_items
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import select
from trueval.metrics.compute import Measured, merge
from trueval.metrics.discount import hits_at
from trueval.metrics.list_sums import is_open
from trueval.metrics.metric_values import Ratio
from trueval.metrics.spec import Spec

Measure = Callable[[Spec, RankingFacts], Measured]


class UnitValues(NamedTuple):
    """Values for some units: their places among the units of the evaluation, ascending, and the metric there."""

    units: np.ndarray
    measured: Measured


class RecommendedItems(NamedTuple):
    """The lists, cut at the deepest cutoff: of every row its unit and item, the number of places above it, and how
    many places it shares with equals (1 where they are settled)."""

    unit: np.ndarray
    item: np.ndarray
    above: np.ndarray
    tied: np.ndarray
    depth: int
    open: str = ""  # why ties leave the exposure of the items undefined, where they do


@dataclass(frozen=True, slots=True)
class GroupMeasures:
    """For every group the parts by metric, and by cutoff the hits among its relevant items."""

    groups: Groups
    parts: list[dict[str, UnitValues]]
    hits: list[dict[int, UnitValues]]
    recommended: RecommendedItems | None = None  # for groups of items, whose exposure is reported


def measure_groups(
    facts: RankingFacts, values: Mapping[str, Measured], specs: Mapping[str, Spec], groups: Sequence[Groups],
    measure: Measure,
) -> dict[str, GroupMeasures]:  # fmt: skip
    """Every metric by group; `values` are those of all units, `measure` computes a metric of other facts."""
    cutoffs = sorted({spec.k for spec in specs.values() if spec.k}) or [10]
    by_user = [g for g in groups if g.kind == "user"]
    by_item = [g for g in groups if g.kind == "item"]
    recommended = _recommended_items(facts, cutoffs[-1]) if by_item else None
    found = {g.name: _by_user(facts, values, specs, g, cutoffs, measure) for g in by_user}
    found |= {g.name: _by_item(facts, specs, g, cutoffs, measure, recommended) for g in by_item}
    return {g.name: found[g.name] for g in groups}


def _by_user(
    facts: RankingFacts, values: Mapping[str, Measured], specs: Mapping[str, Spec], groups: Groups,
    cutoffs: list[int], measure: Measure,
) -> GroupMeasures:  # fmt: skip
    """Units are picked; only what is tallied over all lists (coverage) is computed again."""
    parts, hits = [], []
    every = {k: _hits(facts, k) for k in cutoffs}
    for g in range(len(groups)):
        inside = groups.mask(g, len(facts.users))[facts.unit_user]
        units = np.flatnonzero(inside)
        own = select(facts, inside)
        parts.append(
            {
                label: UnitValues(units, m.take(units) if m.tally is None else measure(specs[label], own))
                for label, m in values.items()
            }
        )
        hits.append({k: UnitValues(units, m.take(units)) for k, m in every.items()})
    return GroupMeasures(groups, parts, hits)


def _by_item(
    facts: RankingFacts, specs: Mapping[str, Spec], groups: Groups, cutoffs: list[int], measure: Measure,
    recommended: RecommendedItems | None,
) -> GroupMeasures:  # fmt: skip
    """Judgements are cut to the group; a unit counts where it has what the metric looks for among them."""
    parts, hits = [], []
    needed = {label: looks_for(spec) for label, spec in specs.items()}
    for g in range(len(groups)):
        own = within_items(facts, groups.mask(g, len(facts.items)))
        has = {"relevant": own.R > 0, "not relevant": own.N > 0, "judged": own.R + own.N > 0}
        cut = {what: select(own, has[what]) for what in {"relevant", *needed.values()} - {""}}
        units = {what: np.flatnonzero(has[what]) for what in cut}
        parts.append(
            {label: UnitValues(units[what], measure(specs[label], cut[what])) for label, what in needed.items() if what}
        )
        hits.append({k: UnitValues(units["relevant"], _hits(cut["relevant"], k)) for k in cutoffs})
    return GroupMeasures(groups, parts, hits, recommended)


def looks_for(spec: Spec) -> str:
    """What an item group must hold of a unit for the metric to be defined; empty where it is not defined by group.

    >>> from trueval.metrics.grammar import parse
    >>> [looks_for(parse(m)) for m in ("ndcg@10", "anti(ndcg)@10", "coverage@10")]
    ['relevant', 'not relevant', '']
    """
    sought = spec.metric.looks_for
    return "not relevant" if sought and "anti" in spec.transforms else sought


def _hits(facts: RankingFacts, k: int) -> Measured:
    """Relevant items within k over relevant items: the true-positive rate, pooled."""
    ratio = Ratio(hits_at(facts, k), facts.R.astype(np.float64))
    return Measured(ratio.per_unit(), ratio=ratio)


def _recommended_items(facts: RankingFacts, k: int) -> RecommendedItems:
    """With ties=expected, items count in equal parts at all the places of their equals; worst and best mean nothing."""
    inside, reason = facts.top(k), ""
    above, tied = facts.place - 1, np.ones(len(inside), np.int32)
    if is_open(facts, k):
        above, tied, beyond = list_blocks(facts)
        inside = above < k
        if facts.ties != "expected":
            reason = (
                f"there are ties within the first {k} of a list, and ties={facts.ties} defines no order for exposure"
            )
        elif (beyond & inside).any():
            reason = f"items tied with the first {k} are missing from a truncated list"
    inside = inside if facts.misses is None else inside & ~facts.misses
    low, size = above[inside].astype(np.int32), tied[inside].astype(np.int32)
    return RecommendedItems(facts.list_unit[inside], facts.list_item[inside], low, size, k, reason)


def merge_groups(
    parts: Sequence[Mapping[str, GroupMeasures]], sizes: Sequence[int], order: np.ndarray
) -> dict[str, GroupMeasures]:
    """The whole from parts of so many units each, which `order` puts into the order of the whole."""
    begin = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))

    def joined(pieces: Sequence[UnitValues]) -> UnitValues:
        units = place[np.concatenate([piece.units + b for piece, b in zip(pieces, begin)])]
        ascending = np.argsort(units)
        return UnitValues(units[ascending], merge([piece.measured for piece in pieces]).take(ascending))

    def joined_lists(pieces: Sequence[RecommendedItems]) -> RecommendedItems:
        unit = place[np.concatenate([piece.unit + b for piece, b in zip(pieces, begin)])]
        rows = np.argsort(unit, kind="stable")
        item, above, tied = (np.concatenate([p[column] for p in pieces])[rows] for column in (1, 2, 3))
        reason = next((piece.open for piece in pieces if piece.open), "")
        return RecommendedItems(unit[rows].astype(np.int32), item, above, tied, pieces[0].depth, reason)

    whole = {}
    for name, first in parts[0].items():
        same = [part[name] for part in parts]
        lists = [part.recommended for part in same if part.recommended is not None]
        whole[name] = GroupMeasures(
            first.groups,
            [{n: joined([p.parts[g][n] for p in same]) for n in first.parts[g]} for g in range(len(first.groups))],
            [{k: joined([p.hits[g][k] for p in same]) for k in first.hits[g]} for g in range(len(first.groups))],
            joined_lists(lists) if lists else None,
        )
    return whole
