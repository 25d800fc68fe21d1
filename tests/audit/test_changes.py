"""Tests of reversed orders and changed values: against formulas, other functions of trueval, and simulation."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from audit_worlds import clean_world

import trueval as tv
from trueval.audit.changes import Difference, beyond, detectable, differences, reversals, value_changes
from trueval.audit.given_runs import GivenRuns, popular_lists
from trueval.audit.settings import Setting, keep_pairs
from trueval.comparison import paired_tests
from trueval.comparison.mean_error import Mean
from trueval.evaluation.options import EvaluationOptions
from trueval.statistics.student import t_p_value


@pytest.fixture(scope="module")
def subject() -> GivenRuns:
    world = clean_world(5)
    options = EvaluationOptions(metrics="ndcg@5,anti(precision)@5", threshold=4, interval="none")
    return GivenRuns(world.recs, tv.read(world.test), options, train=tv.read(world.train))


def test_differences_are_those_of_compare(subject: GivenRuns) -> None:
    world = clean_world(5)
    result = tv.evaluate_run(
        world.recs, world.test, train=world.train, items=world.test["item"].unique().to_list() + list(range(50)),
        threshold=4, metrics="ndcg@5,anti(precision)@5", interval="none",
    )  # fmt: skip
    for label, side in (("ndcg@5", 1), ("anti(precision)@5", -1)):
        found = differences(subject.base, label)
        assert len(found) == 6
        for row in result.compare("poor", metrics=[label], correct="none").rows:
            one = found[row.system, "poor"]
            assert (side * one.value, one.p, one.users) == pytest.approx((row.difference, row.p, row.n))


def _difference(value: float, p: float) -> Difference:
    return Difference("a", "b", value, -1.0, 1.0, p, 50, 0.1, 49.0)


@pytest.mark.parametrize(
    ("here", "there", "p"),
    [((0.2, 0.01), (-0.1, 0.03), 0.03), ((-0.2, 0.04), (0.1, 0.001), 0.04), ((0.2, 0.01), (0.1, 0.01), 1.0)],
)
def test_a_reversal_needs_both_tests(here: tuple, there: tuple, p: float) -> None:
    (found,) = reversals("m", {("a", "b"): _difference(*here)}, {("a", "b"): _difference(*there)}, setting="s")
    assert found.p == p
    assert found.better == (("a", "b") if here[0] > 0 else ("b", "a"))
    turned = {("b", "a"): Difference("b", "a", -there[0], -1.0, 1.0, there[1], 50, 0.1, 49.0)}
    (other,) = reversals("m", {("a", "b"): _difference(*here)}, turned, setting="s")
    assert (other.p, other.there.value) == (p, there[0])


def test_what_has_no_p_is_not_tested() -> None:
    assert not reversals(
        "m", {("a", "b"): _difference(0.1, math.nan)}, {("a", "b"): _difference(-0.1, 0.1)}, setting="s"
    )


def _row(values: np.ndarray) -> paired_tests.Tested:
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    mean = Mean(float(values.mean()), error, len(values) - 1, len(values))
    p = t_p_value(mean.value / error, freedom=mean.free, tail="two-sided")
    return paired_tests.Tested("m", "s", mean, 0.0, 0.0, p, "t", "two-sided", len(values), 0, 0, 1)


def test_a_change_beyond_nothing_is_a_change() -> None:
    row = _row(np.random.default_rng(0).normal(0.2, 1, 40))
    assert beyond(row, 0.0) == pytest.approx(row.p)


@pytest.mark.parametrize(("relevant", "p"), [(0.1, 0.25), (0.2, 1.0), (0.3, 1.0)])
def test_the_same_change_for_every_user_is_relevant_or_not(relevant: float, p: float) -> None:
    """An error of 0 leaves no doubt: p of the test where the change is larger than is relevant, else 1."""
    row = paired_tests.Tested("m", "s", Mean(0.2, 0.0, 1, 2), 0.2, 0.2, 0.25, "t", "two-sided", 2, 2, 0, 1)
    assert beyond(row, relevant) == p


@pytest.mark.parametrize("true", [0.0, 0.1, -0.2, 0.2])
def test_changes_that_are_not_relevant_are_rarely_called_so(true: float) -> None:
    """Within the smallest relevant change of 0.2: at most 5 %, reached at its ends."""
    rng = np.random.default_rng(1)
    called = np.mean([beyond(_row(rng.normal(true, 1, 60)), 0.2) < 0.05 for _ in range(3000)])
    assert called < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 3000)
    if abs(true) == 0.2:
        assert called > 0.03


def test_values_change_as_computed_by_hand(subject: GivenRuns) -> None:
    kept = clean_world(5).test.filter(pl.col("item") % 2 == 0)
    there = subject.view("even items", keep_pairs(kept))
    assert there is not None
    (found,) = value_changes(subject.base, there, "ndcg@5", relevant=0.0, systems=["good"])
    world = clean_world(5)
    alone = tv.evaluate_run(world.recs["good"], kept, threshold=4, metrics="ndcg@5", interval="none")
    assert found.after == pytest.approx(alone["run", "ndcg@5"].value)
    whole = tv.evaluate_run(world.recs["good"], world.test, threshold=4, metrics="ndcg@5", interval="none")
    frames = [one.per_user.select("user", value="ndcg@5") for one in (whole, alone)]
    both = frames[0].join(frames[1], on="user").drop_nulls()
    assert found.change == pytest.approx((both["value_right"] - both["value"]).mean())


def test_the_detectable_difference_is_the_median_over_pairs(subject: GivenRuns) -> None:
    found = differences(subject.base, "ndcg@5")
    sizes = sorted(tv.power(sd=one.error * math.sqrt(one.users), users=one.users) for one in found.values())
    assert detectable(found) == pytest.approx((sizes[2] + sizes[3]) / 2)


def test_one_system_alone_has_no_pairs(subject: GivenRuns) -> None:
    alone = Setting("", {"good": subject.base.systems["good"]}, subject.base.specs)
    assert differences(alone, "ndcg@5") == {}


def test_popular_lists_are_those_of_the_popularity_system() -> None:
    world = clean_world(7)
    lists = popular_lists(world.train, world.test["user"].unique(), 6)
    counts = dict(world.train["item"].value_counts().iter_rows())
    seen = {u: set(items) for u, items in world.train.group_by("user").agg("item").iter_rows()}
    for user, items in lists.sort("user", "rank").group_by("user").agg("item").iter_rows():
        expected = sorted((item for item in counts if item not in seen[user]), key=lambda item: (-counts[item], item))
        assert items == expected[:6]
