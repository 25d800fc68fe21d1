"""Evaluate systems on a split: rank, measure, estimate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from trueval.data.items import read_items
from trueval.data.run_tables import read_run
from trueval.data.users import read_users
from trueval.design.design import Design
from trueval.design.task import Task, make_tasks
from trueval.errors import DefinitionError
from trueval.evaluation.compat import Preset
from trueval.evaluation.features import item_features
from trueval.evaluation.group_values import MIN_GROUP, check_min_group, notes_on_groups
from trueval.evaluation.groups import By, Groups, Known, evaluated_users, find_groups, names_of
from trueval.evaluation.manifest import make_manifest
from trueval.evaluation.measurements import Measurements, measure_facts
from trueval.evaluation.outcome import Evaluation, label_specs, notes_on, random_values, summarise
from trueval.evaluation.population import check_anyone, check_population
from trueval.facts.from_run import run_task_facts
from trueval.facts.from_scores import rank_system
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.readings import concat, condense, one_relevant, with_ties
from trueval.metrics.grammar import Spec, parse_all
from trueval.metrics.inputs import Inputs, Popularity, Positives, RowPropensity
from trueval.propensity.propensity import Propensity
from trueval.recommenders.protocol import Recommender, TrainSet
from trueval.recommenders.registry import make_system, name_systems
from trueval.recommenders.run import Run
from trueval.splits.parts import Parts


def evaluate_systems(
    parts: Parts,
    systems: Any,
    *,
    design: str | Design = "AR-TI-AN",
    metrics: str | Sequence[str | Spec] = ("ndcg@10",),
    threshold: float | None = None,
    population: str = "relevant",
    ties: str = "random",
    interval: str = "bootstrap",
    resamples: int = 1000,
    items: Any = None,
    preset: Preset | None = None,
    compat: str | None = None,
    seed: int = 0,
    by: By = None,
    users: Any = None,
    min_group: int = MIN_GROUP,
    propensity: Any = None,
) -> Evaluation:
    """Fit every system on the train part, rank under the design, and measure."""
    design = Design.parse(design)
    asked = parse_all(metrics)
    if preset is not None:
        population = preset.population
    check_population(population)
    check_min_group(min_group)
    labels = label_specs(asked, design.sample)
    specs = {label: preset.apply(spec) if preset else spec for label, spec in labels.items()}
    named = name_systems(systems)
    if not named:
        raise DefinitionError("no system was given", do='for example systems=["popularity"]')
    table = None if items is None else read_items(items)
    tasks = make_tasks(
        parts,
        design,
        threshold=threshold,
        everyone=population == "all",
        catalogue=table,
        seed=seed,
    )
    train = TrainSet(tasks[0].users, tasks[0].items, tasks[0].train, seed)
    popularity = Popularity.of(train.log, len(train.items))
    chance = None if propensity is None else Propensity.read(propensity, train=parts.train, test=parts.test)
    inputs = Inputs(
        propensity=RowPropensity.make(chance, parts.test, train.users, train.items, threshold=threshold),
        train=train.log,
        popularity=popularity,
        features=item_features(parts.train.items if table is None else table, train.items),
        positives=Positives.of(parts.train, parts.test, train.items, threshold),
    )
    groups = _groups(by, parts, tasks, inputs, users=users, items=table, population=population)
    depth = max([spec.k or 0 for spec in specs.values()] + [10])
    measured: dict[str, Measurements] = {}
    for name, spec in named.items():
        system = spec if isinstance(spec, Run) else make_system(spec).fit(train)
        facts = rank_tasks(system, tasks, design, depth=depth, ties=ties, name=name)
        # the random ranking is the same whatever the system: measured once, with the first
        measured[name] = measure_facts(
            facts, specs, population=population, inputs=inputs, preset=preset, with_random=not measured,
            groups=groups,
        )  # fmt: skip
        check_anyone(len(measured[name]), population)
    found = {
        name: summarise(m, users=train.users, interval=interval, seed=seed, resamples=resamples, min_group=min_group)
        for name, m in measured.items()
    }
    short = sum(task.short for task in tasks)
    notes = notes_on(measured, specs) + notes_on_groups({n: s.groups for n, s in found.items()}, list(specs))
    if short:
        notes.append(
            f"{short:,} target sets have fewer than {design.sample} non-relevant items: their users have seen the rest"
        )
    first = next(iter(measured.values()))
    manifest = make_manifest(
        specs,
        design=str(design),
        population=population,
        ties=ties,
        interval=interval,
        threshold=threshold,
        seed=seed,
        compat=compat,
        propensity=None
        if inputs.propensity is None
        else inputs.propensity.told(s.parameters.get("clip", 0) for s in specs.values()),
        split=dict(parts.how),
        data={"train": parts.train.fingerprint(), "test": parts.test.fingerprint()},
    )
    return Evaluation(found, specs, random_values(first), manifest, notes)


def _groups(
    by: By, parts: Parts, tasks: Sequence[Task], inputs: Inputs, *, users: Any, items: pl.DataFrame | None,
    population: str,
) -> list[Groups]:  # fmt: skip
    """Groups to tell the values apart by, from the tables that came along."""
    if not names_of(by):
        return []
    known = Known(
        tasks[0].users,
        tasks[0].items,
        np.unique(np.concatenate([evaluated_users(task.judged, task.unit_user, population) for task in tasks])),
        np.unique(np.concatenate([task.candidates for task in tasks])),
        inputs,
        user_tables=[None if users is None else read_users(users), parts.train.users, parts.test.users],
        item_tables=[items, parts.train.items, parts.test.items],
        seed=tasks[0].seed,
    )
    return find_groups(by, known)


def rank_tasks(
    system: Recommender | Run, tasks: Sequence[Task], design: Design, *, depth: int, ties: str, name: str
) -> RankingFacts:
    """Facts of a fitted system under a design: percentiles side by side, 1R and condensed as readings of AR."""
    built = "given" if ties == "given" else "random"
    parts = []
    for number, task in enumerate(tasks):
        if not len(task.unit_user):
            continue
        if isinstance(system, Run):
            facts = run_task_facts(read_run(system.source, columns=system.columns), task, ties=built, name=name)
        else:
            facts = rank_system(system, task, depth=depth, ties=built, name=name)
        facts = facts if ties in ("random", "given") else with_ties(facts, ties)
        if design.relevant == "1R" and not design.resample:
            facts = one_relevant(facts)
        if design.condensed:
            facts = condense(facts)
        if design.percentiles:
            facts = facts.changed(stratum=np.full(len(facts), number, np.int32))
        parts.append(facts)
    return concat(parts).changed(label={"design": str(design), "seed": tasks[0].seed})
