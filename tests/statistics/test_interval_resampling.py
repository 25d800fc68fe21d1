"""Resamples of users: their law, that nothing depends on how the work is done, and what is made of them."""

from __future__ import annotations

import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trueval.errors import DefinitionError
from trueval.evaluation.estimate import Sums, estimate_all, resampled, t_interval
from trueval.evaluation.interval_method import IntervalMethod
from trueval.kernels import use_kernels, use_threads
from trueval.metrics.metric_values import same
from trueval.statistics.percentiles import bca_bounds, percentile_bounds
from trueval.statistics.resampling import draw_users, resample_sums
from trueval.statistics.student import t_quantile


def mean_of(values: np.ndarray) -> Sums:
    return Sums(values[:, None], np.ones((len(values), 1)), same, len(values), 0)


def all_draws(users: int, *, seed: int = 0, resamples: int) -> np.ndarray:
    return np.concatenate(list(draw_users(users, seed=seed, resamples=resamples)))


@pytest.mark.parametrize("users", [1, 2, 3, 10, 37, 1000, 20_000])
def test_every_resample_draws_as_many_users_as_there_are(users):
    weights = all_draws(users, resamples=130)
    assert weights.shape == (130, users)
    assert (weights.sum(axis=1) == users).all()
    assert (weights == np.round(weights)).all()
    assert weights.min() >= 0


@pytest.mark.parametrize("users", [5, 37, 300])
def test_users_are_equally_likely_and_counts_are_multinomial(users):
    resamples = 60_000 // users * 10
    weights = all_draws(users, seed=3, resamples=resamples)
    total = weights.sum(axis=0)
    assert stats.chisquare(total).pvalue > 1e-3  # over blocks of different sizes as well
    variance = 1 - 1 / users
    assert weights.var() == pytest.approx(variance, rel=0.03)
    expected = stats.binom(users, 1 / users).pmf(np.arange(4))
    seen = np.bincount(weights.astype(int).ravel(), minlength=4)[:4] / weights.size
    assert seen == pytest.approx(expected, abs=5 / np.sqrt(weights.size))


def test_two_users_are_drawn_with_the_covariance_of_a_multinomial():
    weights = all_draws(6, seed=1, resamples=40_000)
    covariance = np.cov(weights.T)
    off = covariance[~np.eye(6, dtype=bool)]
    assert off == pytest.approx(np.full(30, -1 / 6), abs=0.03)
    between = np.corrcoef(weights[:-1, 0], weights[1:, 0])[0, 1]  # one resample tells nothing of the next
    assert abs(between) < 0.02


@given(users=st.integers(1, 700), seed=st.integers(0, 2**40), resamples=st.integers(1, 150))
def test_threads_and_kernels_do_not_change_a_bit(users, seed, resamples):
    columns = np.random.default_rng(seed).random((users, 3))
    rows = np.flatnonzero(columns[:, 0] < 0.5)
    found = []
    for kind in ("plain", "compiled"):
        for number in (1, 3):
            with use_kernels(kind), use_threads(number):
                found.append(
                    resample_sums([(None, columns), (rows, columns[rows, :1])], users, seed=seed, resamples=resamples)
                )
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other))


def test_sums_are_products_with_the_draws_and_parts_keep_their_users():
    users = 3000  # more than one product, more than one block
    columns = np.random.default_rng(0).random((users, 4))
    rows = np.arange(5, users, 7)
    weights = all_draws(users, seed=9, resamples=200)
    whole, part = resample_sums([(None, columns), (rows, columns[rows])], users, seed=9, resamples=200)
    assert whole == pytest.approx(weights @ columns, rel=1e-12)
    assert part == pytest.approx(weights[:, rows] @ columns[rows], rel=1e-12)


def test_more_resamples_begin_with_the_fewer_and_seeds_differ():
    assert np.array_equal(all_draws(50, resamples=300)[:100], all_draws(50, resamples=100))
    assert not np.array_equal(all_draws(50, resamples=10), all_draws(50, seed=1, resamples=10))


def test_memory_does_not_grow_with_users_times_resamples():
    users, resamples = 300_000, 256
    columns = np.ones((users, 2))
    resample_sums([(None, columns[:10])], 10, seed=0, resamples=10)
    tracemalloc.start()
    with use_threads(2), use_kernels("compiled"):
        (found,) = resample_sums([(None, columns)], users, seed=0, resamples=resamples)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found == users).all()
    assert peak < 60e6  # the draws alone would be 77 MB, as numbers 614 MB


# What is made of resamples.


def test_percentiles_agree_with_scipy_in_law():
    x = np.random.default_rng(5).gamma(1, size=30)
    (ours,) = estimate_all([mean_of(x)], IntervalMethod("bootstrap", 0, 20_000))
    theirs = stats.bootstrap((x,), np.mean, n_resamples=20_000, method="percentile", rng=1, vectorized=True)
    width = theirs.confidence_interval.high - theirs.confidence_interval.low
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.03 * width)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("kind", ["skewed", "hits"])
def test_bca_is_scipys_on_the_same_resamples(kind, level):
    rng = np.random.default_rng(2)
    x = rng.gamma(0.5, size=40) if kind == "skewed" else (rng.random(40) < 0.2).astype(float)
    s = mean_of(x)
    (drawn,) = resampled([(None, s)], 40, seed=0, resamples=2000)
    ours = bca_bounds(x.mean(), drawn, s.jackknife_replicates(), level)
    drawn = all_draws(40, resamples=2000) @ x / 40
    before = SimpleNamespace(bootstrap_distribution=drawn)
    theirs = stats.bootstrap(
        (x,), np.mean, n_resamples=0, bootstrap_result=before, method="BCa", confidence_level=level
    )
    assert ours == pytest.approx(tuple(theirs.confidence_interval), rel=1e-9)


def test_bca_of_a_ratio_is_scipys_on_the_same_resamples():
    rng = np.random.default_rng(4)
    below = rng.integers(1, 9, size=50).astype(float)
    above = rng.binomial(below.astype(int), 0.3).astype(float)
    s = Sums(above[:, None], below[:, None], np.sqrt, 50, 0)
    (drawn,) = resampled([(None, s)], 50, seed=0, resamples=3000)

    def root(places: np.ndarray) -> float:
        return float(np.sqrt(above[places].sum() / below[places].sum()))

    before = SimpleNamespace(bootstrap_distribution=drawn)
    theirs = stats.bootstrap(
        (np.arange(50),), root, n_resamples=0, bootstrap_result=before, method="BCa", vectorized=False
    )
    (found,) = estimate_all([s], IntervalMethod("bca", 0, 3000))
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval), rel=1e-9)


def test_values_without_a_user_are_what_a_loop_finds():
    rng = np.random.default_rng(1)
    above, below = rng.random((8, 3)), rng.integers(0, 3, size=(8, 3)).astype(float)
    s = Sums(above * below, below, same, 8, 0)
    for u in range(8):
        rest = np.arange(8) != u
        strata = [(s.numerator[rest, c].sum(), below[rest, c].sum()) for c in range(3)]
        expected = np.mean([a / b for a, b in strata if b > 0])
        assert s.jackknife_replicates()[u] == pytest.approx(expected)


def test_twenty_users_six_hits():
    """Percentiles of Binomial(20, 0.3) / 20 are 0.10 and 0.50."""
    hits = mean_of(np.repeat([1.0, 0.0], [6, 14]))
    (found,) = estimate_all([hits], IntervalMethod("bootstrap", 0, 1000))
    assert (found.value, found.low, found.high) == pytest.approx((0.3, 0.1, 0.5), abs=0.051)
    (found,) = estimate_all([hits], IntervalMethod("bootstrap", 0, 10_000))
    expected = stats.binom(20, 0.3).ppf([0.025, 0.975]) / 20
    assert (found.low, found.high) == pytest.approx(tuple(expected))


def test_students_t_of_a_mean_is_scipys():
    x = np.random.default_rng(0).normal(size=12)
    expected = stats.t(11, x.mean(), stats.sem(x)).interval(0.9)
    assert t_interval(mean_of(x), 0.9) == pytest.approx(expected)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.99, 0.9999])
def test_students_quantiles_are_scipys(level):
    for freedom in (1, 2, 3, 4, 5, 10, 49, 99, 100, 101, 2.5, 1e6):
        assert t_quantile(level=level, freedom=freedom) == pytest.approx(
            stats.t(freedom).ppf((1 + level) / 2), rel=1e-9
        )


@pytest.mark.parametrize("interval", ["bootstrap", "bca", "t"])
def test_one_user_has_no_interval_and_equal_users_none_without_width(interval):
    (one,) = estimate_all([mean_of(np.array([0.4]))], IntervalMethod(interval, 0, 100))
    assert one.value == 0.4
    assert np.isnan([one.low, one.high]).all()
    alone = Sums(np.array([[0.4], [0.0]]), np.array([[1.0], [0.0]]), same, 1, 1)
    assert np.isnan(estimate_all([alone], IntervalMethod(interval, 0, 100))[0].low)  # of two users, one counts
    (same_all,) = estimate_all([mean_of(np.full(9, 0.5))], IntervalMethod(interval, 0, 100))
    assert np.isnan([same_all.low, same_all.high]).all()
    assert "no interval: all users have the same value" in same_all.note


def test_undefined_resamples_are_left_out_of_percentiles():
    assert percentile_bounds(np.array([np.nan, 1.0, 3.0]), 0.95) == pytest.approx((1.05, 2.95))
    assert np.isnan(percentile_bounds(np.array([np.nan]), 0.95)).all()


@pytest.mark.parametrize(
    "wrong",
    [
        IntervalMethod("boot", 0, 1000), IntervalMethod("bootstrap", 0, 10), IntervalMethod("bca", 0, 1000, 1.0),
        IntervalMethod("t", 0, 1000, 95),
        IntervalMethod("bootstrap", 0, 50, 0.99), IntervalMethod("bootstrap", 0, True),
    ],
    ids=str,
)  # fmt: skip
def test_nonsense_is_refused(wrong):
    with pytest.raises(DefinitionError):
        estimate_all([mean_of(np.arange(4.0))], wrong)


def test_the_default_path_of_a_small_result_loads_no_compiler():
    import subprocess

    code = (
        "import polars as pl, trueval as tv, sys\n"
        "recs = pl.DataFrame({'user': range(10), 'item': [u % 3 for u in range(10)], 'rank': 1})\n"
        "test = pl.DataFrame({'user': range(10), 'item': 0})\n"
        "tv.evaluate_run(recs, test, metrics='hit@1,coverage@1')\n"
        "assert 'scipy' not in sys.modules\n"
        "tv.evaluate_run(recs, test, metrics='hit@1,coverage@1', interval='bca', resamples=10_000)\n"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_students_quantiles_of_extreme_levels_and_undefined_freedom():
    """Where the series has nothing left to tell, and where there is none."""
    assert t_quantile(level=1 - 1e-12, freedom=3) == pytest.approx(stats.t(3).isf(5e-13), rel=1e-3)
    assert t_quantile(level=1.0, freedom=3) == np.inf
    assert np.isnan(t_quantile(level=0.95, freedom=np.nan))
    assert t_quantile(level=0.95, freedom=np.inf) == pytest.approx(stats.norm.ppf(0.975))
