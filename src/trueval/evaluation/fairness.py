"""Fairness between groups: is exposure shared out, and does everyone have the same chance of a hit?"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from trueval.data.exported_tables import Tabular, frame_html
from trueval.errors import DefinitionError, suggest
from trueval.evaluation.estimate import Estimate, Sums, estimate
from trueval.evaluation.group_measures import RecommendedItems
from trueval.evaluation.group_values import GroupValues, Spread, spread
from trueval.evaluation.groups import Groups
from trueval.metrics.discount import log2
from trueval.metrics.list_sums import mean_weight
from trueval.metrics.metric_values import same
from trueval.statistics.resampling import resample_sums

AGAINST = ("catalogue", "equal")


@dataclass(frozen=True, slots=True)
class Disparity(Tabular):
    """A rate or share of every group, its target where there is one, and how far groups are apart."""

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

    def _repr_html_(self) -> str:
        return frame_html(f"{self.what}: gap {self.gap.value:.4f}, ratio {self.ratio.value:.4f}", self.table())

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


def equal_opportunity(found: GroupValues, *, k: int | None = None) -> Disparity:
    """True-positive rate by group: of all relevant items (of the users or the items of a group), those within k.

    Pooled over users, as the definition counts: 120 of 200 is .60 whoever the 200 belong to. Small groups are
    left out of gap and ratio, as everywhere.

    >>> import trueval as tv
    >>> recs = pl.DataFrame({"user": [1, 2, 3, 4], "item": ["a", "a", "a", "b"], "rank": 1})
    >>> test = pl.DataFrame({"user": [1, 2, 3, 4], "item": ["a", "a", "a", "a"]})
    >>> users = pl.DataFrame({"user": [1, 2, 3, 4], "gender": ["f", "f", "m", "m"]})
    >>> result = tv.evaluate_run(recs, test, users=users, by="gender", metrics="rr@1", min_group=1, interval="none")
    >>> equal_opportunity(result.evaluation.system("run").by("gender")).gap.value
    0.5
    """
    k = _cutoff(k, sorted(found.hit_rates))
    if k not in found.hit_rates:
        known = ", ".join(map(str, sorted(found.hit_rates)))
        raise DefinitionError(f"hits were not counted at {k}", found=f"cutoffs {known}", do=f"add a metric at {k}")
    rates, apart = found.hit_rates[k]
    return Disparity(f"true-positive rate@{k} by {found.groups.name}", rates, apart)


def demographic_parity(
    found: GroupValues, *, k: int | None = None, discount: bool = False, against: str = "catalogue"
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
    >>> demographic_parity(result.evaluation.system("run").by("provider")).gap.value
    0.5
    """
    recommended, groups = found.recommended, found.groups
    if against not in AGAINST:
        raise DefinitionError(f"unknown reference of parity: {against!r}", do=suggest(against, AGAINST))
    if recommended is None:
        raise DefinitionError(
            f"{groups.name} groups users, but exposure is defined for groups of items", do="name a column of the items"
        )
    k = _cutoff(k, [recommended.depth])
    if k > recommended.depth:
        raise DefinitionError(
            f"lists were kept up to {recommended.depth} only", found=f"k = {k}", do=f"add a metric at {k}"
        )
    if recommended.open:
        raise DefinitionError(
            "ties leave the exposure of items undefined", found=recommended.open, do="use ties=random"
        )
    if not exposes(found):
        raise DefinitionError(
            "no list contains an item of any group",
            found=f"{len(recommended.item):,} places in all lists",
            do="use an AR design (1R has no lists)",
        )
    target = _catalogue_shares(groups) if against == "catalogue" else np.full(len(groups), 1 / len(groups))
    exposure = _exposure(recommended, groups, found.units, k, discount)
    what = f"{'discounted ' if discount else ''}exposure@{k} by {groups.name}"
    return _shares(exposure, target, found, what)


def exposes(found: GroupValues) -> bool:
    """Whether there are lists, they contain items of the groups, and ties leave no exposure undefined."""
    return (
        found.recommended is not None
        and not found.recommended.open
        and bool(np.isin(found.groups.member, found.recommended.item).any())
    )


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


def _exposure(recommended: RecommendedItems, groups: Groups, units: int, k: int, discount: bool) -> np.ndarray:
    """Exposure of each group (column) in each list (row)."""
    item, group, part = _memberships(groups)
    rows = np.flatnonzero(recommended.above < k)
    first, last = (np.searchsorted(item, recommended.item[rows], side=side) for side in ("left", "right"))
    number = last - first
    begin = np.cumsum(number) - number
    at = np.repeat(first - begin, number) + np.arange(int(number.sum()))
    weight = mean_weight(recommended.above[rows], recommended.tied[rows], k, log2(k) if discount else None)
    cell = np.repeat(recommended.unit[rows].astype(np.int64), number) * len(groups) + group[at]
    total = np.bincount(cell, np.repeat(weight, number) * part[at], minlength=units * len(groups))
    return total.reshape(units, len(groups))


def _catalogue_shares(groups: Groups) -> np.ndarray:
    item, group, part = _memberships(groups)
    offered = np.isin(item, groups.offered)
    total = np.bincount(group[offered], part[offered], minlength=len(groups))
    return total / total.sum()


def _shares(exposure: np.ndarray, target: np.ndarray, found: GroupValues, what: str) -> Disparity:
    """Shares of all exposure, resampled by user. Every list is one user's, so rows are users."""
    labels, level = found.groups.labels, found.intervals.level
    whole = exposure.sum(axis=1, keepdims=True)
    number = int(np.count_nonzero(whole))
    parts = [Sums(exposure[:, [j]], whole, same, number, 0, range=(0.0, 1.0)) for j in range(len(labels))]
    how, drawn = found.intervals._replace(interval="none"), None
    if found.intervals.interval != "none" and len(exposure) > 1:
        how = found.intervals._replace(interval="bootstrap")
        (totals,) = resample_sums([(None, exposure)], len(exposure), seed=how.seed, resamples=how.resamples)
        drawn = _parts_of_one(totals)
    own = [estimate(s, None if drawn is None else drawn[:, j], how) for j, s in enumerate(parts)]
    above = spread([_moved(e, t, np.subtract) for e, t in zip(own, target)],
                   None if drawn is None else drawn - target, labels, level=level, widest=_widest(target))  # fmt: skip
    times = spread([_moved(e, t, np.divide) for e, t in zip(own, target)],
                   None if drawn is None else drawn / target, labels, level=level)  # fmt: skip
    apart = Spread(above.gap, times.ratio, above.highest, above.lowest)
    return Disparity(what, dict(zip(labels, own)), apart, dict(zip(labels, target.tolist())))


def _widest(target: np.ndarray) -> float:
    """The largest gap there can be: all exposure to the group with the smallest target.

    That group has 1 - target above its target; the one with the largest target has all of it below.

    >>> round(_widest(np.array([0.5, 0.5])), 6), round(_widest(np.array([0.2, 0.7, 0.1])), 6)
    (1.0, 1.6)
    """
    if len(target) < 2:
        return np.inf
    order = np.argsort(target, kind="stable")
    return float(1 - target[order[0]] + target[order[-1]])


def _moved(e: Estimate, target: float, operation: np.ufunc) -> Estimate:
    """A share against its target."""
    value, low, high = (float(operation(x, target)) for x in (e.value, e.low, e.high))
    return replace(e, value=value, low=low, high=high)


def _parts_of_one(totals: np.ndarray) -> np.ndarray:
    """Each row divided by its sum; rows of nothing are left out."""
    whole = totals.sum(axis=1, keepdims=True)
    return totals[whole[:, 0] > 0] / whole[whole[:, 0] > 0]
