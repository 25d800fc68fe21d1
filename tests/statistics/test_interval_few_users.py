"""Intervals where few users differ from the rest: they cover, and say what they rest on."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import trueval as tv
from trueval.evaluation.estimate import Estimate, Sums, estimate_all
from trueval.evaluation.few_users import FEW
from trueval.evaluation.group_values import spread
from trueval.evaluation.interval_method import IntervalMethod
from trueval.evaluation.repeats import _over_users
from trueval.metrics.metric_values import same
from trueval.statistics.binomial import clopper_pearson

METHODS = ["bootstrap", "bca", "t"]


def means(values: np.ndarray, *, range: tuple[float, float] = (0.0, 1.0)) -> list[Sums]:
    """One metric a row."""
    ones = np.ones((values.shape[1], 1))
    return [Sums(row[:, None].astype(float), ones, same, len(row), 0, range=range) for row in values]


def covered(values: np.ndarray, truth: float, interval: str) -> float:
    found = estimate_all(means(values), IntervalMethod(interval, 0, 1000))
    return float(np.mean([e.low <= truth <= e.high for e in found]))


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_exact_interval_is_scipys(level):
    for trials in (1, 2, 7, 20, 1000, 100_000):
        for successes in sorted({0, 1, 3, 5, trials // 2, trials} & set(range(trials + 1))):
            expected = stats.binomtest(successes, trials).proportion_ci(level, method="exact")
            assert clopper_pearson(successes, trials, tail=(1 - level) / 2) == pytest.approx(
                (expected.low, expected.high), abs=1e-9
            )
    weighted = stats.beta.ppf(0.025, 2.5, 18.5), stats.beta.ppf(0.975, 3.5, 17.5)  # counts need not be whole
    assert clopper_pearson(2.5, 20.0, tail=0.025) == pytest.approx(weighted)


@pytest.mark.parametrize("interval", METHODS)
def test_nobody_is_hit(interval):
    (nobody,) = estimate_all(means(np.zeros((1, 20))), IntervalMethod(interval, 0, 1000))
    assert (nobody.value, nobody.low, nobody.high) == pytest.approx((0, 0, 1 - 0.025 ** (1 / 20)))
    (everyone,) = estimate_all(means(np.ones((1, 20))), IntervalMethod(interval, 0, 1000))
    assert (everyone.low, everyone.high) == pytest.approx((0.025 ** (1 / 20), 1))
    (halves,) = estimate_all(means(np.full((1, 20), 0.5)), IntervalMethod(interval, 0, 1000))
    share = 1 - 0.025 ** (1 / 20)
    assert (halves.low, halves.high) == pytest.approx((0.5 - share / 2, 0.5 + share / 2))
    assert all("Clopper–Pearson" in e.note for e in (nobody, everyone, halves))


@pytest.mark.parametrize("interval", METHODS)
def test_without_a_bound_there_is_no_interval_and_a_reason(interval):
    (found,) = estimate_all(means(np.zeros((1, 20)), range=(0.0, np.inf)), IntervalMethod(interval, 0, 1000))
    assert np.isnan([found.low, found.high]).all()
    assert "no upper bound" in found.note


def test_one_hit_is_as_wide_as_the_exact_interval():
    hits = np.zeros((1, 100))
    hits[0, 3] = 0.5  # a metric with grades: those who are hit have half of what is possible
    (found,) = estimate_all(means(hits), IntervalMethod("bootstrap", 0, 1000))
    exact = stats.binomtest(1, 100).proportion_ci(method="exact")
    assert found.low <= 0.5 * exact.low + 1e-12
    assert found.high == pytest.approx(0.5 * exact.high)
    assert "only 1 of 100 users" in found.note


def test_enough_users_who_differ_leave_the_bootstrap_as_it_is():
    values = np.zeros((1, 200))
    values[0, : FEW + 1] = 1.0
    (found,) = estimate_all(means(values), IntervalMethod("bootstrap", 0, 1000))
    (free,) = estimate_all(means(values, range=(-np.inf, np.inf)), IntervalMethod("bootstrap", 0, 1000))
    assert (found.low, found.high, found.note) == (free.low, free.high, "")


def test_users_who_count_more_are_fewer():
    """A pooled ratio: a tenth of the users have nearly all of the trials, so that they alone tell something."""
    trials = np.where(np.arange(100) < 10, 1000.0, 1.0)[:, None]
    nothing = Sums(np.zeros((100, 1)), trials, same, 100, 0, range=(0.0, 1.0))
    (found,) = estimate_all([nothing], IntervalMethod("bootstrap", 0, 1000))
    effective = trials.sum() ** 2 / (trials**2).sum()
    assert found.high == pytest.approx(1 - 0.025 ** (1 / effective))


@pytest.mark.parametrize("interval", METHODS)
@pytest.mark.parametrize(("users", "rate"), [(20, 0.02), (10, 0.05), (200, 0.005), (20, 0.98)])
def test_rare_hits_are_covered(users, rate, interval):
    """Coverage was 32 % at a rate of .02 and 20 users: most samples have no hit at all."""
    rng = np.random.default_rng(1)
    assert covered(rng.random((400, users)) < rate, rate, interval) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400)


@pytest.mark.slow
@pytest.mark.parametrize("interval", METHODS)
@pytest.mark.parametrize("users", [10, 20, 50, 200])
def test_rare_hits_are_covered_at_every_rate(users, interval):
    """Percentiles dip where few are hit; with the exact interval for up to five they stay above 90 %."""
    rng, rounds = np.random.default_rng(2), 2000
    for expected in (0.1, 0.5, 1, 2, 3, 4, 5, 7):
        rate = expected / users
        if rate <= 0.5:
            found = covered(rng.random((rounds, users)) < rate, rate, interval)
            assert found > 0.9 - 3 * np.sqrt(0.9 * 0.1 / rounds), (expected, found)


@pytest.mark.parametrize("interval", METHODS)
def test_rare_gains_are_covered(interval):
    """As nDCG of a weak system: few users have anything, and those who do have different values."""
    rng, users, rounds = np.random.default_rng(3), 100, 400
    gains = np.where(rng.random((rounds, users)) < 0.02, rng.choice([1, 0.63, 0.5, 0.43], size=(rounds, users)), 0.0)
    truth = 0.02 * np.mean([1, 0.63, 0.5, 0.43])
    assert covered(gains, truth, interval) > 0.93 - 3 * np.sqrt(0.93 * 0.07 / rounds)


def test_groups_without_a_hit_have_a_gap_that_may_be_something():
    nobody = Estimate(0.0, 0.0, 1 - 0.025 ** (1 / 40), 40, note="all users have the same value")
    found = spread([nobody, nobody], np.zeros((100, 2)), ["a", "b"])
    assert (found.gap.low, found.gap.high) == pytest.approx((0, nobody.high))


def test_groups_without_a_hit_in_a_result(tmp_path):
    users = pl.DataFrame({"user": range(80), "side": [u % 2 for u in range(80)]})
    test = pl.DataFrame({"user": range(80), "item": 0})
    recs = test.with_columns(
        item=pl.when((pl.col("user") % 2 == 1) & (pl.col("user") < 40)).then(0).otherwise(1), rank=1
    )
    result = tv.evaluate_run(recs, test, users=users, by="side", metrics="hit@1")
    rows = {row["group"]: row for row in result.by("side").to_dicts()}
    assert (rows["0"]["value"], rows["0"]["low"]) == (0, 0)
    assert rows["0"]["high"] == pytest.approx(1 - 0.025 ** (1 / 40))
    assert result.gaps("side")["gap_low"].item() > 0
    assert f"0.0000 [0.0000, {1 - 0.025 ** (1 / 40):.4f}]" in str(result)


def test_seeds_without_a_hit():
    repeats = [means(np.zeros((1, 30)))[0] for _ in range(3)]
    found = _over_users(repeats, IntervalMethod("nested", 0, 1000), np.eye(3), (0.0, 1.0))
    assert (found.low, found.high) == pytest.approx((0, 1 - 0.025 ** (1 / 30)))


def test_seeds_that_vary_while_users_do_not_keep_their_interval():
    repeats = [means(np.full((1, 20), mean))[0] for mean in (0.40, 0.41, 0.42, 0.43, 0.44)]
    found = _over_users(repeats, IntervalMethod("nested", 0, 1000), np.eye(5), (0.0, 1.0))
    assert (round(found.low, 3), round(found.high, 3)) == (0.400, 0.440)


def test_equal_lists_have_no_interval_of_coverage():
    test = pl.DataFrame({"user": range(30), "item": [u % 3 for u in range(30)]})
    recs = test.with_columns(item=pl.lit(0), rank=1)
    result = tv.evaluate_run(recs, test, items=list(range(10)), metrics="coverage@1")
    assert np.isnan(result["run", "coverage@1"].low)
    assert any("coverage@1: no interval" in note for note in result.warnings)
