"""Systems that are fitted here, and can be ranked again under other designs and on other tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import polars as pl

from trueval.audit.settings import RankedSystem, Setting, only_of
from trueval.audit.subject import POPULARITY, Subject
from trueval.data.interactions import ROLES, Interactions
from trueval.design.design import Design
from trueval.errors import DefinitionError, TruevalError
from trueval.evaluation.evaluate_systems import PreparedSplit, prepare_split, rank_tasks
from trueval.evaluation.options import EvaluationOptions
from trueval.metrics.grammar import Spec
from trueval.progress import hushed
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import make_system, name_systems, record_of
from trueval.recommenders.run import Run
from trueval.splits.parts import OBSERVED, Parts
from trueval.splits.uniform import uniform_part


class FittedSystems(Subject):
    """Systems on the parts of a split. `parts.observed` is an unbiased test, and `leaked_rows` are test rows whose
    pair is in train, which `parts.test` does not have."""

    def __init__(
        self, parts: Parts, systems: Any, options: EvaluationOptions, *, design: str | Design, items: Any = None,
        leaked_rows: pl.DataFrame | None = None,
    ) -> None:  # fmt: skip
        self.named = name_systems(systems)
        if not self.named:
            raise DefinitionError("no system was given", do='for example systems=["popularity"]')
        self.parts, self.options, self.items, self.leaked_rows = parts, options, items, leaked_rows
        self.design = str(Design.parse(design))
        self._splits: dict[tuple[str, str], PreparedSplit] = {}
        self._ranked: dict[tuple[str, str], dict[str, RankedSystem]] = {}

    @property
    def names(self) -> list[str]:
        return list(self.named)

    @property
    def specs(self) -> Mapping[str, Spec]:
        return self._split(self.design).specs

    @property
    def learned_from(self) -> TrainSet:
        """What systems learn from, with all users and items that they know."""
        return self._split(self.design).train

    @cached_property
    def fitted(self) -> dict[str, Any]:
        """All systems, each fitted once, and the popularity baseline."""
        train = self.learned_from
        found = {
            name: spec if isinstance(spec, Run) else make_system(spec, test=self.parts.test).fit(train)
            for name, spec in self.named.items()
        }
        if not self.popularity_name:
            found[POPULARITY] = make_system(POPULARITY).fit(train)
        return found

    @cached_property
    def popularity_name(self) -> str:
        """The reader's popularity baseline; "" where there is none."""
        return next((name for name, spec in self.named.items() if POPULARITY in (_kind(spec), name.lower())), "")

    def is_random(self, name: str) -> bool:
        return super().is_random(name) or _kind(self.named.get(name)) == "random"

    @property
    def ranked(self) -> Mapping[str, RankedSystem]:
        everyone = self._rank(self.design, "")
        return {name: everyone[name] for name in self.named}

    @property
    def with_popularity(self) -> Mapping[str, RankedSystem]:
        return self._rank(self.design, "")

    def under(self, design: str, *, baseline: bool = False) -> Mapping[str, RankedSystem] | None:
        """The reader's systems under another design; runs cannot be ranked under a sampled one."""
        try:
            everyone = self._rank(design, "")
        except TruevalError:
            return None
        return {name: own for name, own in everyone.items() if baseline or name in self.named}

    def uniform(self) -> Mapping[str, RankedSystem] | None:
        """The systems as they were fitted: only the test rows are drawn anew."""
        return self._uniform

    @cached_property
    def _uniform(self) -> dict[str, RankedSystem] | None:
        design = Design(candidates=Design.parse(self.design).candidates, uniform=True)
        try:
            parts = uniform_part(self.parts, threshold=self.options.threshold, seed=self.options.seed)
            known = [log for log in (self.parts.test, self.parts.observed) if log is not None]
            ids = pl.concat([log.frame.select("user", "item") for log in known], how="vertical_relaxed")
            parts = replace(parts, observed=self.parts.test.keep(ids))  # systems know these users and items
            prepared = prepare_split(parts, self.options, design=design, items=self.items)
            return self._rank_split(prepared, self.fitted)
        except TruevalError:
            return None

    def unbiased(self, specs: Mapping[str, Spec] | None = None) -> Setting | None:
        if self.parts.observed is None:
            return None
        everyone = self._rank(self.design, OBSERVED)
        ranked = {name: everyone[name] for name in self.named}
        return self.measured("unbiased test", ranked, specs or self.tested_specs)

    def leaked(self) -> Setting | None:
        if self.leaked_rows is None or not len(self.leaked_rows):
            return None
        parts = replace(self.parts, test=_with_rows(self.parts.test, self.leaked_rows), observed=None)
        design = str(replace(Design.parse(self.design), seen="allow"))
        return self.measured("leaked pairs counted", self._of(parts, design, self.fitted), self.tested_specs)

    def by_time(self) -> Setting | None:
        """Train and test together, divided anew by time in the same proportion, and systems fitted again."""
        from trueval.splits import split

        if any(isinstance(spec, Run) or not isinstance(spec, str) for spec in self.named.values()):
            return None  # what is not made by name may be fitted already
        train, test = self.parts.train, self.parts.test
        columns = [role for role in ROLES if train.has(role) and test.has(role)]
        rows = [part.frame.select(columns) for part in (train, test)]
        log = train.keep(pl.concat(rows, how="vertical_relaxed"), name=train.name)
        try:
            with hushed():
                parts = split(log, "temporal", ratio=len(test) / len(log), seed=self.options.seed)
            assert isinstance(parts, Parts)
            prepared = prepare_split(parts, self.options, design=self.design, items=self.items)
            fitted = {name: make_system(spec, test=parts.test).fit(prepared.train) for name, spec in self.named.items()}
        except TruevalError:
            return None
        return self.measured("split by time", self._rank_split(prepared, fitted), self.tested_specs)

    def _split(self, design: str, side: str = "") -> PreparedSplit:
        key = design, side
        if key not in self._splits:
            sides = self.parts.sides
            self._splits[key] = prepare_split(sides[side], self.options, design=design, items=self.items)
        return self._splits[key]

    def _rank(self, design: str, side: str) -> dict[str, RankedSystem]:
        key = design, side
        if key not in self._ranked:
            self._ranked[key] = self._rank_split(self._split(design, side), self.fitted)
        return self._ranked[key]

    def _of(self, parts: Parts, design: str, fitted: Mapping[str, Any]) -> dict[str, RankedSystem] | None:
        try:
            found = self._rank_split(prepare_split(parts, self.options, design=design, items=self.items), fitted)
        except TruevalError:
            return None
        return {name: found[name] for name in self.named}

    def _rank_split(self, prepared: PreparedSplit, fitted: Mapping[str, Any]) -> dict[str, RankedSystem]:
        found = {}
        for name, system in fitted.items():
            if isinstance(system, Run) and prepared.design.sample:
                continue
            facts = rank_tasks(
                system, prepared.tasks, prepared.design, depth=prepared.depth, ties=self.options.ties, name=name,
                invalid=self.options.invalid,
            )  # fmt: skip
            found[name] = RankedSystem(name, only_of(facts, prepared.context.only), prepared.context.inputs)
        return found


def _kind(spec: Any) -> str:
    """The registered name of a system, however it was given."""
    if isinstance(spec, str):
        return spec.partition("[")[0].strip()
    record = record_of(spec)
    return "" if record is None else record.name


def _with_rows(log: Interactions, rows: pl.DataFrame) -> Interactions:
    return log.keep(pl.concat([log.frame, rows.select(log.frame.columns)], how="vertical_relaxed"), name=log.name)
