"""How the partitions of a run are measured, on any engine, and merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from trueval.data.coded_column import CodedColumn
from trueval.data.column_roles import RUN_ROLES, TableColumns
from trueval.data.ids import Ids
from trueval.data.sorted_runs import SortedRun
from trueval.data.table_columns import columns_of
from trueval.evaluation.held_out import HeldOut, PreparedRun, prepare_run
from trueval.evaluation.measure_and_conclude import MeasuredSystem, check_listed, measure
from trueval.evaluation.measurements import Measurements, merge_measurements
from trueval.evaluation.options import EvaluationOptions, specs_of
from trueval.evaluation.run_notes import count_seen, notes_on_items, notes_on_seen, notes_on_users
from trueval.evaluation.without_head import head_places
from trueval.facts.from_run import run_facts
from trueval.facts.from_sorted_run import sorted_run_facts
from trueval.facts.invalid_places import REFUSE, InvalidPlaces
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.tie_rules import SETTLED
from trueval.facts.truth import Truth
from trueval.facts.views import condense, shortened
from trueval.metrics.compute import weighs_items
from trueval.metrics.spec import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How recommendations are read: the same for all runs of an evaluation."""

    columns: Mapping[str, Any] | None = None
    sorted_by_user: bool = False
    depth: int | None = None  # of the lists that anything depends on; None: they are read as they are

    @property
    def run_columns(self) -> TableColumns | None:
        """The columns that a run has, among those that were named."""
        return columns_of(self.columns, "recs").only(RUN_ROLES) or None


@dataclass(frozen=True, slots=True)
class Partition:
    """What was measured of some users of a run."""

    users: np.ndarray  # codes of all of them, in the population or not
    measurements: Measurements
    catalogue: int
    head_places: np.ndarray | None  # of the lists: those with items of the head, and all
    listed: np.ndarray  # which of the users have a list
    seen: np.ndarray  # rows of the lists: those whose item is in the user's train rows, and all
    invalid: InvalidPlaces | None = None  # None where they are refused


@dataclass(frozen=True, slots=True)
class MeasurementPlan:
    """What a run is evaluated against, and how; shared by all partitions of the run."""

    name: str
    prepared: PreparedRun
    condensed: bool
    first: bool  # of the runs: with it the random ranking is measured, which is the same for all
    ids: Mapping[str, pl.Series] = field(default_factory=dict, repr=False)  # of the run

    @staticmethod
    def of(name: str, held_out: HeldOut, ids: Mapping[str, pl.Series], *, first: bool) -> MeasurementPlan:
        """The plan for a run with these users, and these items, each once."""
        return MeasurementPlan(
            name, prepare_run(held_out, ids["user"], ids["item"]), held_out.design.condensed, first, ids
        )

    @property
    def truth(self) -> Truth:
        """What the run is evaluated against."""
        return self.prepared.truth

    @property
    def options(self) -> EvaluationOptions:
        """How it is evaluated."""
        return self.prepared.context.options

    def whole(self, run: pl.DataFrame, items: CodedColumn | None = None) -> Partition:
        """Measure a whole run; `items` is its column, where it is coded."""
        everyone = np.arange(len(self.truth.users))
        options = self.options
        facts = run_facts(run, self.truth, ties=options.ties, name=self.name, items=items, invalid=options.invalid)
        return self._measure(everyone, facts, self.truth)

    def sorted(self, run: SortedRun) -> Partition | None:
        """Measure a whole run that stood in order in its file; None where `whole` must look at it."""
        depth = None if self.condensed else needed_depth(specs_of(self.options).values())
        options = self.options
        facts = sorted_run_facts(run, self.truth, ties=options.ties, depth=depth, invalid=options.invalid)
        return None if facts is None else self._measure(np.arange(len(self.truth.users)), facts, self.truth)

    def part(self, run: pl.DataFrame, codes: np.ndarray) -> Partition:
        """Measure some users (codes, ascending) by their rows of a run; there may be rows of unknown users as well."""
        truth = _for_users(self.truth, codes)
        options = self.options
        facts = run_facts(run, truth, ties=options.ties, name=self.name, whole=False, invalid=options.invalid)
        return self._measure(codes, facts.changed(users=self.truth.users, unit_user=codes.astype(np.int32)), truth)

    def merge(self, parts: Iterable[Partition]) -> MeasuredSystem:
        """The run from its parts, and from the users in none of them, who have no recommendations."""
        found = list(parts)
        without_list = np.ones(len(self.truth.users), bool)
        for part in found:
            without_list[part.users] = False
        if without_list.any():
            found.append(self._nothing(np.flatnonzero(without_list)))
        places = [part.head_places for part in found if part.head_places is not None]
        measured = merge_measurements([part.measurements for part in found])
        check_listed(measured, self.truth.users, self.options, name=self.name)
        return MeasuredSystem(
            measured,
            self.prepared.context,
            found[0].catalogue,
            tuple(self._notes(found)),
            head_places=np.sum(places, axis=0) if places else None,
            removed_head=self.prepared.removed_head,
            invalid=InvalidPlaces.of_parts(part.invalid for part in found),
        )

    def _notes(self, parts: list[Partition]) -> list[str]:
        """What looks wrong with the run."""
        listed = np.zeros(len(self.truth.users), bool)
        for part in parts:
            listed[part.users] = part.listed
        truth, popularity = self.truth, self.prepared.context.inputs.popularity
        notes = notes_on_users(self.ids["user"], truth.users, tested=truth.judged.rows.counts > 0, in_run=listed)
        notes += notes_on_items(self.ids["item"], truth, None if popularity is None else popularity.counts > 0)
        notes += notes_on_seen(np.sum([part.seen for part in parts], axis=0))
        invalid = InvalidPlaces.of_parts(part.invalid for part in parts)
        notes += [] if invalid is None else invalid.notes(self.options.invalid)
        return [f"{self.name}: {note}" for note in notes]

    def _nothing(self, codes: np.ndarray) -> Partition:
        """Measure users without a list."""
        truth = self.truth
        empty = {"user": truth.users.values.head(0), "item": truth.items.values.head(0)}
        return self.part(pl.DataFrame(empty | {"rank": pl.Series([], dtype=pl.Int64)}), codes)

    def _measure(self, users: np.ndarray, facts: RankingFacts, truth: Truth) -> Partition:
        specs, head = specs_of(self.options), truth.head
        if not self.condensed:  # what is left of a list then may come from anywhere in it
            facts = as_deep_as_needed(facts, specs.values())
        listed, seen = facts.length > 0, count_seen(facts, truth.train, specs.values())
        places = None if head is None else head_places(facts, head, specs.values())
        judged = condense(facts) if self.condensed else facts
        measured = measure(judged, specs, self.prepared.context, first=self.first)
        return Partition(users, measured, facts.catalogue, places, listed, seen, facts.invalid)


def as_deep_as_needed(facts: RankingFacts, specs: Iterable[Spec]) -> RankingFacts:
    """The facts with lists and hits cut to the deepest cutoff, where all metrics have one and equal scores are settled.

    >>> from trueval.metrics.grammar import parse
    >>> from trueval.metrics.measure import toy_facts
    >>> facts = toy_facts(["a", "b", "c"], {"c"})
    >>> [as_deep_as_needed(facts, [parse("hit@1"), parse(name)]).depth for name in ("ndcg@2", "rr")]
    [2, 3]
    """
    deepest = needed_depth(specs)
    if facts.ties not in SETTLED or deepest is None:
        return facts
    return shortened(facts, deepest).changed(deepest=deepest)


def reading_depth(options: EvaluationOptions, *, condensed: bool) -> int | None:
    """How much of each list must be read: what is behind the deepest cutoff matters to nobody, as a rule.

    Where judged items weigh differently, or belong to groups, sums go over all of them in the order of their ranks.
    """
    specs = specs_of(options).values()
    if options.invalid != REFUSE:  # places that cannot count are counted, and what is below dropped ones moves up
        return None
    plain = options.ties in SETTLED and not options.by and not any(map(weighs_items, specs))
    return needed_depth(specs) if plain and not condensed else None


def needed_depth(specs: Iterable[Spec]) -> int | None:
    """The deepest cutoff, where all metrics have one."""
    cutoffs = [None if spec.metric.exact else spec.k for spec in specs]
    deepest = [k for k in cutoffs if k is not None]
    return max(deepest) if deepest and len(deepest) == len(cutoffs) else None


def _for_users(truth: Truth, codes: np.ndarray) -> Truth:
    """The truth of some users only."""
    train = None if truth.train is None else truth.train.pick(codes)
    users = Ids(truth.users.decode(codes))
    return replace(truth, users=users, judged=truth.judged.pick(codes), train=train, streams=codes)
