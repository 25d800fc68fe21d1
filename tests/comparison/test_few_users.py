"""Few users, or users who all differ by the same: no test says more than so many signs can show."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from comparison_worlds import evaluation_of, system_of, world
from hypothesis import given
from hypothesis import strategies as st

import trueval as tv
from trueval.api import Result
from trueval.errors import DefinitionError
from trueval.metrics.metric_values import Ratio
from trueval.statistics.permutation_test import FEW, exact_interval, exact_p, least_p

TESTS = ["t", "wilcoxon", "permutation", "bootstrap"]
STEPS = [-0.5, -0.1, 0.0, 0.0, 0.1, 0.3, 1.0]


def compare(differences, **options):
    values = {"base": {"ndcg@10": np.zeros(len(differences))}, "new": {"ndcg@10": np.asarray(differences, float)}}
    (c,) = Result(world(values)).compare("base", **options)
    return c


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("users", [2, 3, 5])
def test_all_against_nothing(test, users):
    """All users at 1 against all at 0: 2 of 2^n patterns of signs are as extreme, and up to five users show nothing."""
    c = compare(np.ones(users), test=test)
    assert c.p == pytest.approx(2 / 2**users)
    assert (c.verdict, c.power(1.0)) == ("not shown", 0.0)
    assert np.isnan([c.low, c.high, c.detectable]).all()
    assert f"the smallest possible p-value is {2 / 2**users:.2g}" in c.sentence


def test_the_sentence_says_which_test_and_why():
    assert "p = 0.25 (exact sign-flip test, 3 users: too few for t)" in compare(np.ones(3)).sentence
    assert "p = 0.0078 (exact sign-flip test, 8 users: too few for t)" in compare(np.ones(8)).sentence
    sparse = compare([0.5, 0.25, 1.0, *[0.0] * 97])
    assert (sparse.test, sparse.reason, sparse.p) == ("exact", "only 3 differ", 0.25)
    same = compare(np.full(40, 0.25))
    assert (same.test, same.reason) == ("exact", "all differ by the same amount")
    assert same.p == 2 / 2**40
    assert (
        "by 0.2500, no interval, p < 0.0001 (exact sign-flip test, 40 users: all differ by the same amount)"
        in same.sentence
    )
    usual = compare(np.arange(1.0, 41))
    assert (usual.test, usual.reason) == ("t", "")
    assert "(t-test, 40 users)" in usual.sentence


@pytest.mark.parametrize("test", TESTS)
def test_rounding_is_no_spread(test):
    """0.3 - 0.2 and 0.2 - 0.1 are the same but for rounding."""
    left, right = np.array([0.3, 0.2] * 20), np.array([0.2, 0.1] * 20)
    assert np.ptp(left - right) > 0
    values = {"base": {"ndcg@10": right}, "new": {"ndcg@10": left}}
    (c,) = Result(world(values)).compare("base", test=test)
    assert c.p >= 2 / 2**40
    assert not c.high - c.low < 1e-9


@pytest.mark.parametrize("test", TESTS)
@given(st.lists(st.sampled_from(STEPS), min_size=2, max_size=9), st.sampled_from(["two-sided", "better", "worse"]))
def test_no_p_is_below_what_the_users_can_show(test, differences, alternative):
    c = compare(differences, test=test, alternative=alternative, resamples=199)
    differ = np.count_nonzero(differences)
    assert c.p >= (2 if alternative == "two-sided" else 1) / 2**differ or not differ
    assert c.p <= 1
    if not differ:
        assert c.p == 1


@pytest.mark.parametrize("test", ["t", "bootstrap"])
@given(
    st.lists(st.sampled_from(STEPS), min_size=2, max_size=16),
    st.sampled_from([0.8, 0.9, 0.95, 0.99]),
)
def test_p_and_interval_agree(test, differences, level):
    c = compare(differences, test=test, level=level, resamples=299)
    if np.isnan(c.low):
        assert c.p >= 1 - level or len(set(differences)) == 1
    else:
        assert (c.p < 1 - level) == (not c.low <= 0 <= c.high)


def naive_interval(differences, level):
    """Means of all subsets; at each end, so many are left out that the test would refute what lies beyond."""
    n = len(differences)
    means = np.sort([np.mean(own) for k in range(1, n + 1) for own in combinations(differences, k)])
    within = [m for m in means if 2 * (1 + min(sum(means <= m + 1e-12), sum(means >= m - 1e-12))) / 2**n >= 1 - level]
    return within[0], within[-1]


@given(st.lists(st.sampled_from(STEPS), min_size=6, max_size=9), st.sampled_from([0.8, 0.95]))
def test_exact_interval_is_of_means_of_subsets(differences, level):
    if len(set(differences)) > 1:
        found = exact_interval(np.array(differences), level)
        assert found == pytest.approx(naive_interval(differences, level), abs=1e-9)


def test_users_without_a_difference_are_not_gone_through():
    """A hundred thousand of them: the p is theirs who differ, the interval narrows with all."""
    few = np.array([0.5, 0.4, -0.1, 0.3, 0.6, 0.2, 0.7])
    many = np.concatenate([few, np.zeros(100_000)])
    assert exact_p(many) == exact_p(few) == 4 / 2**7
    low, high = exact_interval(many, 0.95)
    assert 0 < low < many.mean() < high < 1e-4


@given(st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=13, max_size=13), st.integers(0, 5))
def test_twelve_differences_are_few_thirteen_are_not(values, zeros):
    d = np.where(np.array(values) == 0, 0.5, values)
    d[0], d[1] = 0.25, 0.75  # a spread
    assert FEW == 12
    assert compare([*d, *[0.0] * zeros]).test == "t"
    assert compare([*d[:12], *[0.0] * zeros]).test == "exact"


def test_few_users_within_seeds():
    """Three users, each seed the same: neither users nor seeds vary, and three users remain three."""
    runs = [
        Result(world({"a": {"ndcg@10": np.zeros(3)}, "b": {"ndcg@10": np.ones(3)}}, seed=seed)) for seed in range(4)
    ]
    (c,) = tv.compare(runs, baseline="a")
    assert (c.p, c.verdict, c.repeats) == (0.25, "not shown", 4)
    assert np.isnan(c.low)
    noisy = [
        Result(
            world({"a": {"ndcg@10": np.zeros(3)}, "b": {"ndcg@10": np.array([0.9, 1, 1.1]) + seed / 100}}, seed=seed)
        )
        for seed in range(4)
    ]
    (c,) = tv.compare(noisy, baseline="a")
    assert (c.p, c.test, c.reason) == (0.25, "t", "no p-value below 0.25 with 3 users who differ")


def test_gains_over_five_seeds_are_the_worked_example():
    """Gains +.01, -.01, +.02, -.01, 0 of five seeds, users alike: t over seeds, p .75, interval [-.014, .018]."""
    runs = [
        Result(world({"a": {"ndcg@10": np.full(4, 0.4)}, "b": {"ndcg@10": np.full(4, 0.4 + gain)}}, seed=seed))
        for seed, gain in enumerate([0.01, -0.01, 0.02, -0.01, 0.0])
    ]
    (c,) = tv.compare(runs, baseline="a")
    assert (c.test, f"{c.difference:.3f}", f"{c.error:.4f}", f"{c.p:.2f}") == ("t", "0.002", "0.0058", "0.75")
    assert [f"{c.low:.3f}", f"{c.high:.3f}"] == ["-0.014", "0.018"]
    assert c.verdict == "not shown"


def test_pooled_ratios_of_few_who_differ():
    """Three of forty users differ; what each adds to a pooled ratio is never exactly 0, yet three remain three."""
    size = np.arange(5.0, 45.0)
    hits = np.full(40, 2.0)
    more = hits + np.repeat([1.0, 0.0], [3, 37])
    systems = {
        name: system_of({}, ratios={"recall@10": Ratio(own, size)}, users=range(40))
        for name, own in (("a", more), ("b", hits))
    }
    for test in ("t", "bootstrap"):
        (c,) = Result(evaluation_of(systems)).compare("b", test=test)
        assert c.p >= 0.25, test
        assert not c.low > 0


def test_system_metrics_of_few_users():
    """Three users get one list each time: nothing varies when one of them is left out."""
    test = pl.DataFrame({"user": [0, 1, 2], "item": [0, 0, 0]})
    runs = {
        name: pl.DataFrame(
            {"user": [0, 1, 2] * k, "item": np.repeat(range(k), 3), "rank": np.repeat(range(1, k + 1), 3)}
        )
        for name, k in (("one", 1), ("four", 4))
    }
    result = tv.evaluate_run(runs, test, metrics="coverage@4", items=list(range(8)), interval="t")
    (c,) = result.compare("one")
    assert (c.difference, c.p, c.verdict) == (0.375, 0.25, "not shown")


def test_the_least_p_of_many_is_not_zero():
    assert 0 < least_p(10**6) < 1e-300
    assert compare(np.ones(5000)).p > 0


def test_power_of_few_users_is_none():
    assert tv.power(sd=0.1, users=5, difference=9.0) == 0
    assert tv.power(sd=0.1, users=6, difference=9.0) > 0.9
    assert tv.power(sd=0.1, difference=9.0) == 6
    with pytest.raises(DefinitionError, match="5 users cannot show a significant difference"):
        tv.power(sd=0.1, users=5)
