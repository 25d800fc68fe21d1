"""Could a conclusion change? Tests of reversed orders and of changed values, paired over users.

An order counts as changed where two systems differ significantly one way, and significantly the other way in another
setting: both tests must reject, so that the larger of their p-values counts (an intersection–union test). A value
counts as changed where its paired change is significantly larger than the smallest relevant change. All p-values go
into one correction over the whole audit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trueval.audit.settings import Setting, joined_systems
from trueval.comparison.paired_tests import Tested, all_tested
from trueval.render.statements import Sign, Statement
from trueval.statistics.permutation_test import FEW
from trueval.statistics.power import detectable_shift
from trueval.statistics.significance_tests import t_test

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """First minus second system on one metric, turned so that above 0 is better; two-sided p and interval."""

    first: str
    second: str
    value: float
    low: float
    high: float
    p: float
    users: int
    error: float
    free: float
    p_rare: float = 0.0  # allows for users too rare to be seen (see `Comparison.p_rare`)

    @property
    def detectable(self) -> float:
        """The true difference found with 80 % power; NaN where users do not vary."""
        if not self.error > 0 or not self.free >= 1:
            return math.nan
        return self.error * detectable_shift(self.free)

    def statement(self, metric: str, sign: Sign, family: int = 0) -> Statement:
        """What a sentence says of it, as data."""
        pair = self.first, self.second
        return Statement("difference", (metric,), sign, self.value, self.low, self.high, pair, family)

    def turned(self) -> Difference:
        """Second minus first."""
        return Difference(
            self.second, self.first, -self.value, -self.high, -self.low, self.p, self.users, self.error, self.free,
            self.p_rare,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reversal:
    """Two systems in two settings: `p` is that of a significant difference one way here, and the other way there."""

    metric: str
    setting: str
    here: Difference
    there: Difference
    p: float

    @property
    def better(self) -> Pair:
        """The system that is better here, then the one that is better there."""
        pair = (self.here.first, self.here.second)
        return pair if self.here.value > 0 else (pair[1], pair[0])


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One value in two settings; `p` is that of a change beyond `relevant`."""

    system: str
    metric: str
    setting: str
    before: float
    after: float
    change: float
    low: float
    high: float
    relevant: float
    p: float


def differences(
    setting: Setting, label: str, systems: Sequence[str] | None = None, *, pairs: Iterable[Pair] | None = None
) -> dict[Pair, Difference]:
    """All pairs of systems on one metric, in the order of their names here; or some `pairs`, as they are given."""
    names = [name for name in setting.systems if systems is None or name in systems]
    wanted = [pair for pair in pairs or itertools.combinations(names, 2) if set(pair) <= set(names)]
    side = -1 if setting.specs[label].better == "lower" else 1
    found: dict[Pair, Difference] = {}
    for second in dict.fromkeys(pair[1] for pair in wanted):
        firsts = [pair[0] for pair in wanted if pair[1] == second]
        rows = _tested({name: setting.systems[name] for name in (*firsts, second)}, setting, label, second)
        for first in firsts:
            if first in rows:
                found[first, second] = _difference(rows[first], first, second, side)
    return {pair: found[pair] for pair in wanted if pair in found}


def _tested(systems: Mapping, setting: Setting, label: str, baseline: str) -> dict[str, Tested]:
    joined = joined_systems(systems, {label: setting.specs[label]})
    rows = all_tested(joined, baseline, [label], test="t", alternative="two-sided", level=0.95, resamples=0, seed=0)
    return {row.system: row for row in rows}


def _difference(row: Tested, first: str, second: str, side: int) -> Difference:
    low, high = (row.low, row.high) if side > 0 else (-row.high, -row.low)
    return Difference(
        first, second, side * row.mean.value, low, high, row.p, row.mean.users, row.mean.error, row.mean.free,
        row.p_rare,
    )  # fmt: skip


def reversals(
    metric: str, here: Mapping[Pair, Difference], there: Mapping[Pair, Difference], *, setting: str
) -> list[Reversal]:
    """Every pair of systems that both settings have: is its order reversed?

    Where the differences have the same sign, p is 1. Where one of them is unknown there is no test.
    """
    found = []
    for pair, one in here.items():
        other = there.get(pair)
        if other is None and (pair[1], pair[0]) in there:
            other = there[pair[1], pair[0]].turned()
        if other is None or math.isnan(one.p) or math.isnan(other.p):
            continue
        p = max(one.p, other.p) if one.value * other.value < 0 else 1.0
        found.append(Reversal(metric, setting, one, other, p))
    return found


def value_changes(
    here: Setting, there: Setting, label: str, *, relevant: float, systems: Sequence[str]
) -> list[ValueChange]:
    """The values of systems in two settings, paired over the users of both."""
    found = []
    for name in systems:
        both = {"before": here.systems[name], "after": there.systems[name]}
        row = _tested(both, here, label, "before").get("after")
        if row is None or math.isnan(row.mean.value):
            continue
        values = here.value(name, label), there.value(name, label)
        found.append(
            ValueChange(
                name, label, there.name, *values, row.mean.value, row.low, row.high, relevant, beyond(row, relevant)
            )
        )
    return found


def beyond(row: Tested, relevant: float) -> float:
    """p of a mean difference larger than `relevant` on its own side; no smaller than that of a difference at all."""
    mean = row.mean
    if math.isnan(row.p) or math.isnan(mean.error):
        return math.nan
    if mean.error == 0:  # the same change for every user
        return row.p if abs(mean.value) > relevant else 1.0
    far = (abs(mean.value) - relevant, abs(mean.value) + relevant)  # from either end of what is not relevant
    p = min(1.0, sum(t_test(one, mean.error, mean.free, "greater") for one in far))
    return max(p, row.p) if row.above + row.below <= FEW else p


def detectable(found: Mapping[Pair, Difference]) -> float:
    """The detectable difference of some data: the median over all pairs of systems; NaN where none varies."""
    sizes = [one.detectable for one in found.values()]
    known = [size for size in sizes if not math.isnan(size)]
    return float(np.median(known)) if known else math.nan
