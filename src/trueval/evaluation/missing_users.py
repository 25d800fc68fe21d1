"""Users of the population without recommendations: what they count as, and the notes on them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trueval.data.ids import Ids
from trueval.errors import DataError, DefinitionError, suggest
from trueval.evaluation.measurements import Measurements
from trueval.metrics.spec import Spec

MISSING = ("zero", "drop", "error")


def check_missing(missing: str, compat: str | None) -> None:
    """Refuse a rule that does not exist, or that contradicts a compatibility preset.

    >>> check_missing("skip", None)
    Traceback (most recent call last):
    trueval.errors.DefinitionError: unknown rule for users without recommendations: 'skip'
      do:    available: drop, error, zero
    """
    if missing not in MISSING:
        raise DefinitionError(
            f"unknown rule for users without recommendations: {missing!r}", do=suggest(str(missing), MISSING)
        )
    if missing == "drop" and compat is not None:
        raise DefinitionError(
            f"compat={compat} decides how users without recommendations count",
            found="missing=drop",
            do="omit missing or compat",
        )


def refuse_missing(measured: Measurements, users: Ids, name: str) -> None:
    """Refuse users without recommendations, as missing="error" asks."""
    if len(measured.missing_users):
        some = ", ".join(map(str, users.decode(measured.missing_users[:5])))
        raise DataError(
            "users of the population have no recommendations",
            where=name,
            found=f"{len(measured.missing_users):,} of {_everyone(measured):,} users: {some}"
            + ("…" if len(measured.missing_users) > 5 else ""),
            do="recommend something to them, or choose how they count: missing=zero or missing=drop",
        )


def notes_on_missing(
    measured: Mapping[str, Measurements], specs: Mapping[str, Spec], *, missing: str, compat: str | None
) -> list[str]:
    """How many users have no recommendations, of each system that has such users, and what they count as."""
    notes = []
    for name, m in measured.items():
        number = len(m.missing_users)
        if number:
            treatment = "excluded from every mean (missing=drop)" if missing == "drop" else _counted(m, specs, compat)
            notes.append(f"{name}: {number:,} of {_everyone(m):,} users have no recommendations: {treatment}")
    if missing == "drop" and len({m.missing_users.tobytes() for m in measured.values()}) > 1:
        first = next(iter(measured))
        notes.append(
            f"systems are averaged over different users, and values by chance over the users of {first}; "
            "comparisons use the users that both systems have"
        )
    return notes


def _everyone(m: Measurements) -> int:
    """Users of the population, dropped or not."""
    return len(np.union1d(m.unit_user, m.missing_users))


def _counted(m: Measurements, specs: Mapping[str, Spec], compat: str | None) -> str:
    """What they count as, and on which metrics that is not what 0 usually is."""
    units = np.isin(m.unit_user, m.missing_users)
    zero: list[str] = []
    best: list[str] = []
    other: list[str] = []
    undefined: list[str] = []
    for label, values in m.values.items():
        if values.per_unit is None:  # of the whole system: it counts the lists there are
            continue
        own = values.per_unit[units]
        known = own[~np.isnan(own)]
        if not len(known):
            undefined.append(label)
        elif known.any():
            other.append(label)
        else:
            (best if specs[label].better == "lower" else zero).append(label)
    treatments = ["counted as 0" + f", which is the best value of {', '.join(best)}" * bool(best)] * bool(zero or best)
    treatments += [f"counted as an empty list by {', '.join(other)}"] * bool(other)
    treatments += [f"excluded from {', '.join(undefined)}"] * bool(undefined)
    rule = "missing=zero" if compat is None else f"compat={compat}"
    return f"{'; '.join(treatments) or 'they contribute nothing'} ({rule})"
