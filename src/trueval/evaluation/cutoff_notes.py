"""Cutoffs that cut nothing off, and condensed lists that are empty: what a reader must know of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trueval.evaluation.measurements import Measurements
from trueval.metrics.spec import Spec

# A note is given where a metric is the same whatever the order for at least this share of the units.
MANY = 0.5


def notes_on_condensed(name: str, measured: Measurements, specs: Mapping[str, Spec]) -> list[str]:
    """Condensed lists without a judged item, for which what divides by these is undefined; and lists that were cut."""
    found, notes = measured.condensed, []
    if found is None:
        return []
    lost = ", ".join(label for label, spec in specs.items() if spec.metric.condensed)
    if found.nothing and lost:
        who = f"{found.nothing:,} of {_units(measured)} have no judged item in the list"
        notes.append(f"{name}: {who} and are excluded from {lost} (undefined); values by chance include them")
    if found.listed < found.judged:
        contents = f"the lists contain {found.listed:,} of {found.judged:,} judged items"
        notes.append(f"{name}: {contents}; values by chance assume complete rankings, which contain all of them")
    return notes


def notes_on_cuts(measured: Measurements, specs: Mapping[str, Spec]) -> list[str]:
    """Cutoffs that most units have too few items for: the order then changes nothing in metrics of the set above it."""
    notes = []
    for k, number in measured.uncut.items():
        same = [label for label, spec in specs.items() if spec.k == k and spec.metric.by_set]
        if same and number and number >= MANY * len(measured):
            what = "target items" if measured.condensed is None else "judged items"
            notes.append(
                f"{number:,} of {_units(measured)} have at most {k} {what}: every complete ranking of them, in any "
                f"order, has the same {', '.join(same)}; compare systems at a smaller cutoff, or with rank metrics"
            )
    return notes


def _units(measured: Measurements) -> str:
    one_each = len(np.unique(measured.unit_user)) == len(measured)
    return f"{len(measured):,} {'users' if one_each else 'target sets'}"
