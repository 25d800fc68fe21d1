"""A small world of ratings, and how a system's lists are compared with those of the library it comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

import trueval as tv
from trueval.design.design import Design
from trueval.design.task import Task, make_tasks
from trueval.facts.from_scores import rank_system
from trueval.recommenders.protocol import TrainSet

USERS, ITEMS = 50, 35


def ratings(seed: int = 0, *, integers: bool = False) -> pl.DataFrame:
    """Ratings 1 to 5 with some structure; every user and every item has several."""
    rng = np.random.default_rng(seed)
    taste, kind = rng.random((USERS, 3)), rng.random((ITEMS, 3))
    chance = taste @ kind.T
    user, item = np.nonzero(rng.random((USERS, ITEMS)) < 0.5 * chance / chance.mean())
    value = np.clip(np.round(5 * chance[user, item] + rng.normal(0, 0.7, len(user))), 1, 5)
    name = (lambda letter, k: 1000 + k) if integers else (lambda letter, k: f"{letter}{k:02d}")
    rows = [(name("u", u), name("i", i), v) for u, i, v in zip(user.tolist(), item.tolist(), value.tolist())]
    return pl.DataFrame(rows, schema=["user", "item", "value"], orient="row")


def parts(seed: int = 0, *, integers: bool = False, values: bool = True) -> Any:
    """Train and test. The first two rows of every user stay in train, and so do those of every item."""
    log = ratings(seed, integers=integers)
    keep = (pl.int_range(pl.len()).over("user") < 2) | (pl.int_range(pl.len()).over("item") < 2)
    late = pl.int_range(pl.len()).shuffle(seed=seed).over("user") < 4
    log = log.with_columns(test=~keep & late)
    train, test = (log.filter(pl.col("test") == which).drop("test") for which in (False, True))
    if not values:
        train, test = train.drop("value"), test.drop("value")
    return tv.split(train, "given", test=test)


def world(design: str = "AR-AI-AN", **options: Any) -> tuple[TrainSet, Task]:
    """The train set and the task of a design."""
    return told(parts(**options), design)


def told(made: Any, design: str = "AR-AI-AN") -> tuple[TrainSet, Task]:
    [task] = make_tasks(made, Design.parse(design))
    return TrainSet(task.users, task.items, task.train, 0), task


def triples(train: TrainSet) -> list[tuple[Any, Any, float]]:
    """The train rows by id, as libraries take them."""
    users, items = train.users.decode(train.log.user), train.items.decode(train.log.item)
    assert train.log.value is not None
    return list(zip(users.to_list(), items.to_list(), train.log.value.tolist()))


def assert_same_lists(system: Any, task: Task, theirs: Callable[[Any], Sequence[Any]], *, k: int = 6) -> None:
    """Our lists of unseen items are the library's: the same scores at every rank, so the same items but for ties."""
    facts = rank_system(system, task, depth=k)
    assert len(facts.unit_user) > 30
    for unit, user in enumerate(facts.unit_user):
        ours = facts.list_item[facts.list_start[unit] : facts.list_start[unit + 1]]
        wanted = list(theirs(task.users.decode(np.array([user]))[0]))[:k]
        codes = task.items.codes(pl.Series(wanted))
        assert len(set(wanted)) == len(wanted) > 0
        assert (codes >= 0).all()
        scores = system.score(np.array([user]))[0]
        np.testing.assert_allclose(scores[ours[: len(codes)]], scores[codes], rtol=1e-5, atol=1e-6)
        if len(np.unique(np.round(scores, 4))) == len(scores):  # no ties: item by item
            assert ours[: len(codes)].tolist() == codes.tolist()


def with_strangers(made: Any) -> Any:
    """The parts, with an item and a user in test that nobody has seen before."""
    train, test = made.train.frame, made.test.frame
    columns = test.columns
    strange = pl.DataFrame([("u00", "i99", 5.0), ("u99", "i00", 5.0)], schema=columns, orient="row")
    return tv.split(train, "given", test=pl.concat([test, strange]))
