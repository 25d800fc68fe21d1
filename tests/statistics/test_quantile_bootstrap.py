"""Quantiles and ratios of resamples, against resamples drawn user by user."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.online.ab.estimates import ratio
from trueval.statistics.percentiles import percentile_bounds, quantile_of_sorted
from trueval.statistics.quantile_bootstrap import quantile_draws, ratio_draws
from trueval.statistics.resampling import MOST_GROUPS


@pytest.mark.parametrize("users", [40, 800, 5000])
@pytest.mark.parametrize("whole", [True, False])
def test_ratio_draws_are_those_of_drawing_users(users, whole):
    """Multinomial over pairs, indices, or random groups: the spread is the delta method's."""
    rng = np.random.default_rng(6)
    below = 1.0 + rng.poisson(3, users)
    above = rng.binomial(below.astype(int), 0.3) if whole else rng.gamma(0.5, 1, users) * below
    draws = ratio_draws(above * 1.0, below, resamples=8000, seed=1)
    assert draws.mean() == pytest.approx(above.sum() / below.sum(), rel=0.02)
    groups = min(users, MOST_GROUPS)
    assert draws.std() == pytest.approx(ratio(above * 1.0, below).error, rel=0.06 + 2 / np.sqrt(groups) * (not whole))


@pytest.mark.parametrize("q", [0.5, 0.9, 0.33])
@pytest.mark.parametrize("n", [11, 40])
def test_quantile_draws_are_those_of_drawing_users(q, n):
    """Against 40,000 resamples drawn user by user: no visible difference between the two distributions."""
    rng = np.random.default_rng(2)
    values = np.sort(rng.lognormal(0, 1, n))
    naive = np.quantile(rng.choice(values, size=(40_000, n)), q, axis=1)
    draws = quantile_draws(values, q, resamples=40_000, seed=3)
    assert abs(draws.mean() - naive.mean()) < 5 * naive.std() * np.sqrt(2 / 40_000)
    shares = np.linspace(0.02, 0.98, 49)
    edges = np.quantile(naive, shares) + 1e-9  # both lie on the same few values, up to rounding
    apart = [abs((draws <= e).mean() - (naive <= e).mean()) for e in edges]
    assert max(apart) < 0.015  # 5 standard errors of a difference of two shares


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=30), st.floats(0, 1))
def test_the_quantile_of_a_sorted_sample_is_numpys_quantile(values, q):
    assert quantile_of_sorted(np.sort(np.array(values)), q) == pytest.approx(np.quantile(values, q), abs=1e-9)


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.25, 2.0, np.nan]), min_size=1, max_size=40), st.floats(0.1, 0.99))
def test_outward_bounds_were_drawn_and_lie_outside(values, level):
    drawn = np.array(values)
    inner, outer = percentile_bounds(drawn, level), percentile_bounds(drawn, level, outward=True)
    if np.isnan(drawn).all():
        assert np.isnan([*inner, *outer]).all()
        return
    assert set(outer) <= set(values)
    assert outer[0] <= inner[0] + 1e-12
    assert inner[1] <= outer[1] + 1e-12
