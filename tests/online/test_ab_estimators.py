"""Every estimator against SciPy, statsmodels, or the formula written out."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint, proportions_ztest

import trueval as tv
from trueval.online.ab.cuped import adjust
from trueval.online.ab.differences import Difference, difference, fieller
from trueval.online.ab.estimates import AbOptions, Estimated, Sample, estimate, mean, ratio, trimmed
from trueval.online.ab.metric_declarations import parse_metrics


def compared(metric: str, a: Sample, b: Sample, options: AbOptions = AbOptions()) -> Difference:
    one = parse_metrics(metric)[0]
    return difference(
        one, estimate(one, a, options=options, stream="a"), estimate(one, b, options=options, stream="b"),
        samples=(a, b), options=options,
    )  # fmt: skip


@pytest.fixture
def pair():
    rng = np.random.default_rng(3)
    return Sample(rng.lognormal(2, 1, 180)), Sample(rng.lognormal(2.2, 1, 240))


@pytest.mark.parametrize("level", [0.95, 0.9])
def test_mean_is_welch(pair, level):
    reference = scipy.stats.ttest_ind(pair[1].values, pair[0].values, equal_var=False)
    span = reference.confidence_interval(level)
    found = compared("x:mean", *pair, AbOptions(level=level))
    assert found.p == pytest.approx(reference.pvalue)
    assert (found.low, found.high) == pytest.approx((span.low, span.high))


@pytest.mark.parametrize("share", [0.1, 0.2])
def test_trimmed_mean_is_yuen(pair, share):
    reference = scipy.stats.ttest_ind(pair[1].values, pair[0].values, equal_var=False, trim=share)
    found = compared(f"x:trimmed({share})", *pair)
    span = reference.confidence_interval(0.95)
    assert found.p == pytest.approx(reference.pvalue)
    assert (found.low, found.high) == pytest.approx((span.low, span.high))
    assert trimmed(pair[0].values, share).value == pytest.approx(scipy.stats.trim_mean(pair[0].values, share))


@pytest.mark.parametrize("ties", [False, True])
def test_mann_whitney_and_brunner_munzel(pair, ties):
    a, b = (Sample(np.floor(s.values / 5) if ties else s.values) for s in pair)
    found = compared("x:mannwhitney", a, b)
    reference = scipy.stats.mannwhitneyu(b.values, a.values, method="asymptotic")
    assert found.p == pytest.approx(reference.pvalue)
    assert found.value == pytest.approx(2 * reference.statistic / (len(a) * len(b)) - 1)
    # The interval is the one whose p, at its end, is that of Brunner and Munzel's test.
    munzel = scipy.stats.brunnermunzel(a.values, b.values)
    assert abs(found.value / found.error) == pytest.approx(abs(munzel.statistic))


@pytest.mark.parametrize(("x", "n"), [((20, 33), (200, 220)), ((0, 4), (50, 60)), ((300, 360), (1000, 1100))])
def test_conversion_against_statsmodels(x, n):
    a, b = (Sample(np.repeat([1.0, 0.0], [k, m - k])) for k, m in zip(x, n))
    found = compared("x:conversion", a, b)
    assert found.p == pytest.approx(proportions_ztest(x, n)[1])
    span = confint_proportions_2indep(x[1], n[1], x[0], n[0], method="newcomb", compare="diff")
    assert (found.low, found.high) == pytest.approx(span)
    alone = estimate(parse_metrics("x:conversion")[0], a)
    assert (alone.low, alone.high) == pytest.approx(proportion_confint(x[0], n[0], method="wilson"))


def test_ratio_error_is_the_delta_method_of_two_means():
    rng = np.random.default_rng(5)
    below = 1.0 + rng.poisson(6, 500)
    above = rng.binomial(below.astype(int), 0.2).astype(float)
    found = ratio(above, below)
    c = np.cov(above, below) / len(above)
    r, m = above.mean() / below.mean(), below.mean()
    assert found.value == pytest.approx(r)
    assert found.error == pytest.approx(np.sqrt((c[0, 0] - 2 * r * c[0, 1] + r * r * c[1, 1]) / m**2))


@given(
    st.floats(0.5, 100), st.floats(0.01, 10), st.floats(-100, 100), st.floats(0.01, 10), st.floats(1, 4),
)  # fmt: skip
def test_fieller_agrees_with_the_absolute_difference(control, error, arm, other, reach):
    """A ratio is inside exactly if arm - ratio * control is within reach of 0."""
    c, a = Estimated(control, error, 100, 99), Estimated(arm, other, 100, 99)
    change, low, high = fieller(c, a, reach)
    assert change == pytest.approx(arm / control - 1)
    if control <= reach * error:
        assert np.isnan(low)
        return
    for end in (low, high):
        r = 1 + end
        assert abs(arm - r * control) == pytest.approx(reach * np.hypot(other, r * error), rel=1e-5, abs=1e-6)
    zero_inside = abs(arm - control) <= reach * np.hypot(error, other)
    if abs(low) > 1e-9 and abs(high) > 1e-9:
        assert (low <= 0 <= high) == zero_inside


def test_relative_interval_of_the_mean_covers():
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(1000):
        pair = Sample(rng.normal(5, 4, 100)), Sample(rng.normal(6, 4, 130))
        found = compared("x:mean", *pair)
        held += found.relative_low <= 0.2 <= found.relative_high
    assert 0.93 <= held / 1000 <= 0.97


def test_cuped_is_the_regression_with_arm_and_past():
    """The adjusted difference is the coefficient of the arm in a regression on arm and past."""
    rng = np.random.default_rng(12)
    past = rng.normal(0, 1, (400, 2))
    arm = np.repeat([0.0, 1.0], 200)
    y = 1 + 0.5 * arm + past @ [2.0, -1.0] + rng.normal(0, 1, 400)
    a, b = adjust([mean(y[:200]), mean(y[200:])], [past[:200], past[200:]])
    design = np.column_stack([np.ones(400), arm, past])
    coefficient = np.linalg.lstsq(design, y, rcond=None)[0][1]
    assert b.value - a.value == pytest.approx(coefficient)
    assert a.error < 0.5 * mean(y[:200]).error


def test_identical_arms_have_p_1():
    values = np.array([0.0, 1.0, 1.0, 3.0, 8.0])
    for kind in ("mean", "trimmed", "median", "mannwhitney"):
        assert compared(f"x:{kind}", Sample(values), Sample(values)).p > 0.5
    assert compared("x:mean", Sample(values), Sample(values)).p == 1


@pytest.mark.parametrize("metric", ["x:mean", "x:conversion", "x:trimmed=0.1", "x:median", "x:mannwhitney"])
@pytest.mark.parametrize("users", [2, 3, 4, 30])
def test_no_p_below_what_so_many_users_give(metric, users):
    """All of one arm at 0, all of the other at 1: of the ways to divide the users, two are as extreme."""
    declared = parse_metrics(metric)[0]
    pair = Sample(np.zeros(users)), Sample(np.ones(users))
    estimates = [estimate(declared, sample, stream=name) for sample, name in zip(pair, "ab")]
    for options in (AbOptions(), AbOptions(sequential=5000)):
        d = difference(declared, *estimates, samples=pair, options=options)
        assert d.p >= (1 - 1e-12) * 2 / math.comb(2 * users, users)
        assert d.p > 0
        if d.p >= 0.05:
            assert not d.low > 0
        assert d.low != d.high


def test_few_users_of_arms_are_said():
    table = pl.DataFrame({"arm": ["a"] * 3 + ["b"] * 3, "x": [0.0, 0.1, 0.2, 5.0, 5.1, 5.2]})
    found = tv.ab_test(table, arm="arm", metrics="x:mean")
    (c,) = found.comparisons
    assert (c.p, c.verdict) == (pytest.approx(0.1), "not shown")  # 2 of 20 ways to divide six users
    assert "no interval, p = 0.1: 3 and 3 users allow no p-value below 0.1" in found.verdict
