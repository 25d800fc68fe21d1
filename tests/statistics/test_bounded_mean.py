"""The mean of bounded values: exact where it is known, and never too sure where a rare few users are very different."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trueval.statistics.bounded_mean import BoundedMean, below_zero

USERS = (15, 30, 50, 100, 300, 1000)
RARE = [(share, loss) for share in (0.005, 0.01, 0.02, 0.05, 0.1) for loss in (0.2, 0.5, 1.0)]


def rare_losses(rng, users, share, loss, *, spread=0.2):
    """Most users gain a little, a rare few lose much; the mean is 0."""
    gain = share * loss / (1 - share)
    return np.where(rng.random(users) < share, -loss, gain * (1 + spread * rng.standard_normal(users)))


def wrong(values, side):
    bounded = BoundedMean(side * values, -1.0, 1.0)
    return (bounded.p_above() if side > 0 else bounded.p_below()) < 0.05


def most(repeats, share=0.05):
    return repeats * share + 3 * np.sqrt(repeats * share * (1 - share))


@pytest.mark.parametrize("users", USERS)
@pytest.mark.parametrize(("share", "loss"), RARE[::3] + RARE[2::6])
def test_rare_losses_are_not_called_a_gain(users, share, loss):
    rng = np.random.default_rng(users)
    found = sum(wrong(rare_losses(rng, users, share, loss), 1 - 2 * (n % 2)) for n in range(80))
    assert found <= most(80)


def test_students_t_calls_them_a_gain():
    """What is held above is not held by t: nine times in ten with fifteen users."""
    rng = np.random.default_rng(0)
    t = [stats.ttest_1samp(rare_losses(rng, 15, 0.005, 1.0), 0, alternative="greater").pvalue for _ in range(100)]
    assert np.mean(np.array(t) < 0.05) > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 0.2, 3.0])
@pytest.mark.parametrize("users", USERS)
@pytest.mark.parametrize(("share", "loss"), RARE)
def test_rare_losses_in_full(users, share, loss, spread):
    rng = np.random.default_rng(users)
    assert sum(wrong(rare_losses(rng, users, share, loss, spread=spread), 1) for _ in range(1000)) <= most(1000)


def test_ones_and_zeros_are_those_of_clopper_and_pearson():
    for n, hits in ((5, 5), (30, 0), (30, 3), (200, 40), (1000, 990)):
        values = np.repeat([1.0, 0.0], [hits, n - hits])
        bounded = BoundedMean(values, 0.0, 1.0)
        low = stats.beta.ppf(0.05, hits, n - hits + 1) if hits else 0.0
        high = stats.beta.ppf(0.95, hits + 1, n - hits) if hits < n else 1.0
        assert (bounded.low(0.05), bounded.high(0.05)) == pytest.approx((low, high), abs=1e-6), (n, hits)


def test_gains_and_losses_of_everything_are_tested_by_their_signs():
    for wins, losses in ((6, 0), (9, 1), (30, 12), (120, 90)):
        values = np.repeat([1.0, -1.0, 0.0], [wins, losses, 17])
        exact = stats.binom.cdf(losses, wins + losses, 0.5)
        assert BoundedMean(values, -1.0, 1.0).p_above() == pytest.approx(exact, rel=1e-4)


def test_many_users_are_tested_as_by_students_t():
    rng = np.random.default_rng(1)
    for shift in (-0.002, 0.0, 0.002):
        values = rng.uniform(-0.5, 0.5, 100_000) + shift
        t = stats.ttest_1samp(values, 0, alternative="greater").pvalue
        assert BoundedMean(values, -1.0, 1.0).p_above() == pytest.approx(t, rel=0.05)


@pytest.mark.parametrize("seed", range(5))
def test_the_integral_is_the_share_of_random_weights(seed):
    rng = np.random.default_rng(seed)
    values = np.append(rng.normal(0.1 * seed, 0.4, 3 + 4 * seed), -1.0)
    share = np.mean(rng.exponential(size=(200_000, len(values))) @ values <= 0)
    assert below_zero(values, np.ones(len(values))) == pytest.approx(share, abs=0.0045)


def test_order_and_neighbours_change_nothing():
    """More values than bins: put together with their neighbours, they give what all of them give."""
    rng = np.random.default_rng(3)
    values = rng.normal(0.004, 0.3, 6000).clip(-1, 1)
    found = BoundedMean(values, -1.0, 1.0).p_above()
    assert found == BoundedMean(values[::-1], -1.0, 1.0).p_above()
    alone = below_zero(np.append(values, -1.0), np.ones(6001))
    assert found == pytest.approx(alone, rel=1e-4)


def test_a_bound_is_where_p_is_alpha():
    rng = np.random.default_rng(5)
    for n in (2, 20, 500):
        values = rng.normal(0.1, 0.2, n)
        low = BoundedMean(values, -1.0, 1.0).low(0.05)
        assert BoundedMean(values - low, -1.0 - low, 1.0 - low).p_above() == pytest.approx(0.05, abs=1e-6)
