"""What may be compared with what: manifests must agree, but for the seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueval.data.ids import Ids, check_same_kind
from trueval.errors import DataError
from trueval.evaluation.outcome import Evaluation, SystemResult
from trueval.metrics.spec import Spec

# Results that differ in these alone repeat each other; everything else must be equal.
REPEATED = ("seed", "split.seed", "split.fold", "split.window", "split.from", "split.to")
# How a number is rendered, or by which program, but not what it is; or (without_head) what follows from another field.
_ASIDE = ("version", "versions", "interval", "resamples", "level", "comparison", "catalogue", "files", "without_head",
          "design_words")  # fmt: skip
# Where only what both results have must agree.
_SOME = ("definitions.", "systems.", "data.train")
# What an option was before results said it: those of earlier versions can be compared with those that say the same.
_BEFORE = {"missing": "zero"}


@dataclass(frozen=True, slots=True)
class Replicate:
    """The systems of one seed or fold."""

    label: dict[str, Any]  # its seeds, fold or window
    systems: dict[str, SystemResult]


@dataclass(frozen=True, slots=True)
class Joined:
    """Results brought together: systems by seed, the metrics that all have, one vocabulary of users."""

    repeats: list[Replicate]
    specs: dict[str, Spec]
    users: Ids = field(repr=False)
    manifest: dict[str, Any]
    notes: list[str] = field(default_factory=list)

    def having(self, *names: str) -> list[Replicate]:
        """The repeats with all of these systems."""
        return [part for part in self.repeats if all(name in part.systems for name in names)]

    @property
    def names(self) -> list[str]:
        """Names of systems, in the order of their first appearance."""
        return list(dict.fromkeys(name for part in self.repeats for name in part.systems))


def join(results: Mapping[str, Evaluation]) -> Joined:
    """Bring results together; messages call them by their names.

    Results of one seed (and fold) complete each other: they hold different systems. The same system in results of
    different seeds or folds is the same system again. Anything else that differs is refused by name.
    """
    if not results:
        raise DataError("there is nothing to compare", found="no result")
    names, evaluations = list(results), list(results.values())
    first = evaluations[0]
    for evaluation, name in zip(evaluations[1:], names[1:]):
        check_comparable(first.manifest, evaluation.manifest, (names[0], name))
    specs, notes = _shared(evaluations, names)
    specs, notes = _of_one_catalogue(evaluations, names, specs, notes)
    found: dict[str, Replicate] = {}
    origin: dict[tuple[str, str], str] = {}
    for evaluation, name in zip(evaluations, names):
        label = replicate_label(evaluation.manifest)
        part = found.setdefault(repr(sorted(label.items())), Replicate(label, {}))
        for system, values in evaluation.systems.items():
            if system in part.systems:
                raise _twice(system, origin[repr(label), system], name, label)
            part.systems[system] = values
            origin[repr(label), system] = name
    return Joined(list(found.values()), specs, _vocabulary(evaluations, names), first.manifest, notes)


def check_comparable(one: Mapping[str, Any], other: Mapping[str, Any], names: tuple[str, str]) -> None:
    """Refuse two results that were made in different ways, and name all differences.

    >>> check_comparable({"design": "AR-TI-AN"}, {"design": "1R-TI-AN"}, ("a", "b"))
    Traceback (most recent call last):
    trueval.errors.DataError: the results cannot be compared
      where: a and b
      found: design: AR-TI-AN and 1R-TI-AN
      do:    evaluate all systems on the same data with the same options
    """
    left, right = ({**_BEFORE, **dict(_flat(manifest))} for manifest in (one, other))
    resplit = any(left.get(key) != right.get(key) for key in REPEATED if key != "seed")
    free = REPEATED + (("data.train", "data.test") if resplit else ())  # another split of the same log
    keys = [key for key in dict.fromkeys([*left, *right]) if key not in free]
    keys = [key for key in keys if not key.startswith(_SOME) or (key in left and key in right)]
    differing = [
        f"{key}: {_value_text(left.get(key))} and {_value_text(right.get(key))}"
        for key in keys
        if left.get(key) != right.get(key)
    ]
    versions = [str(manifest.get("version", "an unknown version")) for manifest in (one, other)]
    if differing and versions[0] != versions[1]:
        versions = [f"{name}: trueval {version}" for name, version in zip(names, versions)]
        differing += [f"written by different versions ({'; '.join(versions)}): one may not record what the other does"]
    if differing:
        raise DataError(
            "the results cannot be compared",
            where=" and ".join(names),
            found="\n".join(differing),
            do="evaluate all systems on the same data with the same options",
        )


def _value_text(value: Any) -> str:
    return "not given" if value is None else str(value)


def replicate_label(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The seeds, fold or window of a result: what identifies a replicate."""
    flat = dict(_flat(manifest))
    return {key: flat[key] for key in REPEATED if key in flat}


def _flat(manifest: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Fields with their paths, without those that do not affect the numbers."""
    for key, value in manifest.items():
        if not prefix and key in _ASIDE:
            continue
        if not prefix and key == "propensity" and isinstance(value, Mapping):
            yield "propensity", value.get("source")
        elif prefix == "systems." and isinstance(value, Mapping):  # not how long its fit took
            yield f"{prefix}{key}", value.get("definition")
        elif isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _shared(evaluations: Sequence[Evaluation], names: Sequence[str]) -> tuple[dict[str, Spec], list[str]]:
    """The metrics of all results, and a note about those that only some have."""
    everywhere = set.intersection(*(set(evaluation.specs) for evaluation in evaluations))
    if not everywhere:
        listed = "\n".join(f"{name}: {', '.join(e.specs)}" for e, name in zip(evaluations, names))
        raise DataError("the results have no metric in common", where=" and ".join(names), found=listed)
    some = [label for label in dict.fromkeys(n for e in evaluations for n in e.specs) if label not in everywhere]
    notes = [f"not compared, since not every result has them: {', '.join(some)}"] if some else []
    return {label: spec for label, spec in evaluations[0].specs.items() if label in everywhere}, notes


def _of_one_catalogue(
    evaluations: Sequence[Evaluation], names: Sequence[str], specs: dict[str, Spec], notes: list[str]
) -> tuple[dict[str, Spec], list[str]]:
    """Leave out metrics of the whole system (coverage) where catalogues differ; other metrics do not depend on them."""
    sizes: dict[str, dict[str, str]] = {}  # by seed and fold: those of different folds may well differ
    for e, name in zip(evaluations, names):
        sizes.setdefault(repr(replicate_label(e.manifest)), {}).setdefault(
            _value_text(e.manifest.get("catalogue")), name
        )
    lost = [label for label, spec in specs.items() if spec.metric.system]
    apart = next((own for own in sizes.values() if len(own) > 1), None)
    if apart is None or not lost:
        return specs, notes
    found = " and ".join(f"{size} ({name})" for size, name in apart.items())
    kept = {label: spec for label, spec in specs.items() if label not in lost}
    if not kept:
        raise DataError(
            "the results cannot be compared",
            where=" and ".join(names),
            found=f"items in the catalogue: {found}",
            do="evaluate all systems with the same catalogue (--items)",
        )
    return kept, [*notes, f"not compared, since the catalogues differ in size, {found}: {', '.join(lost)}"]


def _vocabulary(evaluations: Sequence[Evaluation], names: Sequence[str]) -> Ids:
    """One vocabulary for the users of all systems."""
    columns: list[tuple[str, Ids]] = []
    for evaluation, name in zip(evaluations, names):
        columns += [(name, system.users) for system in evaluation.systems.values()]
    distinct = {id(users): (name, users) for name, users in columns}
    (first_name, first), *others = distinct.values()
    if not others:
        return first
    for name, users in others:
        check_same_kind(first.values, users.values, role="user", where=(first_name, name))
    return Ids.of(*(users.values for _, users in distinct.values()))


def _twice(system: str, first: str, second: str, label: Mapping[str, Any]) -> DataError:
    seed = ", ".join(f"{key} {value}" for key, value in label.items()) or "no seed"
    return DataError(
        f"{system!r} is in two results of the same seed",
        where=f"{first} and {second}",
        found=seed,
        do="give results of different seeds or folds, or rename one of the systems",
    )


def mixing(parts: Sequence[Replicate]) -> np.ndarray:
    """Which replicates make one repeat: a row of weights for each.

    Seeds on the same split are no new data. Where there are several splits (folds, windows), each is one repeat,
    the mean over its seeds; otherwise each seed is.

    >>> folds = [Replicate({"seed": s, "split.fold": f}, {}) for f in (1, 2) for s in (7, 8)]
    >>> mixing(folds).tolist()
    [[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]
    >>> len(mixing(folds[:2]))
    2
    """
    splits = [repr({key: value for key, value in part.label.items() if key != "seed"}) for part in parts]
    of = [list(dict.fromkeys(splits)).index(split) for split in splits]
    if len(set(of)) == 1:
        return np.eye(len(parts))
    weights = np.zeros((max(of) + 1, len(parts)))
    weights[of, np.arange(len(parts))] = 1 / np.bincount(of)[of]
    return weights
