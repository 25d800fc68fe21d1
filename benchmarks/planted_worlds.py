"""Worlds for the operating figures of the audit: nothing planted, and everything known.

A clean world observes every pair with a chance that depends on neither the item nor its value (gamma = 0, value_bias =
0), tastes do not drift, times and groups are drawn apart from all else, and train comes before test. Systems are
oracles that know the means of all pairs with more or less noise. Development and reporting worlds differ in seeds and
in parameters: strengths and checks were tuned on the first alone. What was tuned again after a look at reporting worlds
is reported on a second set of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

import trueval as tv

METRIC = "ndcg@10"
DEPTH = 20  # of lists
TRAIN, TEST, END = 1_000_000, 2_000_000, 3_000_000  # begin of the train rows, of the test rows, and the end


@dataclass(frozen=True)
class Generator:
    """A named set of worlds: the sizes that alternate, how worlds are drawn, and where seeds begin."""

    name: str
    users: tuple[int, ...]
    items: int
    per_user: float
    held_out: float
    options: Mapping[str, Any]
    first_seed: int

    def clean(
        self, seed: int, *, kind: str = "world", users: int = 0, items: int = 0, rows: float = 1.0, **observed: Any
    ) -> PlantedWorld:
        """A world, of its own size unless told otherwise, with so many times its usual `rows`.

        `observed` are options of the world by which something is planted in how it is observed.
        """
        number = users or self.users[seed % len(self.users)]
        chosen = {"gamma": 0.0, "value_bias": 0.0, "drift": 0.0, **self.options, **observed}
        if kind == "world":
            chosen = {"alignment": 0.0, **chosen}
        own, ratings = self.first_seed + seed, round(number * self.per_user * rows)
        world = tv.simulate(kind, users=number, items=items or self.items, ratings=ratings, seed=own, **chosen)
        return PlantedWorld.of(world, self.held_out, own)


DEVELOPMENT = Generator(
    "development", users=(280, 340, 400), items=60, per_user=26, held_out=0.45,
    options={"genres": 6, "noise": 0.7, "taste": 1.0}, first_seed=0,
)  # fmt: skip
REPORTING = Generator(
    "reporting", users=(260, 330, 390), items=70, per_user=31, held_out=0.42,
    options={"genres": 9, "noise": 0.6, "taste": 1.1}, first_seed=1_000_000,
)  # fmt: skip
SECOND = Generator(
    "second reporting", users=(270, 350, 410), items=64, per_user=28, held_out=0.4,
    options={"genres": 7, "noise": 0.65, "taste": 1.05}, first_seed=2_000_000,
)  # fmt: skip
GENERATORS = {one.name: one for one in (DEVELOPMENT, REPORTING, SECOND)}


@dataclass(frozen=True)
class PlantedWorld:
    """A world, its log in two parts, and generators of all that is drawn besides."""

    world: tv.World
    train: pl.DataFrame
    test: pl.DataFrame
    seed: int

    @staticmethod
    def of(world: tv.World, held_out: float, seed: int) -> PlantedWorld:
        """Split by chance for each user; all train rows are then put before all test rows."""
        parts = tv.split(world.log, "holdout", ratio=held_out, by="user", seed=seed)
        rng = np.random.default_rng([seed, 1])
        train, test = (
            part.frame.select("user", "item", "value", time=pl.Series(rng.integers(begin, end, len(part.frame))))
            for part, begin, end in ((parts.train, TRAIN, TEST), (parts.test, TEST, END))
        )
        return PlantedWorld(world, train, test, seed)

    def changed(self, **parts: pl.DataFrame) -> PlantedWorld:
        """The same with another train or test part."""
        return replace(self, **parts)

    def rng(self, purpose: int) -> np.random.Generator:
        """A generator of its own for each purpose."""
        return np.random.default_rng([self.seed, 100 + purpose])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.world.users), len(self.world.items)

    @cached_property
    def every(self) -> tuple[np.ndarray, np.ndarray]:
        """Codes of all users, as a column, and of all items."""
        users, items = self.shape
        return np.arange(users)[:, None], np.arange(items)

    @cached_property
    def means(self) -> np.ndarray:
        """The mean of every pair, in standard deviations."""
        found = self.world.tastes.means(*self.every).astype(np.float64)
        return (found - found.mean()) / found.std()

    @cached_property
    def ratings(self) -> np.ndarray:
        """The rating of every pair, observed or not."""
        return self.world.tastes.ratings(*self.every)

    @property
    def liked(self) -> np.ndarray:
        return self.ratings >= self.world.threshold

    def mask(self, rows: pl.DataFrame) -> np.ndarray:
        """Which pairs some rows have."""
        found = np.zeros(self.shape, bool)
        found[self.world.codes_of(rows)] = True
        return found

    def codes_of_users(self, rows: pl.DataFrame) -> np.ndarray:
        """Codes of the users of some rows."""
        return self.world.codes_of(rows)[0]

    def oracle(self, noise: float, purpose: int) -> np.ndarray:
        """Scores that know the means with noise of so many standard deviations."""
        return self.means + noise * self.noise(purpose)

    def noise(self, purpose: int) -> np.ndarray:
        """Scores that know nothing."""
        return self.rng(purpose).standard_normal(self.shape)

    def lists(self, scores: np.ndarray, *, depth: int = DEPTH, seen: bool = False) -> pl.DataFrame:
        """The best items of each user, without those of train unless `seen`."""
        shown = scores if seen else np.where(self.mask(self.train), -np.inf, scores)
        top = np.argsort(-shown, axis=1, kind="stable")[:, :depth]
        frame = pl.DataFrame({
            "user": self.world.users.decode(np.repeat(np.arange(len(top)), top.shape[1])),
            "item": self.world.items.decode(top.ravel()), "score": np.take_along_axis(shown, top, axis=1).ravel(),
        })  # fmt: skip
        return frame.filter(pl.col("score").is_finite())

    def system(self, scores: np.ndarray) -> tv.Scores:
        """Scores as a system that can be ranked under any design."""
        return tv.Scores(scores, user_ids=self.world.users.values, item_ids=self.world.items.values)

    def groups(self, purpose: int) -> pl.DataFrame:
        """Two groups of users that have nothing to do with anything."""
        drawn = self.rng(purpose).choice(["a", "b"], self.shape[0])
        return pl.DataFrame({"user": self.world.users.values, "group": drawn})

    # ---- what the reader sees, and what is true ----------------------------------------------------------------------

    def values(self, recs: Mapping[str, pl.DataFrame], test: pl.DataFrame | None = None, **options: Any) -> dict:
        """nDCG@10 of lists on a test part, as the reader has it."""
        chosen = {"threshold": self.world.threshold, "interval": "none", **options}
        found = tv.evaluate_run(dict(recs), self.test if test is None else test, metrics=METRIC, **chosen)
        return {name: found[name, METRIC].value for name in recs}

    def true_values(self, recs: Mapping[str, pl.DataFrame]) -> dict[str, float]:
        """nDCG@10 of lists on the complete ratings of all pairs that are not in train."""
        log = self.world.log.keep(self.train)
        rows = self.world.truths(dict(recs), METRIC, train=log)
        return dict(zip(rows["system"], rows["value"]))

    def parts(self) -> tv.Parts:
        """Both parts, for systems that are fitted or ranked."""
        log = self.world.log
        return tv.Parts(log.keep(self.train), log.keep(self.test), how={"how": "given"})
