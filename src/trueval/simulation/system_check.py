"""Whether a world tells systems apart as its log does, on rows that the world was not fitted to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trueval.comparison.tau import taus
from trueval.data.exported_tables import Tabular
from trueval.data.interactions import Interactions
from trueval.evaluation.evaluate_systems import conclude_split, measure_system, prepare_split, rank_tasks
from trueval.evaluation.options import EvaluationOptions
from trueval.metrics.grammar import parse
from trueval.progress import hushed
from trueval.recommenders.registry import make_system
from trueval.render.numbers import decimal, rounded
from trueval.render.shown import Shown
from trueval.render.terminal import plain_table, printed
from trueval.simulation.log_shape import spectrum_share
from trueval.simulation.observation import ByPopularity
from trueval.simulation.periods import ByPeriods, TimesInPeriods
from trueval.splits import split
from trueval.splits.parts import Parts

if TYPE_CHECKING:
    from trueval.simulation.world import World

POPULARITY = "popularity"
WITH_RATINGS = (POPULARITY, "average", "itemknn", "userknn", "puresvd", "plsa")
WITHOUT = (POPULARITY, "random", "itemknn", "userknn", "puresvd", "plsa")
DESIGNS = ("AR-TI-AN", "1R-TI-AN", "1R-TI-NN{}")
_SAMPLED = 100  # non-relevant items of sampled designs, or a third of the catalogue
METRIC = "ndcg@10"
HELD_OUT = 0.2  # of the rows, to which the world is not fitted
_SURE = 2.58  # standard errors: 99 % of equal systems are nearer


@dataclass(frozen=True)
class SystemCheck(Tabular, Shown):
    """Values of systems in a log and in a world that was fitted to another part of it, by design.

    `reversals` are two systems of which the first is significantly above the second in the log and not above it in the
    world under a design, where that is more than chance (differences between the two systems, paired over users, and
    between log and world: two-sided 99 %).
    """

    systems: tuple[str, ...]
    designs: tuple[str, ...]
    metric: str
    data: np.ndarray  # designs × systems
    world: np.ndarray
    reversals: tuple[tuple[str, str, str], ...]  # design, first, second
    spectrum: tuple[float, float]  # share of the top ten singular values beyond margins, in the log and the world

    @property
    def tau(self) -> np.ndarray:
        """Kendall's τ-b between the orders of the systems in the log and in the world, by design."""
        return taus(self.data, self.world)[0]

    def rows(self) -> list[tuple[str, float, float]]:
        """Properties of both: popularity, leads of the others over it, and the share of the top singular values."""
        found = [("held out: share of the top ten singular values", *self.spectrum)]
        base = self.systems.index(POPULARITY) if POPULARITY in self.systems else None
        for at, design in enumerate(self.designs):
            for place, name in enumerate(self.systems):
                data, world = float(self.data[at, place]), float(self.world[at, place])
                if base is None or place == base:
                    found.append((f"held out: {name}, {design} {self.metric}", data, world))
                else:
                    ahead = data - float(self.data[at, base]), world - float(self.world[at, base])
                    found.append((f"held out: {name} over popularity, {design} {self.metric}", *ahead))
        return found

    def table(self) -> pl.DataFrame:
        """One row per design and system: the metric in the log and in the world."""
        rows = [
            (design, name, self.metric, float(self.data[at, place]), float(self.world[at, place]))
            for at, design in enumerate(self.designs)
            for place, name in enumerate(self.systems)
        ]
        schema = {
            "design": pl.String,
            "system": pl.String,
            "metric": pl.String,
            "data": pl.Float64,
            "world": pl.Float64,
        }
        return pl.DataFrame(rows, schema=schema, orient="row")

    def __str__(self) -> str:
        names = [name for name in self.systems if name != POPULARITY]
        lines = []
        for at, design in enumerate(self.designs):
            for word, values in (("data", self.data[at]), ("world", self.world[at])):
                own = dict(zip(self.systems, values.tolist()))
                base = own.get(POPULARITY, 0.0)
                tau = "" if word == "data" else rounded(float(self.tau[at]))
                first = [decimal(base)] if POPULARITY in own else []
                lines.append([design, word, *first, *(_signed(own[name] - base) for name in names), tau])
        first = [POPULARITY] if POPULARITY in self.systems else []
        head = ["design", "", *first, *names, "τ of both orders"]
        title = (
            f"{self.metric} of popularity, and how far others are ahead of it, on rows that the world was not fitted to"
        )
        text = printed(plain_table(head, lines, align="ll", title=title))
        return text + "".join(f"{line}\n" for line in self.sentences())

    def sentences(self) -> list[str]:
        """Where the world orders systems otherwise than the log, by more than chance."""
        return [
            f"{design} {self.metric}: {first} is above {second} in the data, and not in the world."
            for design, first, second in self.reversals
        ]


def check_systems(
    log: Interactions, fit: Callable[[Interactions], World], *, systems: Mapping[str, str] | None = None,
    designs: Sequence[str] | None = None, metric: str = METRIC, seed: int = 0,
) -> SystemCheck:  # fmt: skip
    """Fit a world to four fifths of a log; compare systems on the rest of the log, and on as much of the world's.

    Parameters
    ----------
    log : Interactions
        The log.
    fit : function
        Makes a world of a log.
    systems : mapping from names to systems, optional
        Default: six usual ones.
    designs : list of text, optional
        Under which systems are measured. Default: AR, 1R and 1R-NN100 (with fewer items in small catalogues).
    metric : text
        By which they are measured.
    seed : int
        Seed of both splits and of the systems.

    Returns
    -------
    SystemCheck
        Values of both.
    """
    rated = log.has("value") and log.frame["value"].n_unique() > 1
    log = log.keep(log.frame.unique(["user", "item"], keep="last", maintain_order=True))
    named = systems or {name: name for name in (WITH_RATINGS if rated else WITHOUT)}
    if designs is None:
        designs = [one.format(min(_SAMPLED, max(1, log.n_items // 3))) for one in DESIGNS]
    with hushed():
        parts = _parts(log, seed)
        world = denser(fit(parts.train), len(log) / len(parts.train))
        made = world.log if log.has("value") else world.log.keep(world.log.frame.drop("value"))
        sides = [(parts, log), (_parts(made, seed), made)]
        threshold = world.threshold if log.has("value") else None
        found = [_values(own, named, designs, metric, threshold, seed) for own, _ in sides]
        spectrum = tuple(spectrum_share(whole) for _, whole in sides)
    means = [np.array([[np.nanmean(own) for own in values] for values in one]) for one in found]
    sign = -1.0 if parse(metric).better == "lower" else 1.0
    reversals = _reversals(list(named), designs, [[sign * np.array(own) for own in one] for one in found])
    return SystemCheck(tuple(named), tuple(designs), metric, means[0], means[1], reversals, (spectrum[0], spectrum[1]))


def denser(world: World, factor: float) -> World:
    """The same world with so many times as many rows, where probabilities are not cut."""
    seen, times = world.seen, world.times
    if isinstance(seen, ByPeriods):
        activities = seen.activities * factor
        seen = replace(seen, activities=activities)
        if isinstance(times, TimesInPeriods):
            times = replace(times, activities=activities)
    elif isinstance(seen, ByPopularity):
        seen = replace(seen, activity=seen.activity * factor)
    return replace(world, seen=seen, times=times, drawn=None, fit=None)


def _parts(log: Interactions, seed: int) -> Parts:
    made = split(log, "holdout", ratio=HELD_OUT, seed=seed)
    assert isinstance(made, Parts)
    return made


def _values(
    parts: Parts, systems: Mapping[str, str], designs: Sequence[str], metric: str, threshold: float | None, seed: int
) -> list[list[np.ndarray]]:
    """The value of every user, by design and system; each system is fitted once."""
    options = EvaluationOptions(metrics=metric, threshold=threshold, interval="none", seed=seed)
    splits = [prepare_split(parts, options, design=design) for design in designs]
    found: list[list[np.ndarray]] = [[] for _ in designs]
    for name, spec in systems.items():
        fitted: Any = make_system(spec, test=parts.test).fit(splits[0].train)
        for own, of_design in zip(splits, found):
            facts = rank_tasks(fitted, own.tasks, own.design, depth=own.depth, ties=options.ties, name=name)
            measured = measure_system(facts, own, first=True, where=name, notes=[], description={})
            result = conclude_split(own, {name: measured}).systems[name]
            (values,) = result.values.values()  # sampled designs name the metric in their way
            known = np.isfinite(values)
            user = result.unit_user[known]
            number = np.bincount(user, minlength=len(own.train.users))
            with np.errstate(invalid="ignore"):
                of_design.append(np.bincount(user, values[known], minlength=len(number)) / number)
    return found


def _reversals(
    names: Sequence[str], designs: Sequence[str], found: Sequence[Sequence[np.ndarray]]
) -> tuple[tuple[str, str, str], ...]:
    """Pairs of systems of which one is above the other in the data and not in the world, by more than chance."""
    reversed_pairs = []
    for at, design in enumerate(designs):
        for first, one in enumerate(names):
            for second, other in enumerate(names):
                data, world = (_apart(values[at][first], values[at][second]) for values in found)
                sure = data[0] > _SURE * data[1] and data[0] - world[0] > _SURE * np.hypot(data[1], world[1])
                if sure and world[0] <= 0:
                    reversed_pairs.append((design, one, other))
    return tuple(reversed_pairs)


def _apart(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """The mean difference over users, and its standard error."""
    difference = one - other
    difference = difference[np.isfinite(difference)]
    if len(difference) < 2:
        return 0.0, np.inf
    return float(difference.mean()), float(difference.std(ddof=1)) / np.sqrt(len(difference))


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
