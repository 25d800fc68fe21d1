"""What is observed follows the closed forms, and depends on nothing but the seed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trueval.kernels import use_threads
from trueval.simulation.observation import (
    MOST,
    ByCounts,
    ByPopularity,
    activity_for,
    log_normal_activity,
    poisson,
    sum_of_least,
)
from trueval.simulation.pair_draws import coins, pair_coins, shuffled

USERS, ITEMS = np.arange(80)[:, None], np.arange(50)


def seen_by(seed: int, *, mean: float = 12.0, users: int = 80, items: int = 50) -> ByPopularity:
    weight = (np.arange(1, items + 1) + 2.0) ** -1.2
    number = log_normal_activity(users, mean, spread=0.8, most=0.7 * items, seed=4)
    return ByPopularity(activity_for(number, weight), weight, seed)


def drawn(seen: ByPopularity | ByCounts, **options: int) -> tuple[np.ndarray, np.ndarray]:
    user, item = zip(*seen.blocks(**options))
    return np.concatenate(user), np.concatenate(item)


def check_frequencies(times: np.ndarray, p: np.ndarray, repeats: int) -> None:
    """Counts of many pairs against binomial ones: every pair, and all together."""
    spread = np.sqrt(repeats * p * (1 - p))
    z = (times - repeats * p) / spread
    assert abs((times - repeats * p).sum() / np.sqrt((spread**2).sum())) < 4
    assert 0.93 < z.std() < 1.07
    assert np.abs(z).max() < 6.5


def test_pairs_are_met_as_often_as_their_probability_says() -> None:
    """Users with few visits and users who toss a coin for each item; items whose probability is cut at 0.95."""
    repeats, times = 400, np.zeros((80, 50))
    for seed in range(repeats):
        times[drawn(seen_by(seed))] += 1
    seen = seen_by(0)
    p = seen.probability(USERS, ITEMS)
    visits = seen.activity * seen.weight.sum()
    assert p.max() == MOST
    assert visits.min() < 10 < 50 < visits.max()
    check_frequencies(times, p, repeats)


def test_pairs_are_independent() -> None:
    """Numbers of rows per user vary as sums of independent coins do."""
    p = seen_by(0).probability(USERS, ITEMS)
    counts = np.array([np.bincount(drawn(seen_by(seed))[0], minlength=80) for seed in range(400)])
    ratio = counts.var(axis=0, ddof=1) / (p * (1 - p)).sum(axis=1)
    assert abs(ratio.mean() - 1) < 4 * np.sqrt(2 / 400 / 80)


def test_probabilities_are_proportional_to_weights_below_the_limit() -> None:
    seen = seen_by(0)
    p = seen.probability(USERS, ITEMS)
    free = (p[:, :1] < MOST).ravel()
    assert np.allclose(p[free] / p[free, :1], (seen.weight / seen.weight[0])[None, :])


@pytest.mark.parametrize("rows", [1, 37, 10_000])
@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_and_threads_change_nothing(rows: int, threads: int) -> None:
    seen = seen_by(3)
    with use_threads(threads):
        user, item = drawn(seen, rows=rows)
    expected_user, expected_item = drawn(seen)
    assert (user == expected_user).all()
    assert (item == expected_item).all()
    assert (np.diff(user * 50 + item) > 0).all()  # sorted, and no pair twice
    other = ByCounts(np.array([5, 0, 80, 7]), users=80, seed=2)
    assert all((a == b).all() for a, b in zip(drawn(other, rows=rows), drawn(other)))


def test_exact_counts() -> None:
    counts = np.array([5, 0, 80, 7, 1])
    repeats, times = 600, np.zeros((80, 5))
    for seed in range(repeats):
        user, item = drawn(ByCounts(counts, users=80, seed=seed))
        assert (np.bincount(item, minlength=5) == counts).all()
        assert len(np.unique(user * 5 + item)) == len(user)
        times[user, item] += 1
    p = ByCounts(counts, users=80).probability(USERS, np.arange(5))
    assert p[0].tolist() == [5 / 80, 0, 1, 7 / 80, 1 / 80]
    check_frequencies(times[:, [0, 3]], p[:, [0, 3]], repeats)


@pytest.mark.parametrize("rate", [0.01, 0.7, 5.0, 80.0, 4000.0])
def test_poisson_numbers_are_quantiles(rate: float) -> None:
    coin = np.append(np.linspace(1e-9, 1 - 1e-9, 401), 0.0)
    assert (poisson(np.array(rate), coin)[:-1] == stats.poisson.ppf(coin[:-1], rate)).all()
    assert poisson(np.array([0.0]), np.array([0.7])).tolist() == [0]


def test_activity_gives_the_numbers_asked_for() -> None:
    rng = np.random.default_rng(1)
    weight = rng.pareto(1.0, 300) + 0.01
    number = rng.uniform(0.1, 250, 200)
    activity = activity_for(number, weight)
    naive = np.minimum(activity[:, None] * weight, MOST).sum(axis=1)
    assert np.allclose(naive, number)
    assert np.allclose(sum_of_least(activity, weight), naive)


def test_log_normal_activity() -> None:
    number = log_normal_activity(200_000, 30.0, spread=0.8, most=1e9, seed=1)
    assert number.mean() == pytest.approx(30)
    assert np.log(number).std() == pytest.approx(0.8, abs=0.01)
    assert log_normal_activity(1000, 30.0, spread=2.0, most=60.0, seed=1).max() <= 60


# ---- chance by hashing ---------------------------------------------------------------------------------------------


def test_coins_are_uniform_and_independent_of_each_other() -> None:
    grid = pair_coins(5, "test", np.arange(300)[:, None], np.arange(300))
    assert stats.kstest(grid.ravel(), "uniform").pvalue > 1e-3
    for one, other in ((grid[:-1], grid[1:]), (grid[:, :-1], grid[:, 1:]), (grid, grid.T)):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.02
    assert (
        abs(np.corrcoef(grid.ravel(), pair_coins(6, "test", np.arange(300)[:, None], np.arange(300)).ravel())[0, 1])
        < 0.02
    )
    assert (coins(1, "a", 10) != coins(1, "b", 10)).all()


@pytest.mark.parametrize("size", [1, 2, 3, 16, 17, 1000])
def test_permutations_have_everything_once(size: int) -> None:
    found = shuffled(3, "test", np.arange(20)[:, None], np.arange(size), size)
    assert (np.sort(found, axis=1) == np.arange(size)).all()


def test_permutations_are_uniform() -> None:
    """All 24 orders of four come equally often, whatever the owner."""
    found = shuffled(7, "test", np.arange(24_000)[:, None], np.arange(4), 4)
    counts = np.unique(found @ [1000, 100, 10, 1], return_counts=True)[1]
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > 1e-3


def test_nobody_is_asked_for_more_than_all_items() -> None:
    """Users who should meet 5 of 2 items meet nearly as many as can be: even then no pair is as likely as the most."""
    weight = np.array([0.6, 0.2])
    activity = activity_for(np.array([5.0, 2.0]), weight)
    met = np.minimum(activity[:, None] * weight, MOST).sum(axis=1)
    np.testing.assert_allclose(met, 0.999 * 2 * MOST, rtol=1e-6)
