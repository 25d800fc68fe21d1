"""Audits of worlds with nothing planted: lists and fitted systems, of many sizes and sparsities.

An estimate that speaks in one of them is a false alarm, and a fact that does is a defect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import trueval as tv
from planted_worlds import METRIC, TEST, TRAIN, Generator, PlantedWorld
from trueval.audit.audit import Audit

SIZES = ((60, 40), (120, 60), (200, 80), (400, 50), (300, 120))  # users and items
ROWS = (8, 14, 20)  # ratings per user, on average
NOISES = {"good": 0.5, "fair": 1.5, "twin": 1.5, "poor": 3.0}
LEARNED = ("average", "average[mu=20]", "mf_rmse[factors=5]", "random")


@dataclass(frozen=True)
class Clean:
    """One kind of clean audit; a world of each size and sparsity in turn."""

    name: str
    audit: Callable[[PlantedWorld], Audit]

    def of(self, generator: Generator, seed: int) -> Audit:
        """The audit of one world."""
        users, items = SIZES[seed % len(SIZES)]
        rows = ROWS[seed // len(SIZES) % len(ROWS)]
        world = generator.clean(seed + OTHER, users=users, items=items, rows=rows / generator.per_user)
        return self.audit(world)


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
    recs = {name: world.lists(world.oracle(1.5, at)) for at, name in enumerate(("first", "second", "third"))}
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


CLEAN = (Clean("lists", lists), Clean("lists of equal systems", equal), Clean("fitted systems", fitted),
         Clean("systems with scores", scored))  # fmt: skip


def false_alarms(audit: Audit) -> tuple[list[str], list[str]]:
    """Checks that spoke in a clean world: by estimates, and by facts."""
    spoke = [one for one in audit.findings if one.verdict in ("wrong", "caution")]
    kinds = np.array([one.kind for one in spoke])
    names = np.array([one.check for one in spoke])
    return names[kinds == "estimate"].tolist(), names[kinds == "fact"].tolist()
