"""Simulated worlds: p-values are uniform where nothing differs, errors are held, power and coverage are as said."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from comparison_worlds import world
from scipy import stats

import trueval as tv
from trueval.api import Result
from trueval.comparison.mean_error import mean_of
from trueval.statistics.multiple_comparisons import corrected
from trueval.statistics.permutation_test import sign_flips
from trueval.statistics.power import power
from trueval.statistics.significance_tests import signed_ranks, t_test


def no_difference(rng, users):
    """Values of two equally good systems: skewed, between 0 and 1, many zeros, alike for the same user."""
    base = rng.beta(0.5, 2, users) * (rng.random(users) < 0.6)
    a, b = (np.clip(base + rng.normal(0, 0.1, users) * (rng.random(users) < 0.7), 0, 1) for _ in range(2))
    return a - b


def p_values(test, worlds, users=40, seed=1):
    rng = np.random.default_rng(seed)
    differences = np.stack([no_difference(rng, users) for _ in range(worlds)], axis=1)
    if test == "permutation":  # all worlds together, each with coins of its own
        return np.array([
            sign_flips(differences[:, [w]], ["two-sided"], seed=w, resamples=499)[0] for w in range(worlds)
        ])  # fmt: skip
    if test == "wilcoxon":
        return np.array([signed_ranks(d) for d in differences.T])
    means = [mean_of(d) for d in differences.T]
    return np.array([t_test(m.value, m.error, m.free) for m in means])


@pytest.mark.parametrize("test", ["t", "wilcoxon", "permutation"])
def test_p_is_uniform_where_nothing_differs(test):
    p = p_values(test, 600)
    assert stats.kstest(p, "uniform").pvalue > 0.001
    assert 0.03 <= (p < 0.05).mean() <= 0.075


def test_bootstrap_p_is_near_uniform_where_nothing_differs():
    rng = np.random.default_rng(8)
    differences = [no_difference(rng, 60) for _ in range(250)]
    values = {"base": {"ndcg@10": np.zeros(60)}, **{f"s{w}": {"ndcg@10": d} for w, d in enumerate(differences)}}
    found = Result(world(values)).compare("base", test="bootstrap", correct="none", resamples=999)
    p = np.array([c.p for c in found])  # resamples of users are shared, the worlds are not
    assert stats.kstest(p, "uniform").pvalue > 0.001
    assert (p < 0.05).mean() <= 0.1


@pytest.mark.parametrize("correct", ["holm", "bonferroni", "bh"])
def test_no_false_finding_in_95_of_100_families(correct):
    """Ten comparisons without a difference: any finding at all is false."""
    p = p_values("t", 5000, users=30, seed=2).reshape(500, 10)
    any_found = np.mean([(corrected(family, correct) < 0.05).any() for family in p])
    assert any_found <= 0.075
    assert np.mean((p < 0.05).any(axis=1)) > 0.3  # what happens without a correction


def test_holm_holds_where_some_differ():
    """Five true differences among ten comparisons: false findings among the others in at most 5 % of families."""
    rng = np.random.default_rng(3)
    false = 0
    for _ in range(400):
        shifts = np.repeat([0.3, 0.0], 5)
        means = [mean_of(rng.normal(shift, 0.5, 40)) for shift in shifts]
        q = corrected(np.array([t_test(m.value, m.error, m.free) for m in means]), "holm")
        false += bool((q[5:] < 0.05).any())
    assert false / 400 <= 0.08


def test_power_is_what_is_said():
    rng = np.random.default_rng(4)
    sd, users = 0.2, 50
    difference = power(sd=sd, users=users)
    means = [mean_of(rng.normal(difference, sd, users)) for _ in range(2000)]
    found = np.mean([t_test(m.value, m.error, m.free) < 0.05 for m in means])
    assert found == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("test", ["t", "bootstrap"])
def test_intervals_of_differences_cover(test):
    """A true difference of 0.05, skewed values: 95 % intervals hold it in about 95 % of worlds."""
    rng = np.random.default_rng(6)
    worlds, users = 300, 80
    shifted = {f"s{w}": {"ndcg@10": no_difference(rng, users) + 0.05} for w in range(worlds)}
    result = Result(world({"base": {"ndcg@10": np.zeros(users)}, **shifted}))
    found = result.compare("base", test=test, resamples=999)
    inside = np.mean([c.low <= 0.05 <= c.high for c in found])
    assert 0.91 <= inside <= 0.985


def equal_lists(rng, users=60, items=120, k=3):
    """Two systems that draw from one distribution, and the test set they are evaluated on."""
    chance = np.arange(1, items + 1) ** -0.7
    runs = {}
    for name in "ab":
        drawn = np.argsort(rng.gumbel(size=(users, items)) + np.log(chance), axis=1)[:, -k:]
        user, rank = np.repeat(np.arange(users), k), np.tile(np.arange(1, k + 1), users)
        runs[name] = pl.DataFrame({"user": user, "item": drawn.ravel(), "rank": rank})
    return runs, pl.DataFrame({"user": range(users), "item": [0] * users})


def coverage_p(worlds):
    rng = np.random.default_rng(12)
    found = []
    for _ in range(worlds):
        runs, test = equal_lists(rng)
        result = tv.evaluate_run(runs, test, metrics="coverage@3,gini@3", items=list(range(120)), interval="t")
        found.append([c.p for c in result.compare("a", correct="none")])
    return np.array(found)


def test_system_metrics_of_equal_systems_are_rarely_told_apart():
    p = coverage_p(60)
    assert ((p < 0.05).mean(axis=0) <= 0.12).all()
    assert (np.median(p, axis=0) > 0.3).all()


@pytest.mark.slow
def test_system_metrics_of_equal_systems_at_length():
    assert ((coverage_p(600) < 0.05).mean(axis=0) <= 0.07).all()


@pytest.mark.slow
@pytest.mark.parametrize("test", ["t", "wilcoxon", "permutation"])
def test_p_is_uniform_where_nothing_differs_at_length(test):
    p = p_values(test, 5000, seed=9)
    assert stats.kstest(p, "uniform").pvalue > 0.001
    assert 0.042 <= (p < 0.05).mean() <= 0.058
