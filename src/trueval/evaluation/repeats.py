"""Repeated evaluations: the same systems over several folds (or windows) and seeds, as one.

The value is the mean over repeats. Its interval is one of

    nested      users and repeats both vary, see `nested_error` (the default)
    t           Student's t over the repeats: what another fold or seed would give for the same users
    bootstrap   users are drawn, each with the values of all repeats; the repeats stay as they are (also bca)
    none

A system without chance has the same value for every seed, which says nothing about other users: t over seeds would be
an interval without width. One repeat has no interval over repeats, and nested is then over users alone. Seeds of one
fold are no new data: where there are folds and seeds, the repeats of t and nested are the folds, each with the mean
over its seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from trueval.data.ids import Ids
from trueval.errors import DefinitionError
from trueval.evaluation.estimate import UNBOUNDED, Estimate, Sums, bounds, resampled
from trueval.evaluation.few_users import allow_for_few
from trueval.evaluation.interval_method import IntervalMethod
from trueval.evaluation.manifest import merge_entries
from trueval.evaluation.outcome import Evaluation, SystemResult, notes_on_intervals
from trueval.facts.invalid_places import InvalidPlaces
from trueval.metrics.spec import Spec
from trueval.splits.registry import split_of
from trueval.statistics.bounds import NO_SPREAD, Bounds
from trueval.statistics.jackknife import JackknifeReplicates
from trueval.statistics.student import student_interval

REPEATED = ("nested", "t", "bootstrap", "bca", "none")


@dataclass(frozen=True, slots=True)
class Repeated:
    """Values of several repeats: mean, standard deviation, standard error, and Student's t interval."""

    mean: float
    sd: float
    error: float
    low: float
    high: float
    n: int

    @staticmethod
    def of(values: Sequence[float] | np.ndarray, *, level: float = 0.95) -> Repeated:
        """From the values; one alone has neither deviation nor interval.

        >>> ndcg = Repeated.of([0.40, 0.41, 0.42, 0.43, 0.44])
        >>> [round(x, 4) for x in (ndcg.mean, ndcg.sd, ndcg.error, ndcg.low, ndcg.high)]
        [0.42, 0.0158, 0.0071, 0.4004, 0.4396]
        """
        x = np.asarray(values, np.float64)
        mean = float(x.mean()) if len(x) else float("nan")
        if len(x) < 2:
            return Repeated(mean, np.nan, np.nan, np.nan, np.nan, len(x))
        sd = float(x.std(ddof=1))
        error = sd / float(np.sqrt(len(x)))
        low, high = student_interval(mean, error, freedom=len(x) - 1, level=level)
        return Repeated(mean, sd, error, low, high, len(x))


def combine(evaluations: Mapping[str, Evaluation], *, interval: str = "nested", level: float = 0.95) -> Evaluation:
    """One evaluation from its repeats, by name ("fold 1", "seed 7", "fold 1, seed 7")."""
    parts = list(evaluations.values())
    what, mixing = f"{next(iter(evaluations)).split()[0]}s", _mixing(list(evaluations))
    first, intervals = parts[0], _drawing(parts[0], interval, level)
    systems: dict[str, SystemResult] = {}
    notes = _notes(evaluations)
    for name in first.systems:
        systems[name] = _system([part.systems[name] for part in parts], first.specs, intervals, mixing)
    notes += [note for note in notes_on_intervals(systems, first.specs) if note not in notes]
    if len(mixing) == 1 and interval == "t":
        notes.append(f"an interval over {what} needs at least two of them")
    elif len(mixing) == 1 and interval == "nested":
        notes.append(f"intervals are over users and do not include variation between {what}: there is only one")
    if len(mixing) > 1 and what == "folds" and interval in ("t", "nested"):
        notes.append("folds share train rows: their variance underestimates that of new data")
    random = {label: float(np.mean([part.random[label] for part in parts])) for label in first.random}
    varying: dict[str, Any] = {
        key: [part.manifest[key] for part in parts] for key in ("seed", "split", "data") if key in first.manifest
    }
    if "systems" in first.manifest:  # fits take their time in every repeat
        varying["systems"] = merge_entries([part.manifest["systems"] for part in parts])
    manifest = {**first.manifest, **varying, "interval": interval, "repeats": {"of": what, "names": list(evaluations)}}
    manifest |= {"level": level} if interval != "none" else {}
    manifest |= {"resamples": intervals.resamples} if intervals.resamples_users else {}
    return Evaluation(systems, first.specs, random, manifest, notes, repeats=dict(evaluations))


def _drawing(first: Evaluation, interval: str, level: float) -> IntervalMethod:
    resamples = first.manifest.get("resamples", 1000)
    return IntervalMethod(interval, first.manifest["seed"], resamples, level).checked(REPEATED)


def _mixing(names: Sequence[str]) -> np.ndarray:
    """Which repeats make which: a row for every fold, with equal weights for its seeds."""
    _, of, number = np.unique([name.split(", ")[0] for name in names], return_inverse=True, return_counts=True)
    mixing = np.zeros((len(number), len(names)))
    mixing[of, np.arange(len(names))] = 1 / number[of]
    return mixing


def _notes(evaluations: Mapping[str, Evaluation]) -> list[str]:
    """Notes of the repeats, each with the names of those that have it, unless all do."""
    having: dict[str, list[str]] = {}
    for name, part in evaluations.items():
        for note in part.warnings:
            having.setdefault(note, []).append(name)
    first = {note for part in evaluations.values() for note in part.foremost}
    return [
        note if len(having[note]) == len(evaluations) else f"{'; '.join(having[note])}: {note}"
        for note in sorted(having, key=lambda note: note not in first)
    ]


def _system(
    parts: list[SystemResult], specs: Mapping[str, Spec], intervals: IntervalMethod, mixing: np.ndarray
) -> SystemResult:
    """One system over all repeats."""
    everyone = Ids.of(*(part.users.decode(np.unique(part.unit_user)) for part in parts))
    found = {label: over_repeats(parts, label, specs[label], intervals, mixing) for label in parts[0].estimates}
    return SystemResult(
        found, {}, {}, np.arange(len(everyone), dtype=np.int32), everyone,
        invalid=InvalidPlaces.of_parts(part.invalid for part in parts),
    )  # fmt: skip


def over_repeats(
    parts: Sequence[SystemResult], label: str, spec: Spec, intervals: IntervalMethod, mixing: np.ndarray
) -> Estimate:
    """One metric of one system: the mean over repeats, with its interval. Each row of `mixing` makes one repeat."""
    values = Repeated.of(mixing @ [part.estimates[label].value for part in parts], level=intervals.level)
    ends = Bounds(np.nan, np.nan)
    if intervals.interval == "t":
        same_value = values.n > 1 and not values.error > 1e-15 * abs(values.mean)
        ends = Bounds(values.low, values.high) if not same_value else NO_SPREAD
    elif intervals.interval != "none" and label in parts[0].sums:
        everyone = Ids.of(*(part.users.decode(np.unique(part.unit_user)) for part in parts))
        ends = _over_users(_aligned(parts, label, everyone), intervals, mixing, spec.range)
    elif intervals.interval != "none" and label in parts[0].jackknife:
        ends = _without_users([part.jackknife[label] for part in parts], values, intervals)
    low, high = map(float, np.clip(ends[:2], *spec.range))
    undefined = sum(part.estimates[label].undefined for part in parts)
    return Estimate(values.mean, low, high, values.n, undefined, ends.note)


def _aligned(parts: Sequence[SystemResult], label: str, everyone: Ids) -> list[Sums]:
    """The sums of every repeat, with a row for each user of any repeat."""
    found = []
    for part in parts:
        s = part.sums[label]
        place = everyone.codes(part.users.decode(np.unique(part.unit_user)))
        sides = []
        for side in (s.numerator, s.denominator):
            whole = np.zeros((len(everyone), side.shape[1]))
            whole[place] = side
            sides.append(whole)
        found.append(replace(s, numerator=sides[0], denominator=sides[1]))
    return found


def _over_users(
    repeats: list[Sums], intervals: IntervalMethod, mixing: np.ndarray, range: tuple[float, float] = UNBOUNDED
) -> Bounds:
    together = _mean_of(repeats, mixing, range)
    if together.users < 2:
        return Bounds(np.nan, np.nan)
    mean = float(np.mean(mixing @ [s.value()[0] for s in repeats]))
    if intervals.interval == "nested":
        error, freedom = nested_error(repeats, mixing)
        low, high = np.nan, np.nan
        if np.isfinite(error):
            low, high = student_interval(mean, error, freedom=freedom, level=intervals.level)
    else:
        users, weights = len(repeats[0].numerator), mixing.mean(axis=0)
        drawn = resampled([(None, s) for s in repeats], users, seed=intervals.seed, resamples=intervals.resamples)
        low, high = bounds(
            mean,
            np.tensordot(weights, drawn, 1),
            lambda: weights @ [s.jackknife_replicates() for s in repeats],
            intervals,
        )
    return allow_for_few(together, low, high, intervals.level)


def _mean_of(repeats: Sequence[Sums], mixing: np.ndarray, range: tuple[float, float]) -> Sums:
    """The mean over repeats as one mean over users: each user's values, and how much the user counts in it."""
    weights, sides = mixing.mean(axis=0), []
    for name in ("numerator", "denominator"):
        side = [getattr(s, name) / np.maximum(s.denominator.sum(axis=0), 1e-300) for s in repeats]
        sides.append(np.tensordot(weights, side, 1))
    return replace(repeats[0], numerator=sides[0], denominator=sides[1], range=range)


def _without_users(replicates: Sequence[JackknifeReplicates], values: Repeated, intervals: IntervalMethod) -> Bounds:
    """For a system metric: the mean error by users, as if all repeats had the same, and on top of it by repeats."""
    by_user = float(np.mean([found.error() for found in replicates])) ** 2
    groups = min(len(found.one) for found in replicates)
    by_repeat = values.error**2 if intervals.interval == "nested" and values.n > 1 else 0.0
    if not np.isfinite(by_user + by_repeat):
        return Bounds(np.nan, np.nan)
    variance, spent = by_user + by_repeat, by_user**2 / (groups - 1) + by_repeat**2 / max(values.n - 1, 1)
    if not variance > 0:
        return NO_SPREAD
    error, freedom = float(np.sqrt(variance)), variance**2 / spent
    return Bounds(*student_interval(values.mean, error, freedom=freedom, level=intervals.level))


def nested_error(repeats: Sequence[Sums], mixing: np.ndarray | None = None) -> tuple[float, float]:
    """Standard error of the mean over repeats, and its degrees of freedom, where users and repeats both vary.

    The same users are in several repeats, so that values of two repeats have in common what their users are like.
    Linearised, user u moves repeat s by e(u, s); sums of products over users give the covariances of the repeats
    that users alone make. Their mean is the variance by users. What the repeats vary beyond that is the variance
    by repeats, at least 0; one repeat does not tell. Welch and Satterthwaite's rule gives the degrees of freedom. Where
    there is a `mixing`, each of its rows makes one repeat of several.

    >>> users = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0])[:, None]
    >>> seeds = [Sums(users + shift, np.ones((6, 1)), lambda x: x, 6, 0) for shift in (0.0, 0.1, 0.2)]
    >>> error, _ = nested_error(seeds)
    >>> round(error**2, 6), round(0.3 / 6 + 0.01 / 3, 6)  # variances of users over 6, of seeds over 3
    (0.053333, 0.053333)
    """
    mixing = np.eye(len(repeats)) if mixing is None else mixing
    values = mixing @ np.array([s.value()[0] for s in repeats])
    number, users = len(values), int(np.logical_or.reduce([(s.denominator > 0).any(axis=1) for s in repeats]).sum())
    if users < 2 or not np.isfinite(values).all():
        return float("nan"), float("nan")
    moved = np.stack([influence_on(s) for s in repeats], axis=1) @ mixing.T
    shared = moved.T @ moved * users / (users - 1)
    by_user = float(shared.mean())
    if number < 2:
        return float(np.sqrt(by_user)), float(users - 1)
    apart = float(np.trace(shared)) / number
    together = (float(shared.sum()) - float(np.trace(shared))) / (number * (number - 1))
    between, within = float(values.var(ddof=1)) / number, (apart - together) / number
    if between <= within:
        return float(np.sqrt(by_user)), float(users - 1)
    variance = between - within + by_user
    freedom = variance**2 / (between**2 / (number - 1) + (by_user - within) ** 2 / (users - 1))
    return float(np.sqrt(variance)), freedom


def influence_on(s: Sums) -> np.ndarray:
    """How much each user moves the value, to first order."""
    middle, moved = s.influence()
    step = max(abs(middle), 1e-9) * 1e-6
    rises = s.finish(np.array([middle - step, middle + step]))
    return moved * float(rises[1] - rises[0]) / (2 * step)


def repeats_frame(evaluations: Mapping[str, Evaluation], combined: Evaluation) -> pl.DataFrame:
    """One row per system and metric: mean, standard deviation, interval, number, and the value of every repeat."""
    rows: list[dict[str, Any]] = []
    for name, system in combined.systems.items():
        for label, e in system.estimates.items():
            values = [part.systems[name].estimates[label].value for part in evaluations.values()]
            found = Repeated.of(values)
            row = {"system": name, "metric": label, "mean": e.value, "sd": found.sd, "low": e.low, "high": e.high}
            rows.append(row | {"n": e.n} | dict(zip(evaluations, values)))
    numbers = ["mean", "sd", "low", "high", *evaluations]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col(numbers).cast(pl.Float64).fill_nan(None))


def name_repeats(parts: Sequence[Any], seeds: Sequence[int]) -> list[tuple[str, Any, int]]:
    """Every part with every seed, named by what varies.

    >>> [name for name, _, _ in name_repeats(["a", "b"], [0])]
    ['fold 1', 'fold 2']
    >>> [name for name, _, _ in name_repeats(["a"], [0, 1])]
    ['seed 0', 'seed 1']
    """
    if not parts or not seeds:
        raise DefinitionError("there is nothing to repeat", found=f"{len(parts)} parts, {len(seeds)} seeds")
    if len(set(seeds)) < len(seeds):
        raise DefinitionError("a seed is given twice", found=", ".join(map(str, seeds)))
    several = len(parts) > 1 or len(seeds) == 1
    made = [split_of(getattr(part, "how", {})) for part in parts]
    word = next((one.several for one in made if one and one.several and all(m is one for m in made)), "fold")
    named = []
    for number, part in enumerate(parts, 1):
        for seed in seeds:
            labels = ([f"{word} {number}"] if several else []) + ([f"seed {seed}"] if len(seeds) > 1 else [])
            named.append((", ".join(labels), part, seed))
    return named
