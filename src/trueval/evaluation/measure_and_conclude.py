"""From facts to an evaluation: measure each system, then estimate all of them and add notes for the reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.data.rating_scale import notes_on_ratings
from trueval.evaluation.context import EvaluationContext
from trueval.evaluation.group_values import notes_on_groups
from trueval.evaluation.item_counts import Recommended
from trueval.evaluation.manifest import make_manifest
from trueval.evaluation.measurements import Measurements, measure_facts
from trueval.evaluation.missing_users import notes_on_missing, refuse_missing
from trueval.evaluation.options import EvaluationOptions
from trueval.evaluation.outcome import Evaluation, SystemResult, notes_on, notes_on_intervals, random_values, summarise
from trueval.evaluation.population import check_anyone
from trueval.evaluation.weighted_metrics import notes_on_weights
from trueval.evaluation.without_head import RemovedHead
from trueval.facts.invalid_places import REFUSE, InvalidPlaces
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.metric_inputs import Inputs
from trueval.metrics.spec import Spec


@dataclass(frozen=True, slots=True)
class MeasuredSystem:
    """What was measured of one system, fitted or given as a run."""

    measurements: Measurements
    context: EvaluationContext = field(repr=False)
    catalogue: int  # items that could be recommended
    notes: tuple[str, ...] = ()
    description: Mapping[str, Any] = field(default_factory=dict)  # of the system, where it is one
    head_places: np.ndarray | None = None  # of given lists: places that hold items of a removed head, and all
    removed_head: RemovedHead | None = None
    invalid: InvalidPlaces | None = None  # of given lists, where these may have places that cannot count


def measure(facts: RankingFacts, specs: Mapping[str, Spec], context: EvaluationContext, *, first: bool) -> Measurements:
    """All metrics of one system, or of a part of its users. The random ranking is the same whatever the system: it is
    measured with the `first`."""
    options = context.options
    return measure_facts(
        facts,
        dict(specs),
        population=options.averaged_over,
        only=context.only,
        missing=options.missing,
        inputs=context.inputs,
        preset=options.preset,
        with_random=first,
        groups=context.groups,
        by_user=options.interval != "none",
    )


def check_listed(measured: Measurements, users: Ids, options: EvaluationOptions, *, name: str) -> None:
    """Refuse a system that leaves users without recommendations, where the options say so."""
    if options.missing == "error":
        refuse_missing(measured, users, name)


def conclude(
    measured: Mapping[str, MeasuredSystem],
    specs: Mapping[str, Spec],
    *,
    test: Interactions,
    notes: Sequence[str] = (),
    **entries: Any,
) -> Evaluation:
    """Estimates of all systems, each in its own context; `entries` go into the manifest.

    Contexts of one evaluation have the same options, and differ in their vocabularies at most.
    """
    last = list(measured.values())[-1]
    options, inputs = last.context.options, last.context.inputs
    values = {name: system.measurements for name, system in measured.items()}
    for m in values.values():
        dropped = len(m.missing_users) if options.missing == "drop" else 0
        check_anyone(len(m), options.averaged_over, dropped=dropped, only=last.context.only)
    found = {name: _summarise(system, specs) for name, system in measured.items()}
    foremost = [
        *notes_on_ratings(test, options.threshold),
        *notes_on_missing(values, specs, missing=options.missing, compat=options.compat),
    ]
    only = last.context.only
    if only is not None:
        number = max(len(np.union1d(m.unit_user, m.missing_users)) for m in values.values())
        foremost.append(f"only {number:,} of the {only.named:,} users of only_users are evaluated, and nobody else")
    warnings = [*foremost, *_notes(values, found, specs, options, inputs), *notes]
    entries = {**entries, "catalogue": last.catalogue, "only_users": None if only is None else only.record()}
    manifest = _manifest(specs, options, inputs, entries)
    return Evaluation(found, dict(specs), random_values(values[next(iter(values))]), manifest, warnings, foremost)


def _summarise(system: MeasuredSystem, specs: Mapping[str, Spec]) -> SystemResult:
    context, counts = system.context, system.measurements.recommended
    found = summarise(
        system.measurements,
        users=context.users,
        items=context.items,
        intervals=context.options.intervals,
        min_group=context.options.min_group,
        ranges={label: spec.range for label, spec in specs.items()},
    )
    found = replace(found, invalid=system.invalid)
    if counts is None:
        return found
    popularity = context.inputs.popularity
    return replace(
        found, recommended=Recommended(counts, system.catalogue, None if popularity is None else popularity.counts)
    )


def _manifest(
    specs: Mapping[str, Spec], options: EvaluationOptions, inputs: Inputs, entries: Mapping[str, Any]
) -> dict[str, Any]:
    """How the values came about."""
    clips = [spec.parameters.get("clip", 0.0) for spec in specs.values()]
    return make_manifest(
        specs,
        population=options.averaged_over,
        ties=options.ties,
        interval=options.interval,
        level=None if options.interval == "none" else options.level,
        resamples=options.resamples if options.intervals.resamples_users else None,
        threshold=options.threshold,
        seed=options.seed,
        compat=options.compat,
        missing=None if options.compat is not None and options.missing == "zero" else options.missing,
        invalid=None if options.invalid == REFUSE else options.invalid,
        propensity=None if inputs.propensity is None else inputs.propensity.description(clips),
        **entries,
    )


def _notes(
    measured: Mapping[str, Measurements], systems: Mapping[str, SystemResult], specs: Mapping[str, Spec],
    options: EvaluationOptions, inputs: Inputs,
) -> list[str]:  # fmt: skip
    """Notes on the values themselves."""
    found = notes_on(measured, specs) + notes_on_groups({n: s.groups for n, s in systems.items()}, list(specs))
    first = next(iter(measured.values()))
    if options.interval != "none" and first.unit_user.min() == first.unit_user.max():
        found.append("there is only one user: intervals are undefined")
    return found + notes_on_weights(specs, inputs.propensity) + notes_on_intervals(systems, specs)
