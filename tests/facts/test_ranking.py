"""Facts of systems that score, on every axis of a design, against brute force; and what must not matter."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from fact_worlds import THRESHOLD, World, facts_of, make_world, possible_world, tasks_of, train_of, units_of, with_lists
from hypothesis import given, settings
from hypothesis import strategies as st

from trueval.design.design import Design
from trueval.design.task import make_tasks
from trueval.errors import DataError
from trueval.facts.from_scores import rank_system
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.scorer import Scorer, same_bits
from trueval.kernels import use_kernels, use_threads
from trueval.recommenders.baselines import Random
from trueval.recommenders.given import Factors, Function, Scores
from trueval.splits import split

DESIGNS = [
    "AR-TI-AN", "AR-AI-AN", "AR-LIST-AN", "AR-TI-AN-seen", "AR-AI-AN-head20", "AR-TI-AN-condensed",
    "AR-AI-NN2", "AR-TI-NN1", "AR-AI-NN2pop", "AR-LIST-NN2-seen", "AR-AI-NN1-head10",
    "1R-TI-AN", "1R-AI-NN2", "1R-AI-NN2pop", "1R-AI-NN2-resample", "1R-AI-NN1pop-resample-seen",
    "P1R2-AI-AN", "P1R3-AI-AN", "P1R2-AI-NN1", "P1R2-TI-AN-head10-seen", "P1R2-AI-NN1-resample",
]  # fmt: skip
ARRAYS = (
    "unit_user", "start", "item", "value", "relevant", "rank", "above", "tied", "list_start", "list_item", "targets",
    "splits", "score", "stratum", "pool",
)  # fmt: skip


def assert_same_facts(left: RankingFacts, right: RankingFacts) -> None:
    for name in ARRAYS:
        one, other = getattr(left, name), getattr(right, name)
        assert (one is None) == (other is None), name
        if one is not None:
            np.testing.assert_array_equal(one, other, err_msg=name)
            assert one.dtype == other.dtype
    assert left.users.values.equals(right.users.values)
    assert left.items.values.equals(right.items.values)


@pytest.mark.parametrize("name", DESIGNS)
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), strings=st.booleans(), as_given=st.booleans(), dtype=st.sampled_from(["f4", "f8"]))
def test_facts_are_what_brute_force_finds(name, seed, strings, as_given, dtype):
    design = Design.parse(name)
    world, samples = possible_world(seed, design, strings=strings, dtype=dtype)
    facts = facts_of(world, design, depth=4, ties="given" if as_given else "random")
    units = units_of(world, design, samples, given=as_given)
    assert len(facts) == len(units)
    # units of a user come in the order of their ranks in 1R; put both into the order of their items
    place = np.lexsort((facts.item[facts.start[:-1]], facts.unit_user)) if facts.one_relevant else np.arange(len(facts))
    if design.percentiles:
        place = np.lexsort((facts.item[facts.start[:-1]], facts.unit_user, facts.stratum))
    for u, unit in zip(place, units):
        check_unit(facts, int(u), unit, world)
    assert facts.exact
    assert facts.one_relevant == (design.relevant == "1R")


def check_unit(facts: RankingFacts, u: int, unit, world: World) -> None:
    assert facts.users.decode(facts.unit_user[u : u + 1])[0] == unit.user
    assert facts.targets[u] == len(unit.targets)
    assert facts.R[u] == len(unit.relevant)
    rows = slice(facts.start[u], facts.start[u + 1])
    items = facts.items.decode(facts.item[rows]).to_list()
    assert sorted(items) == sorted(unit.judged)
    scores = {item: world.score_of(unit.user, item) for item in unit.targets}
    for j, item in enumerate(items, start=rows.start):
        assert facts.value[j] == unit.judged[item]
        assert facts.relevant[j] == (item in unit.relevant)
        assert facts.score[j] == world.score_of(unit.user, item)
        if item not in scores:  # judged, but not sampled
            assert (facts.rank[j], facts.above[j], facts.tied[j]) == (0, 0, 0)
            continue
        assert facts.rank[j] == unit.ranked.index(item) + 1
        assert facts.above[j] == sum(score > scores[item] for score in scores.values())
        assert facts.tied[j] == sum(score == scores[item] for score in scores.values())
    ranks = [rank or 10**9 for rank in facts.rank[rows]]
    assert ranks == sorted(ranks)
    if unit.stratum is not None:
        assert facts.stratum[u] == unit.stratum
    if facts.pool is not None:
        assert facts.pool[u] == unit.pool
    if len(facts.list_item):
        shown = facts.list_item[facts.list_start[u] : facts.list_start[u + 1]]
        depth = len(unit.ranked) if facts.condensed else 4
        assert facts.items.decode(shown).to_list() == unit.ranked[:depth]


@pytest.mark.parametrize("name", ["AR-LIST-AN", "1R-LIST-AN", "AR-LIST-AN-head20", "AR-LIST-AN-seen"])
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_candidates_listed_user_by_user(name, seed):
    world = with_lists(make_world(seed), seed)
    facts = facts_of(world, name, depth=4)
    units = units_of(world, name, [{}])
    order = np.lexsort((facts.item[facts.start[:-1]], facts.unit_user)) if facts.one_relevant else range(len(facts))
    assert len(units) == len(facts)
    for u, unit in zip(order, units):
        check_unit(facts, int(u), unit, world)


def test_ties_at_the_cut_are_counted():
    world = make_world(4)
    facts = facts_of(world, "AR-TI-AN", depth=4)
    units = units_of(world, "AR-TI-AN", [{}])
    for k in range(1, 5):
        split = sum(
            len(unit.ranked) > k
            and world.score_of(unit.user, unit.ranked[k - 1]) == world.score_of(unit.user, unit.ranked[k])
            for unit in units
        )
        assert facts.splits[k - 1] == split
        assert facts.tie_rate(k) == split / len(units)
    assert facts.splits.sum() > 0


@pytest.mark.parametrize("name", ["AR-TI-AN", "1R-AI-NN2-resample", "P1R2-AI-NN1pop"])
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), shuffle=st.integers(0, 100))
def test_the_order_of_rows_does_not_matter(name, seed, shuffle):
    world, _ = possible_world(seed, Design.parse(name))
    assert_same_facts(facts_of(world, name), facts_of(world, name, shuffle=shuffle))


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_names_of_users_and_items_do_not_matter(seed):
    world = make_world(seed, levels=None)
    rng = np.random.default_rng(seed)
    people, things = ([*rng.permutation(len(names))] for names in (world.users, world.items))
    user = {name: f"p{people[j]}" for j, name in enumerate(world.users)}
    item = {name: 7 * int(things[j]) - 20 for j, name in enumerate(world.items)}
    renamed = World(
        {(user[u], item[i]): v for (u, i), v in world.train.items()},
        {(user[u], item[i]): v for (u, i), v in world.test.items()},
        sorted(user.values()), sorted(item.values()), np.zeros_like(world.scores), world.seed,
    )  # fmt: skip
    for u, name in enumerate(world.users):
        for i, thing in enumerate(world.items):
            renamed.scores[renamed.users.index(user[name]), renamed.items.index(item[thing])] = world.scores[u, i]
    found = []
    for one, who, what in ((world, user, item), (renamed, None, None)):
        facts = facts_of(one, "AR-AI-AN")
        rows = [facts.users.decode(facts.unit_user[facts.unit]).to_list(), facts.items.decode(facts.item).to_list()]
        if who is not None and what is not None:
            rows = [[who[x] for x in rows[0]], [what[x] for x in rows[1]]]
        found.append(sorted(zip(*rows, facts.rank.tolist(), facts.value.tolist())))
    assert found[0] == found[1]


def bigger_task(design: str, *, users: int = 150, items: int = 220):
    """Enough users for several blocks of several sizes."""
    rng = np.random.default_rng(8)
    pairs = pl.DataFrame({"user": rng.integers(0, users, 6000), "item": rng.integers(0, items, 6000)}).unique()
    pairs = pairs.sort("user", "item").with_columns(value=pl.Series(rng.integers(1, 6, len(pairs))))
    held = pl.Series(rng.random(len(pairs)) < 0.3)
    parts = split(pairs.filter(~held), "given", test=pairs.filter(held))
    task = make_tasks(parts, Design.parse(design), threshold=THRESHOLD, seed=3)[0]
    return task, train_of(task)


def a_system(kind: str, shape: tuple[int, int]):
    rng = np.random.default_rng(2)
    dtype = np.float64 if kind.endswith("64") else np.float32
    if kind.startswith("factors"):
        return Factors(
            rng.standard_normal((shape[0], 40)).astype(dtype), rng.standard_normal((shape[1], 40)).astype(dtype)
        )
    if kind == "ties":
        return Scores(rng.integers(0, 5, shape))
    return Random(seed=5)


@pytest.mark.parametrize("design", ["AR-TI-AN", "AR-AI-NN30", "1R-AI-NN20pop-resample"])
@pytest.mark.parametrize("kind", ["factors32", "factors64", "ties", "random"])
def test_blocks_threads_and_kernels_change_nothing(design, kind):
    task, train = bigger_task(design)
    system = a_system(kind, (len(train.users), len(train.items))).fit(train)
    with use_threads(1), use_kernels("compiled"):
        whole = rank_system(system, task, depth=10, block=10**6)
    for block, number, kernels in ((1, 2, "compiled"), (7, 3, "compiled"), (64, 2, "plain"), (100, 1, "compiled")):
        with use_threads(number), use_kernels(kernels):
            assert_same_facts(whole, rank_system(system, task, depth=10, block=block))
    shallow = rank_system(system, task, depth=3)
    np.testing.assert_array_equal(shallow.rank, whole.rank)
    np.testing.assert_array_equal(shallow.list_item, whole.list_item[whole.place <= 3])


def test_factors_score_what_their_product_scores():
    task, train = bigger_task("AR-TI-AN")
    system = a_system("factors64", (len(train.users), len(train.items))).fit(train)
    product = Scores(system.users @ system.items.T).fit(train)
    np.testing.assert_array_equal(rank_system(system, task).rank, rank_system(product, task).rank)


@pytest.mark.parametrize("design", ["AR-AI-AN", "AR-TI-AN", "AR-AI-NN30"])
@pytest.mark.parametrize("large", [0, 10**9])
def test_factors_of_large_and_small_catalogues_score_the_same(monkeypatch, design, large):
    """They lie in memory differently; whole numbers, whose products no order of adding up can change."""
    monkeypatch.setattr("trueval.facts.scorer.LARGE_PRODUCT", large)
    task, train = bigger_task(design)
    rng = np.random.default_rng(4)
    users, items = (rng.integers(-9, 9, (n, 5)).astype("f4") for n in (len(train.users), len(train.items)))
    exact = rank_system(Scores(users @ items.T).fit(train), task, depth=7)
    assert_same_facts(rank_system(Factors(users, items).fit(train), task, depth=7), exact)
    assert_same_facts(rank_system(Factors(users, np.asfortranarray(items)).fit(train), task, depth=7), exact)


@pytest.mark.parametrize("design", ["AR-AI-AN", "AR-AI-NN30", "1R-AI-NN20"])
@pytest.mark.parametrize("kind", ["factors32", "factors64"])
@pytest.mark.parametrize("items", [64, 220, 3001])
def test_products_of_more_rows_change_nothing(monkeypatch, design, kind, items):
    """Whether this machine's products of more rows have the same bits, or not: then they are not taken."""
    task, train = bigger_task(design, users=600, items=items)
    system = a_system(kind, (len(train.users), len(train.items))).fit(train)
    narrow = rank_system(system, task, depth=10)  # for so few users nothing is tried
    monkeypatch.setattr("trueval.facts.scorer.TRIED_FOR", 1)
    for block in (64, 100, 256, 10**6):
        assert_same_facts(rank_system(system, task, depth=10, block=block), narrow)


@pytest.mark.parametrize(
    ("users", "block", "scores", "same", "rows"),
    [
        (300, 256, 10**9, True, 256),  # as many as there may be
        (300, 256, 10**9, False, 64),  # other bits
        (300, 255, 10**9, True, 128),  # products and blocks begin together
        (300, 63, 10**9, True, 64),
        (200, 256, 10**9, True, 128),  # too few users for a trial
        (300, 256, 2 * 4 * 200 * 220, True, 128),  # scores of two workers that take too much memory
        (300, 256, 1, True, 64),
    ],
)
def test_products_have_more_rows_where_that_pays(monkeypatch, users, block, scores, same, rows):
    task, train = bigger_task("AR-AI-AN", users=users)
    assert (len(task.candidates), len(task.unit_user)) == (220, users)
    system = a_system("factors32", (len(train.users), len(train.items))).fit(train)
    for name, value in (("TRIED_FOR", 1), ("MOST_SCORES", scores), ("same_bits", lambda *_: same)):
        monkeypatch.setattr(f"trueval.facts.scorer.{name}", value)
    scorer = Scorer(system, task)
    with use_threads(2):
        scorer.widen(block)
    assert scorer.rows == rows


def test_products_of_other_bits_are_noticed(monkeypatch):
    factors = np.random.default_rng(1).standard_normal((40, 301)).astype("f4")
    real = np.matmul

    def other_last_item(left, right, out):
        real(left, right, out=out)
        out[-1, -1] = np.nextafter(out[-1, -1], np.float32(9))
        return out

    monkeypatch.setattr("trueval.facts.scorer.np.matmul", other_last_item)
    assert not same_bits(128, factors)


@pytest.mark.parametrize("kinds", [("f8", "f4"), ("f4", "f8"), ("i4", "i8"), ("f2", "f2")])
def test_factors_may_be_of_any_numbers(kinds):
    task, train = bigger_task("AR-AI-AN")
    rng = np.random.default_rng(1)
    made = [rng.integers(-9, 9, (n, 5)) / (8 if kind[0] == "f" else 1) for n, kind in
            zip((len(train.users), len(train.items)), kinds)]  # fmt: skip
    system = Factors(*(matrix.astype(kind) for matrix, kind in zip(made, kinds))).fit(train)
    exact = Scores(made[0] @ made[1].T).fit(train)
    np.testing.assert_array_equal(rank_system(system, task).rank, rank_system(exact, task).rank)


@pytest.mark.parametrize("k", [None, 0, 1, 3, 5, 100])
def test_rows_within_a_cutoff_of_lists_of_any_length(k):
    length = np.array([0, 5, 2, 0, 3, 4])
    task, train = bigger_task("AR-AI-AN")
    facts = rank_system(Random(seed=5).fit(train), task)
    start = np.concatenate([[0], np.cumsum(length)])
    lists = facts.changed(unit_user=facts.unit_user[:6], list_start=start, list_item=facts.list_item[: start[-1]])
    inside = [place < (k if k is not None else 100) for size in length for place in range(size)]
    assert lists.top(k).tolist() == inside


def test_everybody_can_be_ranked_for():
    world = make_world(2)
    task = tasks_of(world, Design(), everyone=True)[0]
    fitted = Scores(world.scores).fit(train_of(task))
    facts = rank_system(fitted, task, depth=3)
    assert len(facts) == len(world.users)
    assert np.diff(facts.start)[0] == 0  # the first user is never tested
    assert facts.length[0] > 0


def test_candidates_may_be_the_first_items_and_train_items_lie_behind_them():
    # the tested items are codes 0 to 2; what was seen has higher codes and is nobody's target
    train = {("a", "x"): 5.0, ("a", "y"): 5.0, ("b", "y"): 1.0}
    test = {("a", "i"): 5.0, ("b", "j"): 5.0, ("b", "k"): 1.0}
    items = ["i", "j", "k", "x", "y"]
    scores = np.array([[1, 2, 3, 9, 9], [3, 2, 1, 9, 9]], np.float32)
    world = World(train, test, ["a", "b"], items, scores)
    for kernels in ("plain", "compiled"):
        with use_kernels(kernels):
            facts = facts_of(world, "AR-TI-AN")
        assert facts.targets.tolist() == [3, 3]
        assert facts.rank.tolist() == [3, 2, 3]


@pytest.mark.parametrize(("wrong", "told"), [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.parametrize("design", ["AR-AI-AN", "AR-AI-NN1"])
def test_scores_that_are_not_finite_are_refused(wrong, told, design):
    world = make_world(3)
    with pytest.raises(DataError, match=f"not a finite number[^$]*{told}") as caught:
        facts_of(world, design, system=Function(lambda users: np.full((len(users), len(world.items)), wrong)))
    assert caught.value.do


def test_the_user_with_a_wrong_score_is_named():
    world = make_world(3)
    world.scores[2, 0] = np.nan
    with pytest.raises(DataError, match=f"user {world.users[2]}"):
        facts_of(world, "AR-AI-AN-seen")


class Objects:
    """A system of somebody's own that returns the wrong shape."""

    def fit(self, train):
        return self

    def score(self, users):
        return np.zeros((len(users) + 1, 3))


def test_a_system_of_the_wrong_shape_is_refused():
    with pytest.raises(DataError, match="wrong shape"):
        facts_of(make_world(1), "AR-TI-AN", system=Objects())
