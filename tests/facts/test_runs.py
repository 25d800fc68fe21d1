"""Facts of recommendations already made: the same as the system's own, and refused when they cannot be right."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from fact_worlds import THRESHOLD, World, facts_of, make_world, truth, units_of
from hypothesis import given, settings
from hypothesis import strategies as st

from trueval.errors import DataError, DefinitionError
from trueval.facts.from_run import run_facts
from trueval.facts.ranking_facts import UNKNOWN, RankingFacts
from trueval.facts.tie_rules import with_ties
from trueval.kernels import use_kernels, use_threads
from trueval.metrics.compute import compute
from trueval.metrics.grammar import parse
from trueval.metrics.metric_inputs import Inputs

METRICS = ["precision@3", "recall@2", "hit@2", "ndcg@4", "ndcg", "rr", "ap", "ap@3", "rbp@4", "rprecision"]


def complete_run(world: World) -> pl.DataFrame:
    """Every target of every user with its score, in no particular order."""
    rows = [
        (unit.user, item, world.score_of(unit.user, item))
        for unit in units_of(world, "AR-AI-AN", [{}])
        for item in unit.targets
    ]
    table = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    return table.sample(fraction=1, shuffle=True, seed=world.seed)


def values(facts: RankingFacts, metric: str) -> np.ndarray:
    found = compute(parse(metric), facts, Inputs()).per_unit
    assert found is not None
    return found


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), strings=st.booleans(), kernels=st.sampled_from(["plain", "compiled"]))
def test_a_run_of_all_targets_measures_like_the_system(seed, strings, kernels):
    """Untied scores under every rule; tied ones under the rules that do not draw."""
    for levels, rules in ((None, ["random", "given", "expected", "worst", "best"]), (3, ["expected", "worst", "best"])):
        world = make_world(seed, strings=strings, levels=levels)
        run = complete_run(world)
        known = truth(world.test, run, train=world.train, catalogue=world.items, threshold=THRESHOLD, seed=7)
        for rule in rules:
            with use_kernels(kernels):
                facts = run_facts(run, known, ties="given" if rule == "given" else "random")
            facts = facts if rule in ("random", "given") else with_ties(facts, rule)
            system = facts_of(world, "AR-AI-AN", depth=99, ties=rule)
            assert facts.users.decode(facts.unit_user).equals(system.users.decode(system.unit_user))
            np.testing.assert_array_equal(facts.targets, system.targets)
            np.testing.assert_array_equal(facts.length, system.length)
            for metric in [*METRICS, "auc", "atop"]:
                np.testing.assert_allclose(values(facts, metric), values(system, metric), rtol=1e-12, err_msg=metric)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 4))
def test_a_run_cut_at_k_measures_like_the_system_up_to_k(seed, k):
    world = make_world(seed, levels=None)
    run = complete_run(world)
    short = run.filter(pl.col("score").rank("ordinal", descending=True).over("user") <= k)
    facts = run_facts(short, truth(world.test, short, threshold=THRESHOLD))
    system = facts_of(world, "AR-AI-AN", depth=k)
    for metric in ("precision", "recall", "ndcg", "rr", "hit", "ap"):
        for depth in range(1, k + 1):
            np.testing.assert_allclose(values(facts, f"{metric}@{depth}"), values(system, f"{metric}@{depth}"))
    behind = system.rank > k
    assert sorted(facts.rank.tolist()) == sorted(np.where(behind, 0, system.rank).tolist())


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), shuffle=st.integers(0, 99))
def test_order_of_rows_form_of_scores_and_threads_change_nothing(seed, shuffle):
    world = make_world(seed)
    run = complete_run(world)
    known = truth(world.test, run, threshold=THRESHOLD, seed=3)
    facts = run_facts(run, known)
    mixed = run.sample(fraction=1, shuffle=True, seed=shuffle).select("score", "item", "user")
    ranked = run.sort("user").with_columns(
        rank=pl.Series(_positions(facts, run.sort("user"))), score=pl.col("score").cast(pl.Float32)
    )
    for other, columns in ((mixed, None), (run.sort("user", "item"), None), (ranked, "rank"), (ranked, "score")):
        table = other.drop("score") if columns == "rank" else other.drop("rank", strict=False)
        for kernels in ("plain", "compiled"):
            with use_kernels(kernels), use_threads(3):
                again = run_facts(table, known)
            for name in ("item", "rank", "list_item", "list_start", "start", "relevant", "value"):
                np.testing.assert_array_equal(getattr(again, name), getattr(facts, name), err_msg=name)


def _positions(facts: RankingFacts, rows: pl.DataFrame) -> list[int]:
    place = {}
    for u in range(len(facts)):
        user = facts.users.decode(facts.unit_user[u : u + 1])[0]
        shown = facts.list_item[facts.list_start[u] : facts.list_start[u + 1]]
        place |= {(user, item): r for r, item in enumerate(facts.items.decode(shown).to_list(), start=1)}
    return [place[user, item] for user, item in rows.select("user", "item").rows()]


TEST = {("a", "x"): 5.0, ("a", "y"): 1.0, ("b", "x"): 4.0}


def run_of(rows: list[tuple], *columns: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["user", "item", *columns], orient="row")


GOOD = run_of([("a", "x", 0.5), ("a", "z", 0.9), ("b", "y", 0.1)], "score")


def test_rows_in_order_need_no_score():
    run = GOOD.drop("score")
    facts = run_facts(run, truth(TEST, run, threshold=3), ties="given")
    assert facts.rank.tolist() == [1, 0, 0]
    with pytest.raises(DataError, match="neither a score nor a rank"):
        run_facts(run, truth(TEST, run, threshold=3))


def test_equal_scores_keep_the_order_given_when_asked():
    run = run_of([("a", "z", 1.0), ("a", "y", 1.0), ("a", "x", 1.0), ("b", "x", 1.0)], "score")
    facts = run_facts(run, truth(TEST, run, threshold=3), ties="given")
    assert dict(zip(facts.items.decode(facts.item[:2]), facts.rank[:2].tolist())) == {"x": 3, "y": 2}
    assert facts.splits.tolist() == [1, 1, 0]
    assert facts.tied.tolist() == [3, 3, 1]


def test_users_without_a_list_and_users_nobody_tests():
    run = run_of([("a", "x", 1.0), ("stranger", "y", 2.0)], "score")
    facts = run_facts(run, truth(TEST, run, threshold=3))
    assert facts.length.tolist() == [1, 0]
    assert facts.rank.tolist() == [1, 0, 0]


def test_a_catalogue_tells_the_number_of_targets():
    run = run_of([("a", "x", 1.0), ("b", "x", 1.0)], "score")
    catalogue = ["x", "y", "z", "w"]
    known = truth(TEST, run, train={("a", "z"): 1, ("a", "gone"): 1}, catalogue=catalogue, threshold=3)
    facts = run_facts(run, known)
    assert facts.targets.tolist() == [3, 4]
    assert facts.catalogue == 4
    assert run_facts(run, truth(TEST, run)).targets.tolist() == [UNKNOWN, UNKNOWN]


@pytest.mark.parametrize("metric", ["auc", "atop", "auc[against=judged]"])
def test_metrics_that_need_all_ranks_refuse_a_cut_run(metric):
    facts = run_facts(GOOD, truth(TEST, GOOD, threshold=3))
    with pytest.raises(DefinitionError) as caught:
        compute(parse(metric), facts, Inputs())
    assert metric in caught.value.what
    assert "first 2" in caught.value.what
    assert "scores or factors" in caught.value.do


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (run_of([("a", "x", 1.0), ("a", "x", 2.0), ("b", "y", 1.0)], "score"), r"same user twice[^$]*user a, item x"),
        (run_of([("a", "x", 1), ("a", "y", 1)], "rank"), r"same rank twice[^$]*user a, items [xy] and [xy]: rank 1"),
        (run_of([("a", "x", np.nan), ("a", "y", 1.0)], "score"), r"finite numbers[^$]*user a, item x: nan"),
        (run_of([("a", "x", np.inf), ("a", "y", 1.0)], "score"), r"finite numbers[^$]*user a, item x: inf"),
        (run_of([("q", "x", 1.0)], "score"), "the two tables have no user in common"),
        (run_of([("a", "q", 1.0)], "score"), "the two tables have no item in common"),
        (run_of([(1, "x", 1.0)], "score"), "user ids are of different types"),
        (run_of([("a", 7, 1.0)], "score"), "item ids are of different types"),
        (run_of([("a", None, 1.0), ("a", "x", 1.0)], "score"), "item ids are missing"),
        (run_of([(None, "x", 1.0), ("a", "x", 1.0)], "score"), "user ids are missing"),
        (run_of([("a", "x", "high")], "score"), r"must be numbers[^$]*column score"),
        (run_of([("a", "x", None), ("a", "y", 1.0)], "score"), r"missing[^$]*column score"),
        (run_of([("a", "x", 1, 0.1), ("a", "y", 2, 0.9)], "rank", "score"), r"contradict[^$]*user a, item y: rank 2"),
    ],
)
def test_runs_that_cannot_be_right_are_refused_with_the_rows(run, told):
    with pytest.raises(DataError, match=told):
        run_facts(run, truth(TEST, run, threshold=3), name="recs")


def test_items_outside_the_catalogue_are_refused():
    with pytest.raises(DataError, match=r"outside the catalogue[^$]*1 row:[^$]*user a, item z"):
        run_facts(GOOD, truth(TEST, GOOD, catalogue=["x", "y"], threshold=3))


def test_at_most_five_rows_are_shown_and_all_are_counted():
    rows: list[Any] = [("a", f"i{j}", 1.0) for j in range(9) for _ in range(2)]
    run = run_of([*rows, ("a", "x", 2.0)], "score")
    with pytest.raises(DataError) as caught:
        run_facts(run, truth(TEST, run, threshold=3))
    assert caught.value.found.startswith("18 rows, among them:")
    assert len(caught.value.found.splitlines()) == 6


@pytest.mark.parametrize(
    ("test", "threshold", "told"),
    [
        ({("a", "x"): 2.0}, 3.0, r"no value reaches the threshold 3[^$]*from 2 to 2"),
        ({("a", "x"): 0.0}, None, "no value is above 0"),
    ],
)
def test_judgements_without_anything_relevant_are_refused(test, threshold, told):
    with pytest.raises(DataError, match=told):
        truth(test, GOOD, threshold=threshold)
