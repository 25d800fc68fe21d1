"""The work of an experiment: every system is fitted once per split, and ranked and measured under every design."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import polars as pl

from trueval.data.interactions import Interactions
from trueval.errors import DataError, TruevalError
from trueval.evaluation.evaluate_systems import PreparedSplit, conclude_split, measure_system, prepare_split, rank_tasks
from trueval.evaluation.measure_and_conclude import MeasuredSystem
from trueval.evaluation.outcome import Evaluation
from trueval.experiments.cache import DEPTH, Cache, facts_key, split_key
from trueval.experiments.designs import DesignPlan
from trueval.experiments.experiment import Experiment
from trueval.experiments.splitting import SplitReplicate
from trueval.experiments.system_entries import Entry, system_errors
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import shortened
from trueval.progress import hushed, note, progress
from trueval.recommenders.description import describe_fit, describe_system, time_fit
from trueval.recommenders.registry import cautions_on
from trueval.recommenders.run import Run

Evaluations = dict[str, dict[str, Evaluation]]  # by design and repeat


@dataclass
class _Bench:
    """One design on one split, and the systems measured on it so far."""

    plan: DesignPlan
    split: PreparedSplit
    key: dict[str, Any]
    measured: dict[str, MeasuredSystem] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """What the work found, and where the facts behind it are: keys by design, repeat and system."""

    evaluations: Evaluations
    keys: dict[str, dict[str, dict[str, str]]]

    @property
    def used(self) -> set[str]:
        """The keys of all facts behind it."""
        return {key for repeats in self.keys.values() for systems in repeats.values() for key in systems.values()}


def do_experiment(experiment: Experiment, log: Interactions, cache: Cache) -> Found:
    """Evaluations of every design and repeat."""
    items, users = experiment.source.read_items(), experiment.source.read_users()
    evaluations: Evaluations = {}
    keys: dict[str, dict[str, dict[str, str]]] = {}
    seeds = experiment.splitting.repeats(log, columns=experiment.source.columns)
    first = next(seeds)
    total = len(first) * len(experiment.splitting.seeds) * len(experiment.systems)
    with progress("experiment", total, after=0) as step:
        for repeat in _chained(first, seeds):
            benches = _benches(experiment, repeat, items, users)
            for entry in experiment.systems.values():
                step(0, f"{entry.name}, {repeat.name}" if repeat.name else entry.name)
                with hushed():
                    used = _measure(entry, repeat, benches, cache)
                while cache.notes:
                    note(cache.notes.pop(0))
                for design, key in used.items():
                    keys.setdefault(design, {}).setdefault(repeat.name, {})[entry.name] = key
                step()
            for design, bench in benches.items():
                found = conclude_split(bench.split, bench.measured, notes=bench.plan.notes)
                evaluations.setdefault(design, {})[repeat.name] = found
    return Found(evaluations, keys)


def _chained(first: list[SplitReplicate], others: Iterator[list[SplitReplicate]]) -> Iterator[SplitReplicate]:
    yield from first
    for several in others:
        yield from several


def _benches(
    experiment: Experiment, repeat: SplitReplicate, items: pl.DataFrame | None, users: pl.DataFrame | None
) -> dict[str, _Bench]:
    """Every design applied to one split, and to both of its sides where it has two."""
    found = {}
    for design, plan in experiment.plans.items():
        options = replace(plan.options(experiment.options, seed=repeat.seed), users=users)
        for side, parts in repeat.parts.sides.items():
            try:
                split = prepare_split(parts, options, design=plan.design, items=items)
            except TruevalError as problem:
                place = " and ".join(filter(None, (f"[evaluation] designs: {design}", problem.where)))
                raise type(problem)(problem.what, where=place, found=problem.found, do=problem.do) from problem
            found["-".join(filter(None, (design, side)))] = _Bench(plan, split, split_key(split, items))
    return found


def _measure(entry: Entry, repeat: SplitReplicate, benches: dict[str, _Bench], cache: Cache) -> dict[str, str]:
    """Measure one system under every design; it is fitted only where facts are missing. Keys of facts by design."""
    with system_errors(entry):
        identity = entry.identity(repeat.seed, repeat.fold)
    fitted = _Once(lambda split: _fit(entry, repeat, split))
    used = {}
    for design, bench in benches.items():
        if entry.name not in bench.plan.systems:
            continue
        used[design] = key = facts_key(bench.key, identity)
        facts = cache.get(key, depth=bench.split.depth)
        if facts is None:
            facts = _rank(*fitted(bench.split), entry, bench.split)
            if entry.is_still(identity, repeat.seed, repeat.fold):
                cache.put(key, facts)
            else:
                cache.notes.append(f"{entry.name}: its files changed during the run, so its facts are not stored")
        if entry.kind != "run" and not bench.plan.design.condensed:
            facts = shortened(facts, bench.split.depth)
        with system_errors(entry):
            bench.measured[entry.name] = measure_system(
                facts, bench.split, first=not bench.measured, where=entry.target, description=facts.label["described"],
                notes=[f"{entry.name}{caution}" for caution in facts.label["cautions"]],
            )  # fmt: skip
    return used


class FittedEntry(NamedTuple):
    """A system of an experiment, fitted, and what manifests say of it."""

    system: Any
    described: dict[str, Any]


class _Once:
    """A system that is fitted when it is first asked for, and kept for the other designs of its split."""

    def __init__(self, fit: Callable[[PreparedSplit], FittedEntry]) -> None:
        self.fit = fit
        self.found: FittedEntry | None = None

    def __call__(self, split: PreparedSplit) -> FittedEntry:
        if self.found is None:
            self.found = self.fit(split)
        return self.found


def _fit(entry: Entry, repeat: SplitReplicate, split: PreparedSplit) -> FittedEntry:
    """The system, fitted, and what it was; a run is as it is."""
    with system_errors(entry), entry.importable():
        system = entry.made(repeat.seed, repeat.fold, test=split.parts.test)
        if isinstance(system, Run):
            return FittedEntry(system, {"system": "run", "source": entry.target, "definition": entry.text})
        described = describe_system(system)
        fitted, seconds = time_fit(lambda: system.fit(split.train))
        if not hasattr(fitted, "score"):
            raise DataError("fit did not return the system", found=type(fitted).__name__, do="end fit with return self")
        described = describe_fit(described, fitted, seconds=seconds, train=split.train)
    if entry.kind == "import":
        described |= {"system": entry.target, "parameters": {**described["parameters"], **entry.parameters}}
    return FittedEntry(fitted, described | {"definition": entry.text})


def _rank(system: Any, described: Mapping[str, Any], entry: Entry, split: PreparedSplit) -> RankingFacts:
    """Facts with the cautions about the system, so that they are known when facts are read without fitting it."""
    depth = max(DEPTH, split.depth)
    with system_errors(entry), entry.importable():
        facts = rank_tasks(
            system, split.tasks, split.design, depth=depth, ties=split.options.ties, name=entry.name,
            invalid=split.options.invalid,
        )  # fmt: skip
    cautions = [caution.removeprefix(entry.name) for caution in cautions_on(entry.name, system)]
    cautions += [f": {note}" for note in facts.label["notes"]]
    return facts.changed(
        label={**facts.label, "depth": depth, "system": entry.text, "described": dict(described), "cautions": cautions}
    )
