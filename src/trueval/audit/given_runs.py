"""Lists that were made elsewhere: they can be measured in other ways, but not ranked again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from trueval.audit.settings import RankedSystem, Setting, keep_pairs, only_of
from trueval.audit.subject import POPULARITY, Subject, named_popularity
from trueval.data.by_user import ByUser
from trueval.data.column_roles import RUN_ROLES
from trueval.data.ids import Ids, check_same_kind
from trueval.data.interactions import Interactions
from trueval.data.pair_keys import unique_pairs
from trueval.data.run_tables import read_run
from trueval.data.table_columns import columns_of
from trueval.design.design import RunDesign
from trueval.errors import DataError, TruevalError
from trueval.evaluation.held_out import HeldOut, prepare_run, read_held_out
from trueval.evaluation.options import EvaluationOptions, specs_of
from trueval.evaluation.run_notes import count_seen, notes_on_items, notes_on_users
from trueval.facts.from_run import run_facts
from trueval.facts.invalid_places import InvalidPlaces
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.truth import Truth
from trueval.metrics.grammar import Spec
from trueval.splits.parts import Parts
from trueval.splits.uniform import uniform_part

_KEYS = ["user", "item"]


class GivenRuns(Subject):
    """Runs against a test set. `leaked_rows` are test rows whose pair is in train, which `test` does not have."""

    design = "given"

    def __init__(
        self, runs: Mapping[str, Any], test: Interactions, options: EvaluationOptions, *,
        train: Interactions | None = None, items: Any = None, columns: Mapping[str, Any] | None = None,
        leaked_rows: pl.DataFrame | None = None, unbiased_test: Interactions | None = None,
    ) -> None:  # fmt: skip
        own = columns_of(columns, "recs").only(RUN_ROLES) or None
        self.runs = {name: read_run(source, columns=own) for name, source in runs.items()}
        for name, run in self.runs.items():  # the ids of test and train are compared before
            for role in _KEYS:
                check_same_kind(run[role], test.frame[role], role=role, where=(name, test.name))
        self.test, self.train, self.options, self.unbiased_test = test, train, options, unbiased_test
        self.leaked_rows = leaked_rows
        self.catalogue_given = items is not None
        self.items = items if items is not None else self._all_items()
        self.repeated: dict[str, int] = {}  # rows of runs that repeat a user and item
        self.invalid: dict[str, InvalidPlaces] = {}  # of runs, where such places are not refused
        self.seen: dict[str, np.ndarray] = {}  # rows of the lists: those with seen items, and all
        self.train_rows: dict[str, ByUser] = {}  # by codes of users and items of each run, where there is a train log
        self.notes: dict[str, list[str]] = {}
        self._vocabularies: list[Ids] = []

    def _all_items(self) -> pl.DataFrame:
        logs = [log.frame["item"] for log in (self.test, self.train, self.unbiased_test) if log is not None]
        return pl.DataFrame({"item": Ids.of(*logs, *(run["item"].unique() for run in self.runs.values())).values})

    @property
    def names(self) -> list[str]:
        return list(self.runs)

    @cached_property
    def specs(self) -> Mapping[str, Spec]:
        return specs_of(self.options)

    @cached_property
    def held_out(self) -> HeldOut:
        """What the runs are measured against."""
        return self._held_out(self.test)

    def _held_out(self, test: Interactions, *, seen: str = "exclude") -> HeldOut:
        return read_held_out(test, self.options, train=self.train, items=self.items, design=RunDesign(seen=seen))

    @cached_property
    def ranked(self) -> Mapping[str, RankedSystem]:
        found = {}
        for name in list(self.runs):
            found[name] = self._rank(name, self.held_out, look=True)
        return found

    def _rank(self, name: str, held_out: HeldOut, *, look: bool = False) -> RankedSystem:
        run = self.runs[name]
        prepared = prepare_run(held_out, run["user"], run["item"].unique())
        truth = prepared.truth
        try:
            facts = run_facts(run, truth, ties=self.options.ties, name=name, invalid=self.options.invalid)
        except DataError:
            once = run.unique(_KEYS, keep="first", maintain_order=True)
            if len(once) == len(run):  # another error
                raise
            self.repeated[name] = len(run) - len(once)
            self.runs[name] = once
            facts = run_facts(once, truth, ties=self.options.ties, name=name)
        if look and facts.invalid is not None:
            self.invalid[name] = facts.invalid
        if look:
            self.seen[name] = count_seen(facts, truth.train, self.specs.values())
            if truth.train is not None:
                self.train_rows[name] = truth.train
            popularity = prepared.context.inputs.popularity
            known = None if popularity is None else popularity.counts > 0
            self.notes[name] = self._look(run, facts, truth, known)
        facts = only_of(facts, prepared.context.only)
        return RankedSystem(name, facts.changed(users=self._shared(facts.users)), prepared.context.inputs)

    def _look(self, run: pl.DataFrame, facts: RankingFacts, truth: Truth, known: np.ndarray | None) -> list[str]:
        """What looks wrong with the ids of a run. Users without a list are no sign of it, unless strangers have one."""
        logs = [log.frame["user"] for log in (self.test, self.train) if log is not None]
        users = run["user"].unique()
        strange = int((Ids.of(*logs).codes(users) < 0).sum())
        tested, listed = truth.judged.rows.counts > 0, facts.length > 0
        found = notes_on_users(users, truth.users, tested=tested, in_run=listed)
        if 2 * strange <= len(users):
            found = [note for note in found if not note.startswith("only ")]
        offered = truth if self.catalogue_given else replace(truth, catalogue=None)
        return [
            note.removesuffix(": are the ids the same?")
            for note in found + notes_on_items(run["item"].unique(), offered, known)
        ]

    def _shared(self, users: Ids) -> Ids:
        """One object for vocabularies that are equal, as those of all runs are as a rule: it need not be compared."""
        for known in self._vocabularies:
            if len(known) == len(users) and known.values.equals(users.values):
                return known
        self._vocabularies.append(users)
        return users

    @cached_property
    def with_popularity(self) -> Mapping[str, RankedSystem] | None:
        """The runs and lists of the most popular items, as long as metrics look."""
        if self.train is None:
            return None
        if self.popularity_name:
            return self.ranked
        name = POPULARITY
        depth = max([spec.k or 0 for spec in self.specs.values()] + [10])
        self.runs[name] = popular_lists(self.train.frame, self.test.frame["user"].unique(), depth)
        try:
            added = self._rank(name, self.held_out)
        except TruevalError:  # none of the popular items is judged
            return None
        finally:
            del self.runs[name]
        return {**self.ranked, name: added}

    def uniform(self) -> Mapping[str, RankedSystem] | None:
        """The lists as they are: only the test rows are drawn anew."""
        return self._on_uniform

    @cached_property
    def _on_uniform(self) -> Mapping[str, RankedSystem] | None:
        if self.train is None or self.with_popularity is None:
            return None
        try:
            parts = uniform_part(Parts(self.train, self.test), threshold=self.options.threshold, seed=self.options.seed)
        except TruevalError:
            return None
        judged = keep_pairs(parts.test.frame)
        return {name: replace(own, facts=judged(own)) for name, own in self.with_popularity.items()}

    @property
    def popularity_name(self) -> str:
        """The reader's popularity baseline, by its name; "" where there is none."""
        return named_popularity(self.runs)

    @cached_property
    def _against_unbiased(self) -> Mapping[str, RankedSystem] | None:
        """The lists against the unbiased test; None without one."""
        if self.unbiased_test is None:
            return None
        held_out = self._held_out(self.unbiased_test, seen="allow")
        return {name: self._rank(name, held_out) for name in self.runs}

    def unbiased(self, specs: Mapping[str, Spec] | None = None) -> Setting | None:
        return self.measured("unbiased test", self._against_unbiased, specs or self.tested_specs)

    def leaked(self) -> Setting | None:
        if self.leaked_rows is None or not len(self.leaked_rows):
            return None
        rows = pl.concat([self.test.frame, self.leaked_rows.select(self.test.frame.columns)], how="vertical_relaxed")
        held_out = self._held_out(self.test.keep(rows), seen="allow")
        ranked = {name: self._rank(name, held_out) for name in self.runs}
        return self.measured("leaked pairs counted", ranked, self.tested_specs)

    def without_seen(self) -> Setting | None:
        _ = self.ranked
        if self.train is None or not any(int(found[0]) for found in self.seen.values()):
            return None
        pairs = self.train.frame.select(_KEYS).unique()
        whole, ranked = dict(self.runs), {}
        try:
            for name, run in whole.items():
                self.runs[name] = run.join(pairs, on=_KEYS, how="anti", maintain_order="left")
                ranked[name] = self._rank(name, self.held_out)
        except TruevalError:
            return None
        finally:
            self.runs.update(whole)
        return self.measured("without seen items", ranked, self.tested_specs)

    def fingerprints(self) -> dict[str, Any]:
        return {"recs": {name: _digest(run) for name, run in self.runs.items()}}


def popular_lists(train: pl.DataFrame, users: pl.Series, depth: int) -> pl.DataFrame:
    """For each user the most popular items that the user does not have, the most popular first.

    >>> train = pl.DataFrame({"user": [1, 2, 3, 3], "item": ["a", "a", "a", "b"]})
    >>> popular_lists(train, pl.Series([1, 3]), 2).rows()
    [(1, 'b', 1)]
    """
    pairs = unique_pairs(train)
    counts = pairs.group_by("item").len("count").sort(["count", "item"], descending=[True, False])
    items = counts["item"]
    left = pl.DataFrame({"user": users.unique().sort()})
    found, width = [], depth
    while len(left):
        width = min(2 * width, len(items))
        top = pl.DataFrame({"item": items.head(width), "place": np.arange(width)})
        seen = pairs.filter(pl.col("item").is_in(top["item"].implode()))  # few of all rows
        own = left.join(top, how="cross").join(seen, on=_KEYS, how="anti").sort("user", "place")
        own = own.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user")).filter(pl.col("rank") <= depth)
        full = own.group_by("user").len("n").filter((pl.col("n") == depth) | (width == len(items)))["user"]
        found.append(own.filter(pl.col("user").is_in(full.implode())))
        if width == len(items):
            break
        left = left.filter(~pl.col("user").is_in(full.implode()))
    return pl.concat(found).select("user", "item", "rank").sort("user", "rank")


def _digest(run: pl.DataFrame) -> str:
    """A short digest of the set of rows of a run."""
    hashes = run.hash_rows(seed=0).to_numpy()
    mixed = int(hashes.sum(dtype=np.uint64)), int(np.bitwise_xor.reduce(hashes))
    return hashlib.sha256(f"{run.columns}{len(run)}{mixed}".encode()).hexdigest()[:16]
