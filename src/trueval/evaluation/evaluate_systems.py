"""Evaluate systems on a split: rank, measure, estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueval.data.items import read_items
from trueval.data.popularity import learned, repeat_notes
from trueval.data.run_tables import read_run
from trueval.design.design import Design
from trueval.design.task import Task, make_tasks
from trueval.design.words import words_of
from trueval.errors import DefinitionError
from trueval.evaluation.context import EvaluationContext, RankedUnits, make_context, read_known
from trueval.evaluation.kept_facts import NOT_KEPT, Keeper, KeptFacts, Missing
from trueval.evaluation.measure_and_conclude import MeasuredSystem, check_listed, conclude, measure
from trueval.evaluation.options import EvaluationOptions, specs_of
from trueval.evaluation.outcome import Evaluation
from trueval.evaluation.run_notes import notes_on_task
from trueval.facts.from_run import run_task_facts
from trueval.facts.from_scores import rank_system
from trueval.facts.invalid_places import REFUSE, InvalidPlaces
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.tie_rules import OF_LIBRARIES, TIES
from trueval.facts.views import concat, condense, one_relevant
from trueval.metrics.aspect_inputs import Targets
from trueval.metrics.metric_inputs import ItemPopularity
from trueval.metrics.spec import Spec
from trueval.recommenders.description import describe_fit, describe_system, time_fit
from trueval.recommenders.protocol import Recommender, TrainSet
from trueval.recommenders.registry import cautions_on, make_system, name_systems, record_of
from trueval.recommenders.run import Run
from trueval.splits.parts import Parts


@dataclass(frozen=True, slots=True)
class PreparedSplit:
    """One split under one design, ready for systems: what they learn from, what they rank, what metrics need."""

    parts: Parts
    design: Design
    specs: dict[str, Spec]
    tasks: Sequence[Task]
    train: TrainSet
    context: EvaluationContext

    @property
    def options(self) -> EvaluationOptions:
        """How systems are evaluated."""
        return self.context.options

    @property
    def depth(self) -> int:
        """Length of the lists that the metrics look at."""
        return max([spec.k or 0 for spec in self.specs.values()] + [10])


def prepare_split(
    parts: Parts, options: EvaluationOptions, *, design: str | Design = "AR-TI-AN", items: Any = None
) -> PreparedSplit:
    """Apply a design to a split."""
    design = Design.parse(design)
    specs = specs_of(options, design.sample)
    table = None if items is None else read_items(items)
    everyone, threshold, seed = options.averaged_over == "all", options.threshold, options.seed
    tasks = make_tasks(parts, design, threshold=threshold, everyone=everyone, catalogue=table, seed=seed)
    task = tasks[0]
    train = TrainSet(task.users, task.items, task.train, seed, threshold, parts.train.count)
    popularity = train.popularity
    owners = popularity if train.count == "users" else train.item_counts(count="users")
    context = make_context(
        read_known(parts.test, parts.train, options, items=table, parts=parts, seen=design.seen),
        options,
        [RankedUnits(task.judged, task.unit_user, task.candidates) for task in tasks],
        users=task.users,
        items=task.items,
        train=train.log,
        popularity=ItemPopularity(popularity, int(np.count_nonzero(train.log.counts)), owners=owners),
        targets=Targets.of_task(task),
    )
    return PreparedSplit(parts, design, specs, tasks, train, context)


def evaluate_systems(
    parts: Parts, systems: Any, options: EvaluationOptions, *, design: str | Design = "AR-TI-AN", items: Any = None
) -> Evaluation:
    """Fit every system on the train part, rank under the design, and measure on the test part."""
    return evaluate_sides(replace(parts, observed=None), systems, options, design=design, items=items)[""]


def evaluate_sides(
    parts: Parts, systems: Any, options: EvaluationOptions, *, design: str | Design = "AR-TI-AN", items: Any = None,
    notes: Sequence[str] = (), keeper: Keeper | None = None,
) -> dict[str, Evaluation]:  # fmt: skip
    """The same on every side of the parts (see `Parts.sides`), every system fitted once for all; `notes` are for the
    reader, and a `keeper` decides which facts stay with the evaluations."""
    named = name_systems(systems)
    if not named:
        raise DefinitionError("no system was given", do='for example systems=["popularity"]')
    splits = {side: prepare_split(own, options, design=design, items=items) for side, own in parts.sides.items()}
    measured: dict[str, dict[str, MeasuredSystem]] = {side: {} for side in splits}
    kept: dict[str, dict[str, RankingFacts | Missing]] = {side: {} for side in splits}
    for name, spec in named.items():
        system, description = _fit(spec, splits[""].train, test=parts.test)
        cautions = cautions_on(name, system)
        for side, split in splits.items():
            facts = rank_tasks(
                system, split.tasks, split.design, depth=split.depth, ties=options.ties, name=name,
                invalid=options.invalid,
            )  # fmt: skip
            own = [*cautions, *(f"{name}: {note}" for note in facts.label["notes"])]
            measured[side][name] = measure_system(
                facts, split, first=not measured[side], where=name, notes=own, description=description
            )
            kept[side][name] = NOT_KEPT if keeper is None else keeper.take(facts)
    found = {side: conclude_split(split, measured[side], notes=notes) for side, split in splits.items()}
    return {side: replace(evaluation, facts=KeptFacts(kept[side])) for side, evaluation in found.items()}


def _fit(spec: Any, train: TrainSet, *, test: Any) -> tuple[Recommender | Run, dict[str, Any]]:
    """A system that was fitted, and what it was; a run is as it is."""
    if isinstance(spec, Run):
        return spec, describe_system(spec)
    made = make_system(spec, test=test)
    description = describe_system(made)
    system, seconds = time_fit(lambda: made.fit(train))
    return system, describe_fit(description, system, seconds=seconds, train=train)


def measure_system(
    facts: RankingFacts,
    split: PreparedSplit,
    *,
    first: bool,
    where: str,
    notes: Sequence[str],
    description: Mapping[str, Any],
) -> MeasuredSystem:
    """All metrics of one system; `where` names it in errors, and `description` says what it is."""
    measured = measure(facts, split.specs, split.context, first=first)
    check_listed(measured, split.train.users, split.options, name=where)
    places = facts.label.get("invalid")
    return MeasuredSystem(
        measured, split.context, facts.catalogue, tuple(notes), description,
        invalid=None if places is None else InvalidPlaces(*places),
    )  # fmt: skip


def conclude_split(
    split: PreparedSplit, systems: Mapping[str, MeasuredSystem], *, notes: Sequence[str] = ()
) -> Evaluation:
    """The evaluation of all systems that were measured on a split."""
    parts, design = split.parts, split.design
    short = sum(task.short for task in split.tasks)
    note = f"{short:,} target sets have fewer than {design.sample} non-relevant items: their users have seen the others"
    of_systems = [own for system in systems.values() for own in system.notes]
    return conclude(
        systems,
        split.specs,
        test=parts.test,
        notes=[*parts.cautions, *_repeats(split.train), *of_systems, *notes, *[note] * bool(short)],
        systems={name: system.description for name, system in systems.items()},
        condensed=design.condensed,
        design=str(design),
        design_words=dict(words_of(design)),
        split=dict(parts.how),
        data={"train": parts.train.fingerprint(), "test": parts.test.fingerprint()},
    )


def _repeats(train: TrainSet) -> list[str]:
    """What becomes of train pairs with several rows, where there are any."""
    times = train.log.times
    again = np.empty(0, np.int64) if times is None else times[times > 1]
    return repeat_notes(len(again), int(again.sum()), count=train.count, learned=learned(train.log.value is not None))


def rank_tasks(
    system: Recommender | Run, tasks: Sequence[Task], design: Design, *, depth: int, ties: str, name: str,
    invalid: str = REFUSE,
) -> RankingFacts:  # fmt: skip
    """Facts of a fitted system under a design: percentiles side by side, 1R and condensed as views of AR."""
    parts: list[RankingFacts] = []
    notes: list[str] = []
    if ties in OF_LIBRARIES and not isinstance(system, Run):
        raise DefinitionError(
            f"ties={ties} orders equal scores in lists that were made elsewhere, and {name} ranks items itself",
            do=f"use one of {', '.join(TIES)}",
        )
    places: InvalidPlaces | None = None
    for number, task in enumerate(tasks):
        if not len(task.unit_user):
            continue
        if isinstance(system, Run):
            run = read_run(system.source, columns=system.columns)
            facts = run_task_facts(run, task, ties=ties, name=name, invalid=invalid)
            places = InvalidPlaces.of_parts([places, facts.invalid])
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
    registered = record_of(system) is not None  # ids and scores of other people's systems may not belong together
    label: dict[str, Any] = {"design": str(design), "seed": tasks[0].seed, "notes": notes, "registered": registered}
    if places is not None:  # also for those who read the facts from a file
        notes += places.notes(invalid)
        label["invalid"] = list(places)
    return concat(parts).changed(label=label)
