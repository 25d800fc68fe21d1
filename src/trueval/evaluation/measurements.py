"""All metrics of one system from its facts; parts over different users add up to the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trueval.evaluation.compat import Preset
from trueval.evaluation.group_measures import GroupMeasures, measure_groups, merge_groups
from trueval.evaluation.groups import Groups
from trueval.evaluation.population import in_population
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.readings import pieces, random_ranking, select
from trueval.kernels import in_order
from trueval.metrics.compute import Measured, compute, merge
from trueval.metrics.grammar import Spec
from trueval.metrics.inputs import Inputs

# Units whose metrics are worked out at a time.
PIECE = 8192


@dataclass(frozen=True, slots=True)
class Measurements:
    """Values of every metric for the units of the population."""

    unit_user: np.ndarray
    stratum: np.ndarray | None
    values: dict[str, Measured]
    random: dict[str, Measured]
    split_ties: dict[int, int]  # lists whose cut at k falls between equal scores
    longest: int
    groups: dict[str, GroupMeasures] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.unit_user)


def measure_facts(
    facts: RankingFacts,
    specs: dict[str, Spec],
    *,
    population: str,
    inputs: Inputs,
    preset: Preset | None = None,
    with_random: bool = True,
    groups: Sequence[Groups] = (),
    by_user: bool = True,
) -> Measurements:
    """Compute every metric (by label) over the units of the population, and its value for a random ranking.

    Without `by_user`, system metrics keep their counts alone, and can have no interval.
    """
    facts = select(facts, in_population(facts, population))

    def plain(spec: Spec, facts: RankingFacts) -> Measured:
        return compute(spec, _read_by(preset, spec, facts), inputs)

    def measure(spec: Spec, facts: RankingFacts) -> Measured:
        found = _under(preset, spec, facts, plain(spec, facts))
        if found.tally is not None and not by_user:
            return Measured(None, tally=replace(found.tally, added=()))
        return found

    values = _all_values(facts, specs, measure)
    shuffled = random_ranking(facts) if with_random else None
    random = {}
    if shuffled is not None and len(shuffled):
        comparable = {label: s for label, s in specs.items() if s.metric.against_random}
        random = _all_values(shuffled, comparable, plain)
    cutoffs = {spec.k for spec in specs.values() if spec.k}
    ties = {k: round(facts.tie_rate(k) * len(facts)) for k in sorted(cutoffs)}
    by_group = measure_groups(facts, values, specs, groups, measure)
    return Measurements(facts.unit_user, facts.stratum, values, random, ties, facts.depth, by_group)


def _all_values(
    facts: RankingFacts, specs: Mapping[str, Spec], measure: Callable[[Spec, RankingFacts], Measured]
) -> dict[str, Measured]:
    """Values of all metrics. Those of users are worked out piece by piece, so that memory is used again and again."""
    of_users = {label: spec for label, spec in specs.items() if not spec.metric.system}
    if len(facts) <= PIECE:
        of_users = {}
    found = in_order(lambda piece: {n: measure(spec, piece) for n, spec in of_users.items()}, pieces(facts, PIECE))
    parts = list(found) if of_users else []
    return {
        label: merge([part[label] for part in parts]) if label in of_users else measure(spec, facts)
        for label, spec in specs.items()
    }


def _read_by(preset: Preset | None, spec: Spec, facts: RankingFacts) -> RankingFacts:
    """The facts as a library sees them whose metric knows no threshold."""
    if preset is None or spec.metric.name not in preset.levelless:
        return facts
    return facts.changed(relevant=facts.value > 0)


def _under(preset: Preset | None, spec: Spec, facts: RankingFacts, measured: Measured) -> Measured:
    """Apply a library's rule for users without lists and for undefined values."""
    if preset is None or measured.per_unit is None:
        return measured
    value, ratio = measured.per_unit, measured.ratio
    if preset.empty_is_zero:
        value = np.nan_to_num(value)  # to a pooled value they add nothing either way
    if preset.only_listed(spec):
        listed = facts.length > 0
        value = np.where(listed, value, np.nan)
        if ratio is not None:
            above, below = (np.where(listed, part, 0.0) for part in (ratio.numerator, ratio.denominator))
            ratio = replace(ratio, numerator=above, denominator=below)
    return Measured(value, ratio)


def merge_measurements(parts: list[Measurements]) -> Measurements:
    """The whole from its parts, units in the order of users, so that sums do not depend on the parts."""
    parts = [part for part in parts if len(part)] or parts[:1]  # a part with nobody in the population adds nothing
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    unit_user = np.concatenate([part.unit_user for part in parts])
    order = np.argsort(unit_user, kind="stable")
    stratum = None
    if first.stratum is not None:
        stratum = np.concatenate([part.stratum for part in parts if part.stratum is not None])[order]
    return Measurements(
        unit_user[order],
        stratum,
        {label: merge([part.values[label] for part in parts]).take(order) for label in first.values},
        {label: merge([part.random[label] for part in parts]).take(order) for label in first.random},
        {k: sum(part.split_ties.get(k, 0) for part in parts) for k in first.split_ties},
        max(part.longest for part in parts),
        merge_groups([part.groups for part in parts], [len(part) for part in parts], order),
    )
