"""Fairness between groups: is exposure shared out, and does everyone have the same chance of a hit?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from trueval.errors import DefinitionError, suggest
from trueval.evaluation.estimate import Estimate, draw_users
from trueval.evaluation.group_measures import Shown
from trueval.evaluation.group_values import GroupValues, Spread, spread
from trueval.evaluation.groups import Groups
from trueval.evaluation.outcome import SystemValues
from trueval.metrics.discount import log2

AGAINST = ("catalogue", "equal")


@dataclass(frozen=True, slots=True)
class Disparity:
    """A rate or share of every group, what it should be where something says so, and how far groups are apart."""

    what: str
    values: dict[str, Estimate]
    spread: Spread
    target: dict[str, float] = field(default_factory=dict)

    @property
    def gap(self) -> Estimate:
        """Highest minus lowest; of shares with a target, of what they have above it."""
        return self.spread.gap

    @property
    def ratio(self) -> Estimate:
        """Lowest over highest; of shares with a target, of their ratios to it."""
        return self.spread.ratio

    def table(self) -> pl.DataFrame:
        """One row per group."""
        rows = [
            {"group": label, "value": e.value, "low": e.low, "high": e.high, "n": e.n}
            | ({"target": self.target[label]} if self.target else {})
            for label, e in self.values.items()
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        values = {label: {"value": e.value, "low": e.low, "high": e.high, "n": e.n} for label, e in self.values.items()}
        for label, share in self.target.items():
            values[label]["target"] = share
        return {"what": self.what, "values": values, **spread_record(self.spread)}


def spread_record(found: Spread) -> dict[str, Any]:
    """A gap and a ratio as plain data."""
    of = {"groups": found.gap.n, "highest": found.highest or None, "lowest": found.lowest or None}
    both = {"gap": found.gap, "ratio": found.ratio}
    return {name: {"value": e.value, "low": e.low, "high": e.high, **of} for name, e in both.items()}


def equal_opportunity(system: SystemValues, column: str, *, k: int | None = None) -> Disparity:
    """True-positive rate by group: of all relevant items (of the users or the items of a group), those within k.

    Pooled over users, as the definition counts: 120 of 200 is .60 whoever the 200 belong to. Small groups are
    left out of gap and ratio, as everywhere.

    >>> import trueval as tv
    >>> recs = pl.DataFrame({"user": [1, 2, 3, 4], "item": ["a", "a", "a", "b"], "rank": 1})
    >>> test = pl.DataFrame({"user": [1, 2, 3, 4], "item": ["a", "a", "a", "a"]})
    >>> users = pl.DataFrame({"user": [1, 2, 3, 4], "gender": ["f", "f", "m", "m"]})
    >>> result = tv.evaluate_run(recs, test, users=users, by="gender", metrics="rr@1", min_group=1, interval="none")
    >>> equal_opportunity(result.evaluation.system("run"), "gender").gap.value
    0.5
    """
    found = grouped(system.groups, column)
    k = _cutoff(k, sorted(found.hit_rates))
    if k not in found.hit_rates:
        known = ", ".join(map(str, sorted(found.hit_rates)))
        raise DefinitionError(f"hits were not counted at {k}", found=f"cutoffs {known}", do=f"add a metric at {k}")
    rates, apart = found.hit_rates[k]
    return Disparity(f"true-positive rate@{k} by {column}", rates, apart)


def demographic_parity(
    system: SystemValues, column: str, *, k: int | None = None, discount: bool = False, against: str = "catalogue"
) -> Disparity:
    """Share of the exposure that each group of items gets, against its share of the catalogue or equal shares.

    Exposure is the number of places within k, with `discount` each counting 1 / log2(rank + 1). Items of
    several groups count in equal parts for each; items of no group are left out, so that shares add up to 1. The gap
    is between the shares above and below their targets, the ratio between shares over targets.

    >>> import trueval as tv
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "c"], "rank": [1, 2, 1, 2]})
    >>> test = pl.DataFrame({"user": [1, 2], "item": ["a", "c"]})
    >>> items = pl.DataFrame({"item": ["a", "b", "c", "d"], "provider": ["x", "x", "y", "y"]})
    >>> result = tv.evaluate_run(recs, test, items=items, by="provider", metrics="rr@2", interval="none")
    >>> demographic_parity(result.evaluation.system("run"), "provider").gap.value
    0.5
    """
    found = grouped(system.groups, column)
    if against not in AGAINST:
        raise DefinitionError(f"parity against {against!r} is not known", found=suggest(against, AGAINST))
    if found.shown is None:
        raise DefinitionError(
            f"{column} groups users; exposure is shared out among items", do="name a column of the items"
        )
    deepest = system.depth
    k = _cutoff(k, [deepest])
    if k > deepest:
        raise DefinitionError(f"lists were kept up to {deepest} only", found=f"k = {k}", do=f"add a metric at {k}")
    if not len(found.shown.item):
        raise DefinitionError("there are no lists to share exposure out in", do="use an AR design")
    labels = found.groups.labels
    exposure = _exposure(found.shown, found.groups, len(system.unit_user), k, discount)
    target = _catalogue_shares(found.groups) if against == "catalogue" else np.full(len(labels), 1 / len(labels))
    return _shares(exposure, target, labels, system, f"{'discounted ' if discount else ''}exposure@{k} by {column}")


def grouped(groups: Mapping[str, GroupValues], column: str) -> GroupValues:
    """The values by a column that the evaluation was grouped by."""
    if column not in groups:
        raise DefinitionError(
            f"the evaluation was not grouped by {column!r}",
            found=suggest(column, groups) if groups else "no groups",
            do=f'evaluate with by="{column}"',
        )
    return groups[column]


def _cutoff(k: int | None, known: list[int]) -> int:
    """The cutoff asked for, else the deepest there is."""
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
        raise DefinitionError("the cutoff must be a whole number, 1 or more", found=f"k = {k!r}")
    return known[-1] if k is None else k


def _memberships(groups: Groups) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Item, group and part of every membership, item by item; the parts of an item add up to 1."""
    order = np.argsort(groups.member, kind="stable")
    item, group = groups.member[order], groups.group[order]
    _, place, number = np.unique(item, return_inverse=True, return_counts=True)
    return item, group, 1 / number[place]


def _exposure(shown: Shown, groups: Groups, units: int, k: int, discount: bool) -> np.ndarray:
    """Exposure of each group (column) in each list (row)."""
    item, group, part = _memberships(groups)
    rows = np.flatnonzero(shown.place <= k)
    first, last = (np.searchsorted(item, shown.item[rows], side=side) for side in ("left", "right"))
    number = last - first
    begin = np.cumsum(number) - number
    at = np.repeat(first - begin, number) + np.arange(int(number.sum()))
    weight = log2(k).at(shown.place[rows]) if discount else np.ones(len(rows))
    cell = np.repeat(shown.unit[rows].astype(np.int64), number) * len(groups) + group[at]
    total = np.bincount(cell, np.repeat(weight, number) * part[at], minlength=units * len(groups))
    return total.reshape(units, len(groups))


def _catalogue_shares(groups: Groups) -> np.ndarray:
    item, group, part = _memberships(groups)
    offered = np.isin(item, groups.offered)
    total = np.bincount(group[offered], part[offered], minlength=len(groups))
    return total / total.sum()


def _shares(
    exposure: np.ndarray, target: np.ndarray, labels: tuple[str, ...], system: SystemValues, what: str
) -> Disparity:
    """Shares of all exposure, resampled by user. Every list is one user's, so rows are users."""
    total = exposure.sum(axis=0)
    with np.errstate(invalid="ignore"):
        share = total / total.sum()
    drawn = None
    if system.interval != "none" and len(exposure) > 1:
        drawn = np.concatenate(
            [w @ exposure for w in draw_users(len(exposure), seed=system.seed, resamples=system.resamples)]
        )
        with np.errstate(invalid="ignore"):
            drawn = drawn / drawn.sum(axis=1, keepdims=True)
        drawn = drawn[~np.isnan(drawn).any(axis=1)]
    ends = np.full((2, len(share)), np.nan)
    if drawn is not None and len(drawn):
        ends = np.quantile(drawn, [0.025, 0.975], axis=0)
    number = int((exposure.sum(axis=1) > 0).sum())
    values = {g: Estimate(float(share[j]), float(ends[0, j]), float(ends[1, j]), number) for j, g in enumerate(labels)}
    above = spread(share - target, None if drawn is None else drawn - target, labels)
    with np.errstate(divide="ignore", invalid="ignore"):
        times = spread(share / target, None if drawn is None else drawn / target, labels)
    apart = Spread(above.gap, times.ratio, above.highest, above.lowest)
    return Disparity(what, values, apart, dict(zip(labels, target.tolist())))
