"""Audits of worlds with nothing planted: lists and fitted systems, of many sizes and sparsities.

An estimate that speaks in one of them is a false alarm, and a fact that does is a defect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

import trueval as tv
from planted_worlds import METRIC, TEST, TRAIN, Generator, PlantedWorld
from trueval.audit.audit import Audit

SIZES = ((60, 40), (120, 60), (200, 80), (400, 50), (300, 120))  # users and items
ROWS = (8, 14, 20)  # ratings per user, on average
NOISES = {"good": 0.5, "fair": 1.5, "twin": 1.5, "poor": 3.0}
LEARNED = ("average", "average[mu=20]", "mf_rmse[factors=5]", "random")


# What decides whether a rating is observed: nothing but how active its user is, the rating itself, or activity that
# differs a lot more. Orders as evaluated are right in all of them.
OBSERVED = ("independent", "value-driven", "activity-driven")
VALUE_BIAS = 1.0  # each level below the best rating makes a row less likely by the factor 1/e
ACTIVITY = 1.0  # standard deviation of the logarithm by which rows of a user are thinned


@dataclass(frozen=True)
class Clean:
    """One kind of clean audit; a world of each size and sparsity in turn."""

    name: str
    audit: Callable[[PlantedWorld], Audit]
    observed: str = OBSERVED[0]

    def of(self, generator: Generator, seed: int) -> Audit:
        """The audit of one world."""
        users, items = SIZES[seed % len(SIZES)]
        rows = ROWS[seed // len(SIZES) % len(ROWS)] / generator.per_user
        size = {"users": users, "items": items}
        if self.observed == "value-driven":
            return self.audit(generator.clean(seed + OTHER, **size, rows=rows, value_bias=VALUE_BIAS))
        if self.observed == "activity-driven":
            return self.audit(thinned(generator.clean(seed + OTHER, **size, rows=rows)))
        return self.audit(generator.clean(seed + OTHER, **size, rows=rows))

    def by(self, observed: str) -> Clean:
        """The same in worlds that are observed in another way."""
        return replace(self, name=f"{self.name}, {observed}", observed=observed)


def thinned(world: PlantedWorld) -> PlantedWorld:
    """Rows of each user are kept by chance, with a chance of the user's own; half of the users keep all."""
    drawn = np.exp(ACTIVITY * world.rng(7).standard_normal(world.shape[0]))
    chance = np.minimum(1.0, drawn / np.median(drawn))
    parts = {}
    for at, name in enumerate(("train", "test")):
        rows = getattr(world, name)
        coin = np.random.default_rng([world.seed, 70 + at]).random(len(rows))
        parts[name] = rows.filter(pl.Series(coin < chance[world.codes_of_users(rows)]))
    return world.changed(**parts)


OTHER = 500_000  # added to seeds: clean worlds are none of those in which faults are planted


def lists(world: PlantedWorld) -> Audit:
    """Lists of four systems, two of which know as much; with all that checks may ask for."""
    recs = {name: world.lists(world.oracle(noise, at)) for at, (name, noise) in enumerate(NOISES.items())}
    per_user = min(10, world.shape[1] // 4)
    drawn = world.world.sample(per_user=per_user, seed=world.seed).frame
    unbiased = drawn.join(world.train, on=["user", "item"], how="anti", maintain_order="left")
    return tv.audit(
        train=world.train, test=world.test, recs=recs, unbiased=unbiased, users=world.groups(9), by="group",
        threshold=4, metrics=METRIC, min_group=20, threads=1,
    )  # fmt: skip


def equal(world: PlantedWorld) -> Audit:
    """Lists of three systems that know as much: every order is noise, in every setting."""
    recs = {name: world.lists(world.oracle(0.7, at)) for at, name in enumerate(("first", "second", "third"))}
    return tv.audit(train=world.train, test=world.test, recs=recs, threshold=4, metrics=METRIC, threads=1)


def fitted(world: PlantedWorld) -> Audit:
    """Systems that are fitted, on a random split of a log whose times mean nothing."""
    rng = world.rng(8)
    train, test = (part.with_columns(time=rng.integers(TRAIN, TEST, len(part))) for part in (world.train, world.test))
    parts = world.changed(train=train, test=test).parts()
    return tv.audit(parts, list(LEARNED), threshold=4, metrics=METRIC, seed=world.seed, threads=1)


def scored(world: PlantedWorld) -> Audit:
    """Systems with given scores, ranked under designs, and an unbiased test."""
    systems = {name: world.system(world.oracle(noise, at)) for at, (name, noise) in enumerate(NOISES.items())}
    per_user = min(10, world.shape[1] // 4)
    drawn = world.world.sample(per_user=per_user, seed=world.seed)
    return tv.audit(world.parts(), systems, threshold=4, metrics=METRIC, unbiased=drawn, threads=1)


KINDS = (
    Clean("lists", lists), Clean("lists of equal systems", equal), Clean("fitted systems", fitted),
    Clean("systems with scores", scored),
)  # fmt: skip
CLEAN = (*KINDS, *(kind.by(observed) for observed in OBSERVED[1:] for kind in KINDS))


def false_alarms(audit: Audit) -> tuple[list[str], list[str]]:
    """Checks that spoke in a clean world: by estimates, and by facts."""
    spoke = [one for one in audit.findings if one.verdict in ("wrong", "caution")]
    kinds = np.array([one.kind for one in spoke])
    names = np.array([one.check for one in spoke])
    return names[kinds == "estimate"].tolist(), names[kinds == "fact"].tolist()
