"""Small worlds for audits: one with nothing planted, and lists written out by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from trueval.audit.audit import Audit, audit
from trueval.audit.finding import Finding

Lists = Mapping[int, Sequence[int]]


@dataclass(frozen=True)
class CleanWorld:
    """Train before test, items rated uniformly at random, systems that know the truth more or less well."""

    train: pl.DataFrame
    test: pl.DataFrame
    unbiased: pl.DataFrame
    users: pl.DataFrame
    recs: dict[str, pl.DataFrame]

    def audit(self, **options: Any) -> Audit:
        """The audit of its lists, with all that checks may ask for."""
        chosen = {"threshold": 4, "metrics": "ndcg@5", "by": "group", "users": self.users, **options}
        return audit(train=self.train, test=self.test, recs=self.recs, unbiased=self.unbiased, **chosen)


def clean_world(seed: int, *, users: int = 120, items: int = 50, rated: int = 24, depth: int = 10) -> CleanWorld:
    """Draw a world: tastes, a log whose pairs are missing at random, and the lists of four systems.

    `good` and `fair` know the truth with noise, `twin` as well as `fair`, `poor` hardly.
    """
    rng = np.random.default_rng(seed)
    taste = rng.standard_normal((users, 4)) @ rng.standard_normal((4, items)) / 2 + 0.5 * rng.standard_normal(items)
    shown = np.argsort(rng.random((users, items)), axis=1)
    value = np.clip(np.rint(3 + taste + 0.4 * rng.standard_normal(taste.shape)), 1, 5)

    def rows(places: slice, time: int) -> pl.DataFrame:
        item = shown[:, places]
        user = np.repeat(np.arange(users), item.shape[1])
        when = time + rng.integers(0, 1000, len(user))
        chosen = value[user, item.ravel()]
        return pl.DataFrame({"user": user, "item": item.ravel(), "value": chosen, "time": when})

    half, third = rated // 2, rated // 4
    train = rows(slice(0, half), 1_000_000)
    test, unbiased = (rows(slice(half + j * third, half + (j + 1) * third), 2_000_000) for j in (0, 1))
    known = np.zeros((users, items), bool)
    np.put_along_axis(known, shown[:, :half], True, axis=1)
    recs = {}
    for name, noise in (("good", 0.4), ("fair", 1.2), ("twin", 1.2), ("poor", 4.0)):
        score = np.where(known, -np.inf, taste + noise * rng.standard_normal(taste.shape))
        top = np.argsort(-score, axis=1)[:, :depth]
        recs[name] = pl.DataFrame({
            "user": np.repeat(np.arange(users), depth), "item": top.ravel(),
            "score": np.take_along_axis(score, top, axis=1).ravel(),
        })  # fmt: skip
    groups = pl.DataFrame({"user": np.arange(users), "group": rng.choice(["a", "b"], users)})
    return CleanWorld(train, test, unbiased, groups, recs)


def ranked(lists: Lists) -> pl.DataFrame:
    """A run from lists by user."""
    rows = [(user, item, place) for user, own in lists.items() for place, item in enumerate(own, 1)]
    return pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")


def judged(rows: Iterable[tuple[int, ...]]) -> pl.DataFrame:
    """A log from rows of user, item, value and, where given, time."""
    data = list(rows)
    return pl.DataFrame(data, schema=["user", "item", "value", "time"][: len(data[0])], orient="row").cast(
        {"value": pl.Float64}
    )


def one(found: Audit, check: str) -> Finding:
    """The only finding of a check."""
    (finding,) = found[check]
    return finding
