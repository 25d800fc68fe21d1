"""Every aspect metric against the naive oracle, through the public doors: runs, and systems under several designs."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from aspect_worlds import GAINS, THRESHOLD, World, expected, specs, worlds
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import trueval as tv
from oracles import naive_aspects as naive
from trueval.data.interactions import Interactions
from trueval.design.design import Design
from trueval.design.task import make_tasks
from trueval.errors import DefinitionError
from trueval.kernels import use_kernels
from trueval.metrics.grammar import parse
from trueval.metrics.measure import measure
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


# ---- greedy ideals: ties in exact arithmetic -----------------------------------------------------------------

LETTERS = "abcd"


@st.composite
def tied_worlds(draw: st.DrawFn) -> World:
    """One user who rated everything; ratings and sets such that sums of gains meet all the time: 3 · 1/5 is 3/5."""
    items = [f"i{j}" for j in range(draw(st.integers(3, 8)))]
    sets = st.lists(st.sampled_from(LETTERS), unique=True, min_size=1, max_size=4).map(sorted)
    aspects = {item: draw(sets) for item in items}
    ratings = {item: float(draw(st.sampled_from([1, 2, 3, 4, 5]))) for item in items}
    order = draw(st.permutations(items))
    return World(aspects, {"u": order}, {"u": ratings}, {}, items)


GREEDY = [
    f"{name}@{k}[{how}]"
    for k in (3, 8)
    for name, how in (
        *(("alpha_ndcg", f"alpha={a},gain={gain}") for a in (0.3, 0.5, 0.7) for gain in GAINS),
        *(("abndcg", f"alpha={a},beta={b},profile=test") for a, b in ((0.3, 1), (0.2, 0.5), (0.005, 0.7))),
    )
]


@pytest.mark.parametrize("kernels", ["plain", "compiled"])
@settings(max_examples=40)
@given(world=tied_worlds())
def test_ties_of_the_greedy_ideal_go_to_the_smaller_code(kernels: str, world: World):
    specs = [parse(word) for word in GREEDY]
    with use_kernels(kernels):
        result = tv.evaluate_run(
            world.run_table(), world.table(world.ratings), items=world.item_table(), metrics=specs, threshold=0,
            interval="none",
        )  # fmt: skip
    row = result.per_user.row(0, named=True)
    for spec in specs:
        ratings, how = world.ratings["u"], dict(spec.parameters)
        high, low = max(ratings.values()), min(ratings.values())
        if spec.metric.name == "abndcg":
            gamma = naive.interest(ratings, world.aspects, world.names())
            how = {"alpha": how["alpha"], "beta": how["beta"], "low": low, "high": high}
            wanted = naive.abndcg(world.lists["u"], ratings, world.aspects, ratings, gamma, spec.k, **how)
        else:
            form = {"alpha": how["alpha"], "form": how["gain"], "high": high}
            wanted = naive.alpha_ndcg(world.lists["u"], ratings, world.aspects, spec.k, **form)
        assert row[str(spec)] == pytest.approx(wanted, rel=1e-11), str(spec)


def test_three_fifths_are_three_times_a_fifth():
    """The gains of i3 (a, b and c, rated 1) and i2 (b, rated 3) are equal; sums of floats say that they are not."""
    names = [f"i{j}" for j in range(6)]
    ratings = dict(zip(names, [5, 3, 3, 1, 2, 5]))
    aspects = dict(zip(names, ["c", "a|b", "b", "a|b|c", "a|b|c", "b"]))
    shown = ["i5", "i0", "i4", "i1", "i3", "i2"]
    found = measure("alpha_ndcg@5[gain=graded]", shown, ratings, aspects=aspects)
    sets = {item: own.split("|") for item, own in aspects.items()}
    assert found == pytest.approx(naive.alpha_ndcg(shown, ratings, sets, 5, alpha=0.5, form="graded", high=5))
    assert found == pytest.approx(0.9939, abs=5e-5)  # as worked out in fractions by whoever found it
