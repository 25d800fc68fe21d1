"""The same comparisons within groups of users, corrected over all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trueval.online.ab.comparisons import ArmValue, Compared, compare_arms
from trueval.online.ab.estimates import AbOptions
from trueval.online.ab.units import Units

MIN_GROUP = 30  # users in every arm; below, intervals that rest on large numbers do not hold


def compare_segments(
    units: Units, options: AbOptions, *, min_group: int = MIN_GROUP
) -> tuple[list[ArmValue], list[Compared], list[str]]:
    """Values and differences in every group that is large enough in every arm, and what was left out."""
    values: list[ArmValue] = []
    found: list[Compared] = []
    notes: list[str] = []
    for column, groups in units.segments.items():
        for group in np.unique(groups).tolist():
            within = groups == group
            fewest = int(np.bincount(units.arm[within], minlength=len(units.arms)).min())
            if fewest < max(2, min_group):
                noun = "user" if fewest == 1 else "users"
                notes.append(
                    f"{column} {group} is left out: one arm has {fewest} {noun}, at least {min_group} are needed"
                )
                continue
            constant = [m.name for m in units.metrics if _constant(units, m.name, m.kind, within)]
            notes += [f"{column} {group}: {name} is the same for every user, or undefined" for name in constant]
            more, compared = compare_arms(
                _without(units, constant), options, within=within, segment=column, group=str(group)
            )
            values += more
            found += compared
    return values, found, notes


def _constant(units: Units, metric: str, kind: str, within: np.ndarray) -> bool:
    sample = units.samples[metric]
    values = sample.values[within]
    if sample.below is None:
        return bool(values.min() == values.max())
    below = sample.below[within]
    least = 2 if kind == "per_payer" else 1e-300
    empty = any(sample.below[units.chosen(arm, within)].sum() < least for arm in range(len(units.arms)))
    return empty or bool((values * below.sum() == below * values.sum()).all())


def _without(units: Units, names: list[str]) -> Units:
    return replace(units, metrics=tuple(m for m in units.metrics if m.name not in names)) if names else units
