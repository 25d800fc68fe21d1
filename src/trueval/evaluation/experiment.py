"""Evaluate systems on a split: rank, measure, estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from trueval.data.items import read_items
from trueval.data.popularity import learned, repeats_told
from trueval.data.run_tables import read_run
from trueval.data.users import read_users
from trueval.design.design import Design
from trueval.design.task import Task, make_tasks
from trueval.errors import DefinitionError
from trueval.evaluation.features import item_aspects
from trueval.evaluation.groups import Groups, Known, evaluated_users, find_groups, names_of
from trueval.evaluation.kept_facts import NOT_KEPT, Keeper, KeptFacts, Missing
from trueval.evaluation.measurements import Measurements
from trueval.evaluation.outcome import Evaluation
from trueval.evaluation.rules import Rules
from trueval.evaluation.run_notes import notes_on_task
from trueval.evaluation.weighted import held_out_share
from trueval.facts.from_run import run_task_facts
from trueval.facts.from_scores import rank_system
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.readings import concat, condense, one_relevant
from trueval.metrics.grammar import Spec
from trueval.metrics.inputs import Inputs, Popularity, Positives, RowPropensity
from trueval.metrics.interest import Interest, Targets
from trueval.propensity.propensity import Propensity
from trueval.recommenders.protocol import Recommender, TrainSet
from trueval.recommenders.registry import cautions_on, make_system, name_systems, text_of
from trueval.recommenders.run import Run
from trueval.splits.parts import Parts


@dataclass(frozen=True, slots=True)
class Stage:
    """One split under one design, ready for systems: what they learn from, what they rank, what metrics need."""

    parts: Parts
    design: Design
    rules: Rules
    specs: dict[str, Spec]
    tasks: Sequence[Task]
    train: TrainSet
    inputs: Inputs
    groups: list[Groups]

    @property
    def depth(self) -> int:
        """Length of the lists that the metrics look at."""
        return max([spec.k or 0 for spec in self.specs.values()] + [10])

    def measure(self, facts: RankingFacts, *, first: bool) -> Measurements:
        """All metrics of one system."""
        return self.rules.measure(facts, self.specs, inputs=self.inputs, groups=self.groups, first=first)


def set_stage(parts: Parts, rules: Rules, *, design: str | Design = "AR-TI-AN", items: Any = None) -> Stage:
    """Apply a design to a split."""
    design = Design.parse(design)
    specs = rules.specs(design.sample)
    table = None if items is None else read_items(items)
    everyone = rules.averaged_over == "all"
    tasks = make_tasks(parts, design, threshold=rules.threshold, everyone=everyone, catalogue=table, seed=rules.seed)
    train = TrainSet(tasks[0].users, tasks[0].items, tasks[0].train, rules.seed, rules.threshold, parts.train.count)
    inputs = _inputs(parts, train, tasks[0], table, rules)
    groups = _groups(rules, parts, tasks, inputs, items=table)
    return Stage(parts, design, rules, specs, tasks, train, inputs, groups)


def evaluate_systems(
    parts: Parts, systems: Any, rules: Rules, *, design: str | Design = "AR-TI-AN", items: Any = None
) -> Evaluation:
    """Fit every system on the train part, rank under the design, and measure on the test part."""
    return evaluate_sides(replace(parts, observed=None), systems, rules, design=design, items=items)[""]


def evaluate_sides(
    parts: Parts, systems: Any, rules: Rules, *, design: str | Design = "AR-TI-AN", items: Any = None,
    notes: Sequence[str] = (), keeper: Keeper | None = None,
) -> dict[str, Evaluation]:  # fmt: skip
    """The same on every side of the parts (see `Parts.sides`), every system fitted once for all; `notes` are for the
    reader, and a `keeper` decides which facts stay with the evaluations."""
    named = name_systems(systems)
    if not named:
        raise DefinitionError("no system was given", do='for example systems=["popularity"]')
    stages = {side: set_stage(own, rules, design=design, items=items) for side, own in parts.sides.items()}
    measured: dict[str, dict[str, Measurements]] = {side: {} for side in stages}
    told: dict[str, str] = {}
    cautions: dict[str, list[str]] = {side: [] for side in stages}
    catalogue: dict[str, int] = {}
    kept: dict[str, dict[str, RankingFacts | Missing]] = {side: {} for side in stages}
    for name, spec in named.items():
        system = spec if isinstance(spec, Run) else make_system(spec, test=parts.test).fit(stages[""].train)
        told[name] = text_of(system)
        for own in cautions.values():
            own += cautions_on(name, system)
        for side, stage in stages.items():
            facts = rank_tasks(system, stage.tasks, stage.design, depth=stage.depth, ties=rules.ties, name=name)
            measured[side][name] = stage.measure(facts, first=not measured[side])
            catalogue[side] = facts.catalogue
            kept[side][name] = NOT_KEPT if keeper is None else keeper.take(facts)
            cautions[side] += [f"{name}: {note}" for note in facts.label["notes"]]
            rules.check_listed(measured[side][name], stage.train.users, name)
    found = {
        side: conclude(stage, measured[side], systems=told, notes=[*cautions[side], *notes], catalogue=catalogue[side])
        for side, stage in stages.items()
    }
    return {side: replace(evaluation, facts=KeptFacts(kept[side])) for side, evaluation in found.items()}


def conclude(
    stage: Stage,
    measured: Mapping[str, Measurements],
    *,
    systems: Mapping[str, str],
    notes: Sequence[str],
    catalogue: int,
) -> Evaluation:
    """The evaluation of all systems that were measured on a stage; `systems` says what each of them is."""
    parts, design = stage.parts, stage.design
    short = sum(task.short for task in stage.tasks)
    note = f"{short:,} target sets have fewer than {design.sample} non-relevant items: their users have seen the rest"
    return stage.rules.conclude(
        measured,
        stage.specs,
        users=dict.fromkeys(measured, stage.train.users),
        items=stage.train.items,
        inputs=stage.inputs,
        test=parts.test,
        notes=[*parts.cautions, *_repeats(stage.train), *notes, *[note] * bool(short)],
        systems=dict(systems),
        condensed=design.condensed,
        design=str(design),
        split=dict(parts.how),
        data={"train": parts.train.fingerprint(), "test": parts.test.fingerprint()},
        catalogue=catalogue,
    )


def _repeats(train: TrainSet) -> list[str]:
    """What becomes of train pairs with several rows, where there are any."""
    times = train.log.times
    again = np.empty(0, np.int64) if times is None else times[times > 1]
    return repeats_told(len(again), int(again.sum()), count=train.count, learned=learned(train.log.value is not None))


def _inputs(parts: Parts, train: TrainSet, task: Task, table: pl.DataFrame | None, rules: Rules) -> Inputs:
    """What metrics may need besides the facts."""
    users = int(np.count_nonzero(train.log.counts))
    popularity = Popularity(train.item_counts(), users, owners=train.item_counts(count="users"))
    chance, share = None, None
    if rules.propensity is not None:
        chance = Propensity.read(rules.propensity, train=parts.train, test=parts.test)
        share = held_out_share(parts)
    aspects = item_aspects(parts.train.items if table is None else table, train.items)
    return Inputs(
        propensity=RowPropensity.make(
            chance, parts.test, train.users, train.items, threshold=rules.threshold, share=share
        ),
        train=train.log,
        popularity=popularity,
        features=None if aspects is None else aspects.matrix(),
        aspects=aspects,
        interest=Interest.of(parts.train, parts.test, train.users, train.items),
        targets=Targets.of_task(task),
        positives=Positives.of(parts.train, parts.test, train.items, rules.threshold),
    )


def _groups(
    rules: Rules, parts: Parts, tasks: Sequence[Task], inputs: Inputs, *, items: pl.DataFrame | None
) -> list[Groups]:
    """Groups to tell the values apart by, from the tables that came along."""
    if not names_of(rules.by):
        return []
    known = Known(
        tasks[0].users,
        tasks[0].items,
        np.unique(np.concatenate([evaluated_users(t.judged, t.unit_user, rules.averaged_over) for t in tasks])),
        np.unique(np.concatenate([task.candidates for task in tasks])),
        inputs,
        user_tables=[None if rules.users is None else read_users(rules.users), parts.train.users, parts.test.users],
        item_tables=[items, parts.train.items, parts.test.items],
    )
    return find_groups(rules.by, known)


def rank_tasks(
    system: Recommender | Run, tasks: Sequence[Task], design: Design, *, depth: int, ties: str, name: str
) -> RankingFacts:
    """Facts of a fitted system under a design: percentiles side by side, 1R and condensed as readings of AR."""
    parts: list[RankingFacts] = []
    notes: list[str] = []
    for number, task in enumerate(tasks):
        if not len(task.unit_user):
            continue
        if isinstance(system, Run):
            run = read_run(system.source, columns=system.columns)
            facts = run_task_facts(run, task, ties=ties, name=name)
            notes = notes if parts else notes_on_task(run, task)
        else:
            facts = rank_system(system, task, depth=depth, ties=ties, name=name)
        if design.relevant == "1R" and not design.resample:
            facts = one_relevant(facts)
        if design.condensed:
            facts = condense(facts)
        if design.percentiles:
            facts = facts.changed(stratum=np.full(len(facts), number, np.int32))
        parts.append(facts)
    return concat(parts).changed(label={"design": str(design), "seed": tasks[0].seed, "notes": notes})
