"""Periods: pairs are met as often, and when, as the tables of activities and weights say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from trueval.kernels import use_threads
from trueval.simulation.observation import MOST
from trueval.simulation.periods import (
    ByPeriods,
    TimesInPeriods,
    activities_for,
    pair_rates,
    rows_of_items,
    rows_of_users,
)

USERS, ITEMS, PERIODS = 60, 40, 4
EVERY = np.arange(USERS)[:, None], np.arange(ITEMS)


def tables() -> tuple[np.ndarray, np.ndarray]:
    """Users of one period and of all, lazy ones and some who meet nearly everything; items that come and go."""
    rng = np.random.default_rng(2)
    activities = rng.exponential(1.0, (USERS, PERIODS)) * rng.lognormal(0.0, 1.0, (USERS, 1))
    activities[:20] *= rng.multinomial(1, [0.25] * 4, 20)
    activities[:3] *= 20
    weights = rng.pareto(1.5, (ITEMS, PERIODS)) * 0.2
    weights[:10, :2] = 0.0
    weights[10:15, 2:] = 0.0
    return activities, weights


def seen_by(seed: int) -> ByPeriods:
    return ByPeriods(*tables(), seed)


def times_by(seed: int) -> TimesInPeriods:
    activities, weights = tables()
    first = np.broadcast_to(1000 * np.arange(PERIODS), activities.shape)
    return TimesInPeriods(activities, weights, first, first + 999, begin=0, end=3999, seed=seed)


def drawn(seen: ByPeriods, **options: int) -> tuple[np.ndarray, np.ndarray]:
    user, item = zip(*seen.blocks(**options))
    return np.concatenate(user), np.concatenate(item)


def dense() -> tuple[np.ndarray, np.ndarray]:
    """The rate and the probability of every pair, from the definition."""
    activities, weights = tables()
    rate = np.einsum("ut,it->ui", activities, weights)
    return rate, np.minimum(rate, MOST)


def test_pairs_are_met_as_often_as_their_probability_says() -> None:
    """Over 500 logs, for users who make visits and users who toss coins, and pairs whose probability is cut."""
    repeats, found = 500, np.zeros((USERS, ITEMS))
    for seed in range(repeats):
        found[drawn(seen_by(seed))] += 1
    rate, p = dense()
    assert seen_by(0).probability(*EVERY) == pytest.approx(p)
    visits = seen_by(0).visits
    assert visits.min() < 5 < ITEMS < visits.max()
    assert (rate > MOST).any()
    assert (found[p == 0] == 0).all()
    free = p > 0
    spread = np.sqrt(repeats * p * (1 - p))[free]
    z = (found[free] - repeats * p[free]) / spread
    assert abs((found - repeats * p).sum() / np.sqrt((spread**2).sum())) < 4
    assert 0.9 < z.std() < 1.1
    usual = repeats * np.minimum(p[free], 1 - p[free]) > 5
    assert np.abs(z[usual]).max() < 5.5


def test_met_pairs_are_independent() -> None:
    """Numbers of rows of users vary as sums of independent coins do."""
    p = dense()[1]
    counts = np.array([np.bincount(drawn(seen_by(seed))[0], minlength=USERS) for seed in range(400)])
    ratio = counts.var(axis=0, ddof=1) / (p * (1 - p)).sum(axis=1)
    assert abs(ratio.mean() - 1) < 4 * np.sqrt(2 / 400 / USERS)


def test_pairs_are_met_in_periods_in_proportion_to_activity_and_weight() -> None:
    """Observed together with the period, over 400 logs: p · a_t w_t / Σ a w of every pair and period."""
    activities, weights = tables()
    rate, p = dense()
    shares = activities[:, None, :] * weights[None] / np.maximum(rate, 1e-300)[..., None]
    repeats, found = 400, np.zeros((USERS, ITEMS, PERIODS))
    for seed in range(repeats):
        user, item = drawn(seen_by(seed))
        period = times_by(seed + 10_000).periods(user, item)
        found[user, item, period] += 1
    wanted = repeats * p[..., None] * shares
    assert (found[wanted == 0] == 0).all()
    some = (wanted > 5) & (wanted < repeats - 5)
    z = (found - wanted)[some] / np.sqrt(wanted * (1 - wanted / repeats))[some]
    assert 0.93 < z.std() < 1.07
    assert np.abs(z).max() < 5.5
    in_all = found.sum(axis=(0, 1)), wanted.sum(axis=(0, 1))
    assert np.abs(in_all[0] - in_all[1]).max() < 4.5 * np.sqrt(in_all[1].max())


def test_times_lie_in_their_period_and_in_the_span_of_the_user() -> None:
    times = times_by(3)
    assert (times.of(*EVERY) // 1000 == times.periods(*EVERY)).all()
    inside = times.of(*EVERY) % 1000 / 999
    assert stats.kstest(inside.ravel(), "uniform").pvalue > 1e-3
    late = replace(times, fade=3.0).of(*EVERY) % 1000 / 999
    assert late.mean() == pytest.approx(1 / 4, abs=4 * 0.29 / np.sqrt(late.size))  # the mean of coin³
    assert (tables()[0][EVERY[0], times.periods(*EVERY)] > 0).all()  # nobody is there in a period without activity


@pytest.mark.parametrize("rows", [1, 37, 10_000])
@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_and_threads_change_nothing(rows: int, threads: int) -> None:
    with use_threads(threads):
        user, item = drawn(seen_by(3), rows=rows)
    expected = drawn(seen_by(3))
    assert (user == expected[0]).all()
    assert (item == expected[1]).all()
    assert (np.diff(user * ITEMS + item) > 0).all()  # sorted, and no pair twice


def test_shapes_of_arrays_change_nothing() -> None:
    activities, weights = tables()
    grid = pair_rates(activities, weights, *EVERY)
    times, user, item = times_by(1), *np.nonzero(grid >= 0)
    assert (grid.ravel() == pair_rates(activities, weights, user, item)).all()
    assert (times.of(*EVERY).ravel() == times.of(user, item)).all()


def test_sums_over_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the table of all pairs; the pairs that are looked at together change only the last bits."""
    activities, weights = tables()
    rate, p = dense()
    share = np.divide(p, rate, out=np.zeros_like(p), where=rate > 0)
    cells = share[..., None] * activities[:, None, :] * weights[None]
    for at_once in (7, 10**6):
        monkeypatch.setattr("trueval.simulation.periods._AT_ONCE", at_once)
        assert rows_of_users(activities, weights) == pytest.approx(cells.sum(axis=1))
        assert rows_of_items(activities, weights) == pytest.approx(cells.sum(axis=0))
    assert seen_by(0).expected() == pytest.approx(p.sum())
    assert seen_by(0).weight == pytest.approx((weights * activities.sum(axis=0)).sum(axis=1) / activities.sum())


def test_activities_for_a_number_of_rows() -> None:
    activities, weights = tables()
    number = np.linspace(0.5, 15.0, USERS)
    found = activities_for(number, activities, weights)
    assert np.minimum(np.einsum("ut,it->ui", found, weights), MOST).sum(axis=1) == pytest.approx(number, rel=1e-3)
    assert found / found.sum(axis=1, keepdims=True) == pytest.approx(activities / activities.sum(axis=1, keepdims=True))


def test_likely_pairs_are_drawn_in_proportion_to_their_rates() -> None:
    """Weighted by the share that is met, they are pairs as they are met."""
    rate, p = dense()
    user, item, met = seen_by(0).likely(np.random.default_rng(5), 200_000)
    found = np.bincount(user * ITEMS + item, minlength=USERS * ITEMS).reshape(rate.shape)
    wanted = 200_000 * rate / rate.sum()
    usual = wanted > 5
    assert stats.chisquare(found[usual], wanted[usual] * found[usual].sum() / wanted[usual].sum()).pvalue > 1e-3
    assert met == pytest.approx(p[user, item] / rate[user, item])
