"""Shares of few trials: against SciPy, and against sums over all outcomes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from trueval.statistics.binomial import (
    binomial_p,
    binomial_tails,
    clopper_pearson,
    drawn_shares,
    mean_distance,
    wilson_interval,
)


@given(st.integers(1, 60), st.floats(0.001, 0.999))
def test_the_mean_distance_is_the_sum_over_all_outcomes(n, p):
    k = np.arange(n + 1)
    assert mean_distance(np.array([n]), np.array([p]))[0] == pytest.approx(binom.pmf(k, n, p) @ np.abs(k / n - p))


@given(st.integers(1, 80), st.data())
def test_exact_limits_and_p_values_are_those_of_scipy(n, data):
    k = data.draw(st.integers(0, n))
    p = data.draw(st.floats(0.01, 0.99))
    found = clopper_pearson(np.array([float(k)]), np.array([float(n)]), tail=0.025)
    ci = binomtest(k, n).proportion_ci(method="exact")
    assert (found[0][0], found[1][0]) == pytest.approx((ci.low, ci.high), abs=1e-9)
    tails = binom.cdf(k, n, p), binom.sf(k - 1, n, p)
    assert binomial_p(np.array([float(k)]), np.array([float(n)]), np.array([p]))[0] == pytest.approx(
        min(1, 2 * min(tails))
    )


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (7, 0.02), (40, 0.97), (500, 0.001), (5000, 0.4)])
def test_drawn_shares_are_binomial(n, p):
    z = np.random.default_rng(1).standard_normal((40_000, 1))
    shares = drawn_shares(z, np.array([float(n)]), np.array([p]))[:, 0]
    assert shares.mean() == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / n / 40_000))
    assert shares.var() == pytest.approx(p * (1 - p) / n, rel=0.1)
    if n <= 40:
        for k in range(n + 1):
            share, chance = np.mean(shares == k / n), binom.pmf(k, n, p)
            assert abs(share - chance) <= 4 * math.sqrt(chance * (1 - chance) / 40_000) + 1e-9


def test_wilson_against_scipy():
    low, high = wilson_interval(np.array([0.3, 1.0]), np.array([20.0, 8.0]))
    for place, (hits, n) in enumerate([(6, 20), (8, 8)]):
        exact = binomtest(hits, n).proportion_ci(method="wilson")
        assert (low[place], high[place]) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_wilson_of_one_share_has_any_level_and_ends_at_0_and_1(level):
    for hits, n in [(0, 10), (3, 7), (12, 12)]:
        low, high = wilson_interval(hits / n, n, level=level)
        reference = binomtest(hits, n).proportion_ci(confidence_level=level, method="wilson")
        assert (float(low), float(high)) == pytest.approx((reference.low, reference.high), abs=1e-12)
    assert float(wilson_interval(0.0, 10, level=level)[0]) == 0
    assert float(wilson_interval(1.0, 12, level=level)[1]) == 1


@given(st.integers(1, 60), st.data(), st.floats(0.001, 0.2))
def test_one_exact_interval_is_that_of_an_array(n, data, tail):
    """One of few successes is solved without SciPy."""
    k = data.draw(st.integers(0, n))
    low, high = clopper_pearson(np.array([float(k)]), np.array([float(n)]), tail=tail)
    assert clopper_pearson(k, n, tail=tail) == pytest.approx((low[0], high[0]), abs=1e-10)


def test_tails_of_binomials_are_scipys():
    k, n = np.array([0.0, 3.0, 10.0, 0.0]), np.array([10, 10, 10, 0])
    at_most, at_least = binomial_tails(k, n, 0.3)
    assert at_most == pytest.approx(binom.cdf(k, n, 0.3))
    assert at_least == pytest.approx(binom.sf(k - 1, n, 0.3))
