"""Every aspect metric against the naive oracle, through the public doors: runs, and systems under several designs."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from aspect_worlds import THRESHOLD, World, expected, specs, worlds
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import trueval as tv
from trueval.data.interactions import Interactions
from trueval.design.design import Design
from trueval.design.task import make_tasks
from trueval.errors import DefinitionError
from trueval.kernels import use_kernels
from trueval.splits.parts import Parts

SPECS = specs()


def check(world: World, found: pl.DataFrame, ranked: dict[str, list[str]], targets: dict[str, list[str]]) -> None:
    for row in found.iter_rows(named=True):
        user = row["user"]
        for spec in SPECS:
            wanted = expected(spec, world, user, ranked.get(user, []), targets[user])
            ours = np.nan if row[str(spec)] is None else row[str(spec)]
            assert ours == pytest.approx(wanted, rel=1e-11, abs=1e-13, nan_ok=True), (str(spec), user)


@pytest.mark.parametrize("catalogue", [True, False])
@settings(max_examples=15)
@given(data=st.data())
def test_runs(catalogue: bool, data: st.DataObject):
    world = data.draw(worlds(catalogue=catalogue))
    train, test = world.table(world.train), world.table(world.ratings)
    if not catalogue:  # aspects come with the train log, and say nothing about what can be recommended
        train = Interactions.of(train, items=world.item_table())
    with use_kernels(data.draw(st.sampled_from(["plain", "compiled"]))):
        result = tv.evaluate_run(
            world.run_table(), test, train=train, items=world.item_table() if catalogue else None, metrics=SPECS,
            threshold=THRESHOLD, population="judged", interval="none",
        )  # fmt: skip
    met = {item for own in [*world.lists.values(), *world.ratings.values()] for item in own}
    pool = world.catalogue if world.catalogue is not None else sorted(met)
    targets = {u: [i for i in pool if i not in world.train[u]] for u in world.ratings}
    check(world, result.per_user, world.lists, targets)


@pytest.mark.parametrize("design", ["AR-TI-AN", "AR-AI-AN", "AR-AI-AN-seen", "AR-AI-NN1", "AR-AI-AN-condensed"])
@settings(max_examples=8)
@given(data=st.data())
def test_systems(design: str, data: st.DataObject):
    world = data.draw(worlds())
    side = world.item_table()
    logs = [Interactions.of(world.table(part), items=side) for part in (world.train, world.ratings)]
    parts = Parts(*logs, how={"how": "given"})
    try:
        task = make_tasks(parts, Design.parse(design), threshold=THRESHOLD)[0]
    except DefinitionError:  # too few candidates to sample from
        reject()
    items, users = task.items.values.to_list(), task.users.values.to_list()
    scores = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(len(users) * len(items)).astype("f8")
    scores = scores.reshape(len(users), len(items))
    result = tv.evaluate(
        parts, {"s": tv.Scores(scores)}, design=design, metrics=SPECS, threshold=THRESHOLD, population="judged",
        interval="none",
    )  # fmt: skip
    ranked, targets = {}, {}
    for unit, code in enumerate(task.unit_user):
        user = users[code]
        if task.sample is not None:
            own = [items[i] for i in task.sample.item[task.sample.start[unit] : task.sample.start[unit + 1]]]
        else:
            seen = [] if "seen" in design else world.train[user]
            own = [items[i] for i in task.candidates if items[i] not in seen]
        if "condensed" in design:
            own = [item for item in own if item in world.ratings[user]]
        targets[user] = own
        ranked[user] = sorted(own, key=lambda item: -scores[code, items.index(item)])
    found = result.per_user.rename({name: name.split("|n=")[0] for name in result.per_user.columns})
    check(world, found, ranked, targets)
