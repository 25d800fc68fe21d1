"""Settings: all systems measured in one way, so that the same pair of systems can be compared in several."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from trueval.audit.fewer_ratings import without_rows
from trueval.comparison.join_results import Joined, Replicate
from trueval.data.ids import Ids
from trueval.design.popular_head import find_head
from trueval.evaluation.interval_method import IntervalMethod
from trueval.evaluation.measurements import Measurements, measure_facts
from trueval.evaluation.options import EvaluationOptions
from trueval.evaluation.outcome import SystemResult, summarise
from trueval.evaluation.population import OnlyUsers, check_anyone
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import select
from trueval.metrics.grammar import Spec
from trueval.metrics.metric_inputs import Inputs

CHANCE = "a random ranking"
HEAD = 0.1  # of the items, which are taken for the head
_NO_INTERVAL = IntervalMethod("none", 0, 1000)


@dataclass(frozen=True, slots=True)
class RankedSystem:
    """What one system did, and what metrics need besides."""

    name: str
    facts: RankingFacts = field(repr=False)
    inputs: Inputs = field(repr=False)


Change = Callable[[RankedSystem], RankingFacts]


@dataclass(frozen=True)
class Setting:
    """All systems measured under one design, tie rule or test set."""

    name: str
    systems: Mapping[str, SystemResult] = field(repr=False)
    specs: Mapping[str, Spec]

    @cached_property
    def joined(self) -> Joined:
        """As comparisons take them."""
        return joined_systems(self.systems, self.specs)

    def value(self, system: str, label: str) -> float:
        """One value."""
        return float(self.systems[system].estimates[label].value)

    def values(self, label: str) -> dict[str, float]:
        """All known values of a metric."""
        return {name: self.value(name, label) for name, own in self.systems.items() if label in own.estimates}

    def chance(self, label: str) -> float:
        """The value of a random ranking; NaN where it is not known of this metric."""
        random = self.systems.get(CHANCE)
        return float(random.estimates[label].value) if random and label in random.estimates else math.nan

    def users(self, system: str, label: str) -> int:
        """Users with a value."""
        return self.systems[system].sums[label].users


def only_of(facts: RankingFacts, only: OnlyUsers | None) -> RankingFacts:
    """The facts of the users that an audit is restricted to."""
    return facts if only is None else select(facts, only.mask[facts.unit_user])


def joined_systems(systems: Mapping[str, SystemResult], specs: Mapping[str, Spec]) -> Joined:
    """Systems over one vocabulary of users."""
    distinct = {id(system.users): system.users for system in systems.values()}
    first, *others = distinct.values()
    users = first if not others else Ids.of(*(ids.values for ids in distinct.values()))
    return Joined([Replicate({}, dict(systems))], dict(specs), users, {})


def measure_setting(
    name: str,
    ranked: Mapping[str, RankedSystem],
    specs: Mapping[str, Spec],
    options: EvaluationOptions,
    *,
    change: Change | None = None,
    with_chance: bool = False,
) -> Setting:
    """Measure all systems, after a `change` of their facts where there is one.

    `with_chance` adds the exact expectation of a random ranking as a system, where the target sets are known, with the
    metrics that have one.
    """
    found: dict[str, SystemResult] = {}
    for own in ranked.values():
        facts = own.facts if change is None else change(own)
        measured = measure_facts(
            facts, dict(specs), population=options.averaged_over, missing=options.missing, inputs=own.inputs,
            preset=options.preset, with_random=with_chance and CHANCE not in found, by_user=False,
            count_items=False,
        )  # fmt: skip
        check_anyone(len(measured), options.averaged_over)
        found[own.name] = _summary(measured, facts, specs)
        if with_chance and CHANCE not in found and measured.random:
            chance = Measurements(measured.unit_user, measured.stratum, measured.random, {}, {}, 0)
            found[CHANCE] = _summary(chance, facts, specs)
    return Setting(name, found, dict(specs))


def _summary(measured: Measurements, facts: RankingFacts, specs: Mapping[str, Spec]) -> SystemResult:
    ranges = {label: spec.range for label, spec in specs.items()}
    return summarise(measured, users=facts.users, intervals=_NO_INTERVAL, ranges=ranges)


def keep_pairs(rows: pl.DataFrame) -> Change:
    """A change that keeps the judgements of these users and items alone."""

    def change(one: RankedSystem) -> RankingFacts:
        return without_rows(one.facts, _among(one.facts, rows))

    return change


def _among(facts: RankingFacts, rows: pl.DataFrame) -> np.ndarray:
    """Which judgements are of these users and items."""
    user, item = facts.users.codes(rows["user"]), facts.items.codes(rows["item"])
    known = (user >= 0) & (item >= 0)
    asked = pl.Series(user[known].astype(np.int64) * len(facts.items) + item[known])
    pair = pl.Series(facts.unit_user[facts.unit].astype(np.int64) * len(facts.items) + facts.item)
    return pair.is_in(asked.implode()).to_numpy()


def without_pairs(rows: pl.DataFrame) -> Change:
    """A change that takes these users' items out of the rankings: what stands behind them moves up.

    Metrics of the judged items are right then; lists stay as they are.
    """

    def change(one: RankedSystem) -> RankingFacts:
        facts = one.facts
        out = _among(facts, rows)
        gone = np.concatenate([[0], np.cumsum(out & (facts.rank > 0))])  # of the rows before; the best stand first
        before = gone[:-1] - gone[facts.start[facts.unit]]
        same = np.flatnonzero(np.diff(facts.unit, prepend=-1) | np.diff(facts.above, prepend=-1))  # begins of equals
        group = np.searchsorted(same, np.arange(len(out)), side="right") - 1
        ends = np.append(same[1:], len(out))
        above = facts.above - before[same][group]
        tied = facts.tied - (gone[ends] - gone[same])[group]
        listed = facts.rank > 0
        moved = {
            "rank": np.where(listed, facts.rank - before, 0), "above": np.where(listed, above, 0),
            "tied": np.where(listed, tied, 0),
        }  # fmt: skip
        return without_rows(facts.changed(**{name: own.astype(np.int32) for name, own in moved.items()}), ~out)

    return change


def without_head(one: RankedSystem) -> RankingFacts:
    """The facts without judgements of the most popular items in train; the lists stay as they are."""
    popularity = one.inputs.supply("popularity", metric="the head")
    head = find_head(popularity.counts, HEAD, where="head")
    return without_rows(one.facts, ~np.isin(one.facts.item, head))
