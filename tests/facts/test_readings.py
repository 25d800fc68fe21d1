"""Other readings of facts: tie rules, 1R, condensed, parts and wholes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from fact_worlds import THRESHOLD, World, facts_of, make_world, possible_world, truth, units_of
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import naive_metrics as naive
from trueval.design.design import Design
from trueval.errors import DefinitionError
from trueval.facts.from_run import run_facts
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.tie_rules import with_ties
from trueval.facts.views import concat, condense, one_relevant, random_ranking, select
from trueval.metrics.compute import compute
from trueval.metrics.grammar import parse
from trueval.metrics.metric_inputs import Inputs

SEEDS = st.integers(0, 10**6)


def blocks_of(world: World, user: Any, targets: list) -> list[list]:
    """Targets in blocks of equal scores, best first."""
    scores = sorted({world.score_of(user, item) for item in targets}, reverse=True)
    return [[item for item in targets if world.score_of(user, item) == score] for score in scores]


def ranks(facts: RankingFacts, u: int) -> dict:
    rows = slice(facts.start[u], facts.start[u + 1])
    return dict(zip(facts.items.decode(facts.item[rows]).to_list(), facts.rank[rows].tolist()))


def values(facts: RankingFacts, metric: str) -> np.ndarray:
    found = compute(parse(metric), facts, Inputs()).per_unit
    assert found is not None
    return found


@pytest.mark.parametrize("rule", ["worst", "best"])
@settings(max_examples=20)
@given(seed=SEEDS)
def test_worst_and_best_order_of_equals(rule, seed):
    world = make_world(seed, levels=3)
    facts = with_ties(facts_of(world, "AR-TI-AN"), rule)
    arrange = naive.worst_order if rule == "worst" else naive.best_order
    for u, unit in enumerate(units_of(world, "AR-TI-AN", [{}])):
        blocks = blocks_of(world, unit.user, unit.targets)
        order = arrange(blocks, unit.judged, threshold=THRESHOLD)
        found = ranks(facts, u)
        by_gain = sorted(unit.relevant, key=order.index)
        assert sorted(found[item] for item in by_gain) == [order.index(item) + 1 for item in by_gain]
        # the same gains at the same places, whichever of equal gains comes first
        assert sorted((found[i], unit.judged[i]) for i in by_gain) == [
            (order.index(i) + 1, unit.judged[i]) for i in by_gain
        ]
        others = [item for item in unit.judged if item not in unit.relevant]
        assert sorted(found[item] for item in others) == sorted(order.index(item) + 1 for item in others)


@pytest.mark.parametrize("metric", ["precision@3", "recall@2", "hit@2", "ndcg@4", "ndcg", "rr", "rr@2", "auc"])
@settings(max_examples=8)
@given(seed=SEEDS)
def test_expected_is_the_mean_over_all_orders_of_equals(metric, seed):
    world = make_world(seed, items=10, levels=4)
    facts = with_ties(facts_of(world, "AR-TI-AN"), "expected")
    spec = parse(metric)
    found = values(facts, metric)
    for u, unit in enumerate(units_of(world, "AR-TI-AN", [{}])):
        blocks = blocks_of(world, unit.user, unit.targets)
        if math.prod(math.factorial(len(block)) for block in blocks) > 3000:
            continue
        wanted = naive.expected(spec.metric.name, blocks, unit.judged, k=spec.k, threshold=THRESHOLD)
        assert found[u] == pytest.approx(wanted, nan_ok=True)


@settings(max_examples=20)
@given(seed=SEEDS)
def test_random_order_lies_between_worst_and_best(seed):
    world = make_world(seed, levels=2)
    facts = facts_of(world, "AR-TI-AN")
    assert with_ties(facts, "random") is facts
    for metric in ("ndcg", "precision@2", "rr"):
        worst, expected, best = (values(with_ties(facts, rule), metric) for rule in ("worst", "expected", "best"))
        known = ~np.isnan(worst)
        assert (worst[known] <= values(facts, metric)[known]).all()
        assert (values(facts, metric)[known] <= best[known]).all()
        assert (worst[known] <= expected[known] + 1e-12).all()
        assert (expected[known] <= best[known] + 1e-12).all()


def test_rules_that_cannot_be_had_afterwards():
    facts = facts_of(make_world(1), "AR-TI-AN")
    with pytest.raises(DefinitionError, match=r"built with ties='random'[^$]*ties='given'"):
        with_ties(facts, "given")
    with pytest.raises(DefinitionError, match="did you mean worst"):
        with_ties(facts, "worse")


@pytest.mark.parametrize("rule", ["worst", "best"])
def test_items_that_were_not_ranked_do_not_disturb_equals(rule):
    # a list of one, and further relevant items behind it: their rank stays unknown
    run = pl.DataFrame({"user": ["u", "v", "v"], "item": ["a", "a", "x"], "score": [1.0, 1.0, 1.0]})
    known = truth({("u", "a"): 1.0, ("u", "b"): 1.0, ("v", "a"): 1.0, ("v", "b"): 1.0, ("v", "x"): 0.0}, run)
    facts = with_ties(run_facts(run, known), rule)
    assert ranks(facts, 0) == {"a": 1, "b": 0}
    assert ranks(facts, 1) == {"a": 2 if rule == "worst" else 1, "x": 1 if rule == "worst" else 2, "b": 0}


@pytest.mark.parametrize("rule", ["random", "expected", "worst", "best"])
@settings(max_examples=10)
@given(seed=SEEDS)
def test_one_relevant_is_a_second_ranking_of_each_item_alone(rule, seed):
    world = make_world(seed, levels=3)
    facts = with_ties(facts_of(world, "AR-AI-AN"), rule)
    alone = one_relevant(facts)
    units = units_of(world, "1R-AI-AN", [{}])
    order = np.lexsort((alone.item, alone.unit_user))
    assert len(units) == len(alone)
    for u, unit in zip(order, units):
        one = unit.relevant[0]
        blocks = blocks_of(world, unit.user, unit.targets)
        mine = next(block for block in blocks if one in block)
        above = sum(len(block) for block in blocks[: blocks.index(mine)])
        assert alone.items.decode(alone.item[u : u + 1])[0] == one
        assert (alone.above[u], alone.tied[u]) == (above, len(mine))
        assert alone.targets[u] == len(unit.targets)
        if rule == "random":
            assert alone.rank[u] == unit.ranked.index(one) + 1
        if rule in ("worst", "best"):
            assert alone.rank[u] == (above + len(mine) if rule == "worst" else above + 1)
    assert (alone.R == 1).all()


@pytest.mark.parametrize("rule", ["random", "worst", "best", "expected"])
@settings(max_examples=10)
@given(seed=SEEDS)
def test_condensed_rankings_hold_judged_items_only(rule, seed):
    world = make_world(seed, levels=3)
    full = with_ties(facts_of(world, "AR-TI-AN"), rule)
    facts = condense(full)
    for u, unit in enumerate(units_of(world, "AR-TI-AN", [{}])):
        found, before = ranks(facts, u), ranks(full, u)
        assert sorted(found.values()) == list(range(1, len(unit.judged) + 1))
        blocks = blocks_of(world, unit.user, list(unit.judged))
        for j in range(facts.start[u], facts.start[u + 1]):
            item = facts.items.decode(facts.item[j : j + 1])[0]
            mine = next(block for block in blocks if item in block)
            assert facts.above[j] == sum(len(block) for block in blocks[: blocks.index(mine)])
            assert facts.tied[j] == len(mine)
        if rule != "expected":
            by_rank = sorted(before, key=before.__getitem__)
            assert [found[item] for item in by_rank] == list(range(1, len(found) + 1))
        assert facts.targets[u] == facts.length[u] == len(unit.judged)
        shown = facts.list_item[facts.list_start[u] : facts.list_start[u + 1]]
        assert sorted(facts.items.decode(shown).to_list()) == sorted(unit.judged)
    flags = dict(zip(zip(facts.unit.tolist(), facts.item.tolist()), facts.relevant.tolist()))
    listed = [flags[key] for key in zip(facts.list_unit.tolist(), facts.list_item.tolist())]
    assert facts.list_relevant.tolist() == listed


METRICS = ["precision@2", "ndcg@3", "recall@3", "rr", "auc", "atop", "hit@1", "ap"]


@pytest.mark.parametrize("name", ["AR-TI-AN", "1R-AI-NN2", "P1R2-AI-NN1"])
@pytest.mark.parametrize("rule", ["random", "worst", "expected"])
@settings(max_examples=8)
@given(seed=SEEDS, cut=st.integers(0, 2**20))
def test_parts_add_up_to_the_whole(name, rule, seed, cut):
    world, _ = possible_world(seed, Design.parse(name), users=8)
    facts = facts_of(world, name, ties=rule)
    keep = np.array([bool(cut >> (u % 20) & 1) for u in range(len(facts))])
    left, right = select(facts, keep), select(facts, ~keep)
    assert len(left) + len(right) == len(facts)
    for metric in METRICS:
        whole = values(facts, metric)
        np.testing.assert_array_equal(values(left, metric), whole[keep])
        np.testing.assert_array_equal(values(right, metric), whole[~keep])
    joined = concat([left, right])
    back = np.argsort(np.concatenate([np.flatnonzero(keep), np.flatnonzero(~keep)]))
    for metric in METRICS:
        np.testing.assert_array_equal(values(joined, metric)[back], values(facts, metric))
    for part, mine in ((left, keep), (right, ~keep)):
        rows = np.repeat(mine, facts.length)
        np.testing.assert_array_equal(part.list_relevant, facts.list_relevant[rows])
        for field in ("pool", "stratum", "targets"):
            if getattr(facts, field) is not None:
                np.testing.assert_array_equal(getattr(part, field), getattr(facts, field)[mine])


def test_the_tie_rate_stays_a_share_when_units_are_left_out():
    facts = facts_of(make_world(4, levels=1), "AR-TI-AN", depth=4)
    assert facts.tie_rate(2) == 1
    keep = np.arange(len(facts)) == 1
    assert select(facts, keep).tie_rate(2) == 1
    assert select(select(facts, np.arange(len(facts)) > 0), keep[1:]).tie_rate(2) == 1
    assert concat([select(facts, keep), select(facts, ~keep)]).tie_rate(2) == 1
    assert concat([facts, facts]).tie_rate(2) == 1


@pytest.mark.parametrize("name", ["AR-TI-AN", "1R-TI-AN", "AR-AI-NN2"])
def test_a_random_ranking_is_the_mean_of_all_orders(name):
    world, samples = possible_world(1, Design.parse(name), items=8, users=4)
    facts = facts_of(world, name)
    random = random_ranking(facts)
    assert random is not None
    compared = 0
    units = units_of(world, name, samples)
    order = np.lexsort((facts.item[facts.start[:-1]], facts.unit_user)) if facts.one_relevant else range(len(facts))
    for u, unit in zip(order, units):
        if len(unit.targets) > 6:
            continue
        for metric in ("precision@2", "ndcg@3", "rr", "recall@1", "hit@2"):
            spec = parse(metric)
            judged = {item: value for item, value in unit.judged.items() if item in unit.targets}
            wanted = naive.expected(spec.metric.name, [unit.targets], judged, k=spec.k, threshold=THRESHOLD)
            assert values(random, metric)[u] == pytest.approx(wanted, nan_ok=True)
            compared += not np.isnan(wanted)
    assert compared >= 5
