"""All metrics of one system from its facts; parts over different users add up to the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from trueval.errors import defect
from trueval.evaluation.compat import Preset
from trueval.evaluation.group_measures import GroupMeasures, measure_groups, merge_groups
from trueval.evaluation.groups import Groups
from trueval.evaluation.item_counts import ItemCounts
from trueval.evaluation.population import OnlyUsers, in_population
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.tie_rules import settled_by
from trueval.facts.views import pieces, random_ranking, select, target_numbers
from trueval.kernels import in_order
from trueval.metrics.compute import Measured, compute, merge
from trueval.metrics.metric_inputs import Inputs
from trueval.metrics.spec import Spec

# Units whose metrics are worked out at a time: few enough for the cache, so many that threads seldom take turns.
PIECE = 1 << 14


class Condensed(NamedTuple):
    """Of condensed rankings: units whose list holds no judged item, judged items in the lists, and judged items."""

    nothing: int
    listed: int
    judged: int

    @staticmethod
    def of(facts: RankingFacts) -> Condensed:
        """Count them."""
        nothing, listed = np.count_nonzero(facts.length == 0), np.count_nonzero(facts.rank)
        return Condensed(int(nothing), int(listed), len(facts.rank))

    @staticmethod
    def sum(parts: Sequence[Condensed]) -> Condensed:
        """The counts of the whole."""
        return Condensed(*(sum(column) for column in zip(*parts)))


@dataclass(frozen=True, slots=True)
class Measurements:
    """Values of every metric for the units of the population."""

    unit_user: np.ndarray
    stratum: np.ndarray | None
    values: dict[str, Measured]
    random: dict[str, Measured]
    split_ties: dict[int, int]  # lists whose cut at k falls between equal scores, of all `lists`
    longest: int
    groups: dict[str, GroupMeasures] = field(default_factory=dict)
    uncut: dict[int, int] = field(default_factory=dict)  # units with at most k targets, where their number is known
    condensed: Condensed | None = None
    missing_users: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))  # users who were given no list
    unit_item: np.ndarray | None = None  # the relevant item of each unit, in 1R
    recommended: ItemCounts | None = None
    lists: int = 0  # in the population or not

    def __len__(self) -> int:
        return len(self.unit_user)


def measure_facts(
    facts: RankingFacts,
    specs: dict[str, Spec],
    *,
    population: str,
    only: OnlyUsers | None = None,
    missing: str = "zero",
    inputs: Inputs,
    preset: Preset | None = None,
    with_random: bool = True,
    groups: Sequence[Groups] = (),
    by_user: bool = True,
    count_items: bool = True,
) -> Measurements:
    """Compute every metric (by label) over the units of the population, and its value for a random ranking.

    Users without a list count as an empty one, unless `missing` says that they are dropped. Without `by_user`, system
    metrics keep their counts alone, and can have no interval; `count_items` says whether it is counted how often each
    item was recommended.
    """
    lists = len(facts) if facts.listed is None else int(facts.listed.sum())
    facts = select(facts, in_population(facts, population, only))
    missing_users = np.empty(0, np.int32)
    if facts.listed is not None and not facts.listed.all():
        missing_users = np.unique(facts.unit_user[~facts.listed])
        facts = select(facts, facts.listed).changed(counted=lists) if missing == "drop" else facts

    def measure(spec: Spec, facts: RankingFacts) -> Measured:
        found = _under(preset, spec, facts, compute(spec, _read_by(preset, spec, facts), inputs))
        if found.tally is not None and not by_user:
            return Measured(None, tally=replace(found.tally, added=()))
        return found

    values = _all_values(facts, specs, measure)
    random = _by_chance(facts, specs, inputs, preset) if with_random else {}
    cutoffs = sorted({spec.k for spec in specs.values() if spec.k})
    ties = {k: int(facts.splits[k - 1]) if k <= len(facts.splits) else 0 for k in cutoffs}
    by_group = measure_groups(facts, values, specs, groups, measure)
    number = target_numbers(facts)
    uncut = {} if number is None else {k: int(np.count_nonzero(number <= k)) for k in cutoffs}
    condensed = Condensed.of(facts) if facts.condensed else None
    return Measurements(
        facts.unit_user, facts.stratum, values, random, ties, facts.depth, by_group, uncut, condensed, missing_users,
        facts.item[facts.start[:-1]] if facts.one_relevant else None,
        ItemCounts.of(facts, cutoffs) if count_items else None,
        len(facts) if facts.counted is None else facts.counted,
    )  # fmt: skip


def _by_chance(
    facts: RankingFacts, specs: Mapping[str, Spec], inputs: Inputs, preset: Preset | None
) -> dict[str, Measured]:
    """Values of a random ranking, computed like the values of the systems; none where the targets are unknown."""
    shuffled = random_ranking(facts)
    if shuffled is None:
        return {}

    def measure(spec: Spec, facts: RankingFacts) -> Measured:
        found = compute(spec, _read_by(preset, spec, facts), inputs)
        (low, high), value = spec.range, found.per_unit
        assert value is not None
        wrong = np.isinf(value) | (value < low - 1e-9) | (value > high + 1e-9)  # undefined values are neither
        if wrong.any():
            raise defect(
                f"{spec} by chance is outside its range", found=f"{value[wrong][0]:g}, not {low:g} to {high:g}"
            )
        return _under(preset, spec, facts, found)

    return _all_values(shuffled, {label: s for label, s in specs.items() if not s.metric.no_chance}, measure)


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
    if preset is None or not preset.counts_all(spec):
        return facts
    seen = facts.changed(relevant=facts.value > 0)
    return settled_by(seen, seen.value) if facts.ties in ("best", "worst") else seen


def _under(preset: Preset | None, spec: Spec, facts: RankingFacts, measured: Measured) -> Measured:
    """Apply a library's rule for users without lists and for undefined values."""
    if preset is None or measured.per_unit is None:
        return measured
    value, ratio = measured.per_unit, measured.ratio
    if preset.empty_is_zero:
        value = np.nan_to_num(value)
    if preset.only_listed(spec) and facts.listed is not None:
        value = np.where(facts.listed, value, np.nan)
        ratio = None if ratio is None else ratio.where(facts.listed)
    return Measured(value, ratio)


def merge_measurements(parts: list[Measurements]) -> Measurements:
    """The whole from its parts, units in the order of users, so that sums do not depend on the parts."""
    missing_users = np.sort(np.concatenate([part.missing_users for part in parts]))
    lists = sum(part.lists for part in parts)
    ties = {k: sum(part.split_ties.get(k, 0) for part in parts) for k in parts[0].split_ties}
    parts = [part for part in parts if len(part)] or parts[:1]  # a part with nobody in the population adds no values
    if len(parts) == 1:
        return replace(parts[0], missing_users=missing_users, split_ties=ties, lists=lists)
    first = parts[0]
    # Where the targets of one unit are not known there is no random ranking of the whole: parts without one decide.
    random = [label for label in first.random if all(label in part.random for part in parts)]
    unit_user = np.concatenate([part.unit_user for part in parts])
    order = np.argsort(unit_user, kind="stable")
    stratum, unit_item = (_merged([getattr(part, name) for part in parts], order) for name in ("stratum", "unit_item"))
    return Measurements(
        unit_user[order],
        stratum,
        {label: merge([part.values[label] for part in parts]).take(order) for label in first.values},
        {label: merge([part.random[label] for part in parts]).take(order) for label in random},
        ties,
        max(part.longest for part in parts),
        merge_groups([part.groups for part in parts], [len(part) for part in parts], order),
        {k: sum(part.uncut.get(k, 0) for part in parts) for k in first.uncut},
        None if first.condensed is None else Condensed.sum([part.condensed for part in parts if part.condensed]),
        missing_users,
        unit_item,
        ItemCounts.sum([part.recommended for part in parts]),
        lists,
    )


def _merged(columns: Sequence[np.ndarray | None], order: np.ndarray) -> np.ndarray | None:
    """A column that all parts have, or none of them has."""
    given = [column for column in columns if column is not None]
    return np.concatenate(given)[order] if given else None
