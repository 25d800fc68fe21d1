"""1R precision between its bounds, and corrected values of sampled designs."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from fact_worlds import THRESHOLD, facts_of, make_world, possible_world, truth, units_of
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import naive_metrics as naive
from trueval.data.ids import Ids
from trueval.design.design import Design
from trueval.design.sampled_ranks import bias_variance, rank_metric
from trueval.errors import DataError, DefinitionError
from trueval.facts.from_run import run_facts
from trueval.facts.one_relevant_bounds import one_relevant_bounds
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.sampling_correction import correct
from trueval.facts.tie_rules import with_ties
from trueval.facts.views import one_relevant, select
from trueval.metrics.measure import toy_facts

GOLDEN = {  # golden F_1R: relevant items are r, s and t
    "u1": "n1 r1 r2 n2 r3 n3 n4 n5",
    "u2": "m1 m2 s1 m3 m4 m5",
    "u3": "t1 k1 t2 k2 k3 k4 k5",
    "u4": "r1 n1 r2 n2 n3 r3 n4 n5",
}


def golden_facts() -> tuple[RankingFacts, dict]:
    """The four users of golden section F, by way of a run that ranks all targets."""
    lists = {user: text.split() for user, text in GOLDEN.items()}
    run = pl.DataFrame(
        [(user, f"{user}{item}", rank) for user, items in lists.items() for rank, item in enumerate(items, 1)],
        schema=["user", "item", "rank"], orient="row",
    )  # fmt: skip
    test = {(user, f"{user}{item}"): 1.0 for user, items in lists.items() for item in items if item[0] in "rst"}
    facts = run_facts(run, truth(test, run))
    targets = np.array([len(lists[user]) for user in sorted(lists)])
    users = {user: (items, {item: 1.0 for item in items if item[0] in "rst"}) for user, items in lists.items()}
    return facts.changed(exact=True, targets=targets), users


@pytest.mark.parametrize(
    ("n", "bounds"),
    [(1, (0.222222, 0.222222, 0.555556)), (2, (0.166667, 0.333333, 0.333333)), (3, (0.259259, 0.296296, 0.296296))],
)
def test_golden_bounds(n, bounds):
    facts, users = golden_facts()
    assert one_relevant_bounds(facts, n) == pytest.approx(bounds, abs=6e-7)
    assert naive.lemma_bounds(users, k=n) == pytest.approx((bounds[0], bounds[2]), abs=6e-7)
    assert one_relevant(facts).rank.tolist() == [2, 2, 3, 3, 1, 2, 1, 2, 4]  # golden tau_Tr


@pytest.mark.parametrize("design", ["AR-TI-AN", "AR-AI-NN2"])
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 12))
def test_bounds_hold_and_are_the_formulas(design, seed, n):
    world, samples = possible_world(seed, Design.parse(design), levels=3)
    facts = facts_of(world, design)
    lower, value, upper = one_relevant_bounds(facts, n)
    assert lower <= value + 1e-12
    assert value <= upper + 1e-12
    units = units_of(world, design, samples)
    users = {unit.user: (unit.ranked, {item: unit.judged[item] for item in unit.relevant}) for unit in units}
    assert (lower, upper) == pytest.approx(naive.lemma_bounds(users, k=n, threshold=THRESHOLD))
    alone = {user: ([[item] for item in ranked], judged) for user, (ranked, judged) in users.items()}
    assert value == pytest.approx(naive.one_relevant_mean("precision", alone, k=n, threshold=THRESHOLD))
    spread = one_relevant_bounds(with_ties(facts, "expected"), n)
    blocked = {unit.user: (_blocks(world, unit), unit.judged) for unit in units}
    if all(len(block) <= 5 for groups, _ in blocked.values() for block in groups):
        wanted = naive.one_relevant_mean("precision", _few(blocked), k=n, threshold=THRESHOLD)
        assert one_relevant_bounds(with_ties(_only(facts, _few(blocked)), "expected"), n)[1] == pytest.approx(wanted)
    assert spread[0] <= spread[1] + 1e-12
    assert spread[1] <= spread[2] + 1e-12


def _blocks(world, unit) -> list[list]:
    scores = sorted({world.score_of(unit.user, item) for item in unit.targets}, reverse=True)
    return [[i for i in unit.targets if world.score_of(unit.user, i) == score] for score in scores]


def _few(blocked: dict) -> dict:
    """Two users with something relevant are enough where all orders are tried."""
    some = [user for user, (_, judged) in blocked.items() if any(v >= THRESHOLD for v in judged.values())][:2]
    return {user: blocked[user] for user in some}


def _only(facts: RankingFacts, users: dict) -> RankingFacts:
    return select(facts, facts.users.decode(facts.unit_user).is_in(list(users)).to_numpy())


def test_bounds_refuse_what_they_cannot_say():
    facts = facts_of(make_world(1), "AR-TI-AN")
    for n in (0, -1, 2.5, True):
        with pytest.raises(DefinitionError, match="whole number"):
            one_relevant_bounds(facts, n)
    with pytest.raises(DefinitionError, match="1R already"):
        one_relevant_bounds(one_relevant(facts), 3)
    with pytest.raises(DefinitionError, match=r"shows only the first 2[^$]*scores or factors"):
        one_relevant_bounds(toy_facts(["a", "b"], {"b"}), 1)
    with pytest.raises(DataError, match="no user has a relevant item"):
        one_relevant_bounds(toy_facts(["a", "b"], {"b": 0.0}, complete=True), 1)


# ---- corrections ---------------------------------------------------------------------------------------------


def sampled_facts(ranks: np.ndarray, *, pool: int, sample: int, seed: int) -> RankingFacts:
    """1R facts of items with known ranks among all, each sampled once without replacement."""
    rng = np.random.default_rng(seed)
    drawn = rng.hypergeometric(ranks - 1, pool - ranks + 1, sample)
    units = len(ranks)
    return RankingFacts(
        unit_user=np.zeros(units, np.int32), start=np.arange(units + 1), item=np.zeros(units, np.int32),
        value=np.ones(units), relevant=np.ones(units, bool), rank=(drawn + 1).astype(np.int32),
        above=drawn.astype(np.int32), tied=np.ones(units, np.int32), list_start=np.zeros(units + 1, np.int64),
        list_item=np.empty(0, np.int32), targets=np.full(units, sample + 1), users=Ids(pl.Series(["u"])),
        items=Ids(pl.Series(["i"])), catalogue=pool + 1, exact=True, one_relevant=True, pool=np.full(units, pool),
    )  # fmt: skip


@pytest.mark.parametrize("metric", ["auc", "ndcg", "recall@50"])
def test_corrected_means_come_closer_to_the_truth(metric):
    rng = np.random.default_rng(1)
    ranks = 1 + np.floor(1000 * rng.random(4000) ** 2).astype(np.int64)
    exact = rank_metric(metric, ranks, size=1001).mean()
    facts = sampled_facts(ranks, pool=1000, sample=100, seed=2)
    naively = rank_metric(metric, facts.rank, size=101).mean()
    corrected = correct(facts, metric).mean()
    rescaled = correct(facts, metric, method="rescale").mean()
    if metric == "auc":
        assert [naively, rescaled, corrected] == pytest.approx([exact] * 3, abs=0.01)
        return
    assert naively - exact > 0.1  # sampled values flatter
    assert abs(corrected - exact) < 0.1 * (naively - exact)
    assert abs(rescaled - exact) < 0.5 * (naively - exact)


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), gamma=st.sampled_from([0.05, 0.5, 1.0]))
def test_corrections_use_the_pool_of_each_unit(seed, gamma):
    world, samples = possible_world(seed, Design.parse("1R-AI-NN2"), levels=3)
    facts = facts_of(world, "1R-AI-NN2")
    found = correct(facts, "ndcg", gamma=gamma)
    moved = correct(facts, "rr@3", method="rescale")
    order = np.lexsort((facts.item, facts.unit_user))
    for u, unit in zip(order, units_of(world, "1R-AI-NN2", samples)):
        n, m = unit.pool + 1, len(unit.targets) - 1
        r = unit.ranked.index(unit.relevant[0]) + 1
        truth_ = naive.bias_variance("ndcg", n=n, m=m, gamma=gamma, replacement=False)
        assert found[u] == pytest.approx(truth_[r - 1])
        if m:
            rescaled = naive.rescaled_rank(r, n=n, m=m)
            assert moved[u] == pytest.approx(1 / rescaled if rescaled <= 3 else 0)
    given_by_hand = correct(facts.changed(pool=None), "ndcg", gamma=gamma, pool=facts.pool)
    np.testing.assert_array_equal(given_by_hand, found)


def test_corrections_average_over_orders_of_equals():
    world, _ = possible_world(5, Design.parse("1R-AI-NN2"), levels=2)
    facts = facts_of(world, "1R-AI-NN2", ties="expected")
    assert facts.tied.max() > 1
    found = correct(facts, "ndcg", gamma=0.1)
    for u in range(len(facts)):
        pool, sample = int(facts.pool[u]), int(facts.targets[u] - 1)
        by_rank = naive.bias_variance("ndcg", n=pool + 1, m=sample, gamma=0.1, replacement=False)
        places = by_rank[facts.above[u] : facts.above[u] + facts.tied[u]]
        assert found[u] == pytest.approx(sum(places) / len(places))


def test_corrections_refuse_what_they_cannot_correct():
    world, _ = possible_world(1, Design.parse("1R-AI-NN2pop"))
    with pytest.raises(DefinitionError, match="one relevant item per target set"):
        correct(facts_of(world, "AR-TI-AN"), "ndcg")
    with pytest.raises(DefinitionError, match="drawn from"):
        correct(facts_of(world, "1R-AI-NN2pop"), "ndcg")  # not equally likely
    with pytest.raises(DefinitionError, match="drawn from"):
        correct(facts_of(world, "1R-AI-AN"), "ndcg")  # not sampled
    facts = facts_of(world, "1R-AI-NN2")
    with pytest.raises(DefinitionError, match="larger than"):
        correct(facts, "ndcg", pool=1)
    with pytest.raises(DefinitionError, match="one for each unit"):
        correct(facts, "ndcg", pool=np.ones(3))
    with pytest.raises(DefinitionError, match="did you mean rescale"):
        correct(facts, "ndcg", method="rescaled")
    with pytest.raises(DefinitionError, match="rank of every relevant"):
        correct(one_relevant(toy_facts(["a", "b"], {"b"})), "ndcg", pool=9)


def test_units_with_many_pool_sizes_get_the_value_of_their_own():
    sizes = np.random.default_rng(3).permutation(np.repeat(np.arange(300, 340), 3))
    facts = sampled_facts(np.full(120, 30), pool=300, sample=20, seed=1).changed(pool=sizes)
    found = correct(facts, "ndcg@10", gamma=0.1)
    wanted = [bias_variance("ndcg@10", pool=n, sample=20)[r - 1] for n, r in zip(sizes.tolist(), facts.rank)]
    np.testing.assert_array_equal(found, wanted)
    assert len(np.unique(found)) > 40
