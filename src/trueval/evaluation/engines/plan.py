"""How the parts of a run are measured, wherever that is done, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from trueval.data.ids import Ids
from trueval.evaluation.groups import Groups
from trueval.evaluation.measurements import Measurements, merge_measurements
from trueval.evaluation.rules import Rules
from trueval.evaluation.truth import TruthSource
from trueval.evaluation.without_head import head_places
from trueval.facts.from_run import run_facts
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.readings import SETTLED, condense, with_ties
from trueval.facts.truth import Truth
from trueval.metrics.inputs import Inputs


@dataclass(frozen=True, slots=True)
class Reading:
    """How recommendations are read and taken: the same for all runs of an evaluation."""

    rules: Rules
    condensed: bool = False
    columns: Mapping[str, Any] | None = None
    sorted_by_user: bool = False

    @property
    def run_columns(self) -> dict[str, Any] | None:
        """The columns that a run has, among those that were named."""
        named = self.columns or {}
        return {role: name for role, name in named.items() if role in ("user", "item", "score", "rank")} or None


@dataclass(frozen=True, slots=True)
class Part:
    """What was measured of some users of a run."""

    users: np.ndarray  # codes of all of them, in the population or not
    measurements: Measurements
    catalogue: int
    head_places: np.ndarray | None  # of the lists: those that hold items of the head, and all


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """What was measured of a run."""

    measurements: Measurements
    users: Ids = field(repr=False)
    inputs: Inputs = field(repr=False)
    catalogue: int
    head_places: np.ndarray | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is held against, and how; the parts of a run share it."""

    name: str
    rules: Rules
    truth: Truth
    inputs: Inputs
    groups: list[Groups]
    condensed: bool
    first: bool  # of the runs: with it the random ranking is measured, which is the same for all

    @staticmethod
    def of(name: str, held: TruthSource, ids: Mapping[str, pl.Series], reading: Reading, *, first: bool) -> Plan:
        """The plan for a run with these users and items."""
        truth = held.truth(ids["user"], ids["item"])
        inputs = held.inputs(truth)
        return Plan(name, reading.rules, truth, inputs, held.groups(truth, inputs), reading.condensed, first)

    def whole(self, run: pl.DataFrame) -> Part:
        """Measure a whole run."""
        everyone = np.arange(len(self.truth.users))
        return self._measure(everyone, run_facts(run, self.truth, ties=self._built, name=self.name))

    def part(self, run: pl.DataFrame, codes: np.ndarray) -> Part:
        """Measure some users (codes, ascending) by their rows of a run; there may be rows of unknown users as well."""
        facts = run_facts(run, _for_users(self.truth, codes), ties=self._built, name=self.name, whole=False)
        return self._measure(codes, facts.changed(users=self.truth.users, unit_user=codes.astype(np.int32)))

    def merge(self, parts: Iterable[Part]) -> MeasuredRun:
        """The run from its parts, and from the users who are in none of them: they got nothing."""
        found = list(parts)
        unlisted = np.ones(len(self.truth.users), bool)
        for part in found:
            unlisted[part.users] = False
        if unlisted.any():
            found.append(self._nothing(np.flatnonzero(unlisted)))
        places = [part.head_places for part in found if part.head_places is not None]
        return MeasuredRun(
            merge_measurements([part.measurements for part in found]),
            self.truth.users,
            self.inputs,
            found[0].catalogue,
            np.sum(places, axis=0) if places else None,
        )

    def _nothing(self, codes: np.ndarray) -> Part:
        """Measure users without a list."""
        truth = self.truth
        empty = {"user": truth.users.values.head(0), "item": truth.items.values.head(0)}
        return self.part(pl.DataFrame(empty | {"rank": pl.Series([], dtype=pl.Int64)}), codes)

    @property
    def _built(self) -> str:
        """The tie rule that lists are put in order by; the others are readings of that order."""
        return self.rules.ties if self.rules.ties in SETTLED else "random"

    def _measure(self, users: np.ndarray, facts: RankingFacts) -> Part:
        specs, head = self.rules.specs(), self.truth.head
        if self.rules.ties != self._built:
            facts = with_ties(facts, self.rules.ties)
        places = None if head is None else head_places(facts, head, specs.values())
        judged = condense(facts) if self.condensed else facts
        measured = self.rules.measure(judged, specs, inputs=self.inputs, groups=self.groups, first=self.first)
        return Part(users, measured, facts.catalogue, places)


def _for_users(truth: Truth, codes: np.ndarray) -> Truth:
    """The truth of some users only."""
    train = None if truth.train is None else truth.train.pick(codes)
    users = Ids(truth.users.decode(codes))
    return replace(truth, users=users, judged=truth.judged.pick(codes), train=train, streams=codes)
