"""Observation with topics: pairs are met as often as the formula says, and margins stay what they were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from trueval.kernels import use_threads
from trueval.simulation import by_topics
from trueval.simulation.by_topics import ByTopics, with_topics
from trueval.simulation.observation import MOST
from trueval.simulation.periods import ByPeriods

USERS, ITEMS, PERIODS, TOPICS = 60, 40, 3, 4
EVERY = np.arange(USERS)[:, None], np.arange(ITEMS)


def periods() -> ByPeriods:
    """Users of one period and of all, lazy ones and some who meet nearly everything; items that come and go."""
    rng = np.random.default_rng(2)
    activities = rng.exponential(0.6, (USERS, PERIODS)) * rng.lognormal(0.0, 1.0, (USERS, 1))
    activities[:20] *= rng.multinomial(1, [1 / 3] * 3, 20)
    activities[:3] *= 10
    weights = rng.pareto(1.5, (ITEMS, PERIODS)) * 0.15
    weights[:10, :2] = 0.0
    return ByPeriods(activities, weights)


def seen_by(seed: int) -> ByTopics:
    rng = np.random.default_rng(4)
    own, other = rng.gamma(0.4, 2.5, (USERS, TOPICS)), rng.gamma(0.4, 2.5, (ITEMS, TOPICS))
    base = periods()
    return ByTopics(
        base.activities, base.weights, seed, user_topics=own.astype(np.float32),
        item_topics=(other / TOPICS).astype(np.float32),
    )  # fmt: skip


def dense(seen: ByTopics) -> tuple[np.ndarray, np.ndarray]:
    """The rate and the probability of every pair, from the definition."""
    rate = (seen.activities @ seen.weights.T) * (seen.user_topics @ seen.item_topics.T)
    return rate, np.minimum(rate, MOST)


def drawn(seen: ByTopics, **options: int) -> tuple[np.ndarray, np.ndarray]:
    user, item = zip(*seen.blocks(**options))
    return np.concatenate(user), np.concatenate(item)


def test_pairs_are_met_as_often_as_their_probability_says() -> None:
    """Over 500 logs, for users who make visits and users who toss coins, and pairs whose probability is cut."""
    repeats, found = 500, np.zeros((USERS, ITEMS))
    seen = seen_by(0)
    for seed in range(repeats):
        found[drawn(replace(seen, seed=seed))] += 1
    rate, p = dense(seen)
    assert seen.probability(*EVERY) == pytest.approx(p, rel=1e-5)
    assert seen.visits.min() < 5 < ITEMS < seen.visits.max()
    assert (rate > MOST).sum() > 5
    assert (found[p == 0] == 0).all()
    spread = np.sqrt(repeats * p * (1 - p))
    assert abs((found - repeats * p).sum() / np.sqrt((spread**2).sum())) < 4
    usual = repeats * np.minimum(p, 1 - p) > 5
    z = ((found - repeats * p) / np.maximum(spread, 1e-300))[usual]
    assert 0.93 < z.std() < 1.07
    assert np.abs(z).max() < 5.5


def test_met_pairs_are_independent() -> None:
    """Numbers of rows of users vary as sums of independent coins do."""
    seen = seen_by(0)
    p = dense(seen)[1]
    counts = np.array([np.bincount(drawn(replace(seen, seed=seed))[0], minlength=USERS) for seed in range(400)])
    ratio = counts.var(axis=0, ddof=1) / (p * (1 - p)).sum(axis=1)
    assert abs(ratio.mean() - 1) < 4 * np.sqrt(2 / 400 / USERS)


@pytest.mark.parametrize("rows", [1, 37, 10_000])
@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_and_threads_change_nothing(rows: int, threads: int) -> None:
    with use_threads(threads):
        user, item = drawn(seen_by(3), rows=rows)
    expected = drawn(seen_by(3))
    assert (user == expected[0]).all()
    assert (item == expected[1]).all()
    assert (np.diff(user * ITEMS + item) > 0).all()  # sorted, and no pair twice


@pytest.mark.parametrize("at_once", [7, 10**6])
def test_sums_over_all_pairs(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_topics, "_AT_ONCE", at_once)
    seen = seen_by(0)
    p = dense(seen)[1]
    assert seen.rows_of_users() == pytest.approx(p.sum(axis=1), rel=1e-5)
    assert seen.expected() == pytest.approx(p.sum(), rel=1e-5)


def test_likely_pairs_are_drawn_in_proportion_to_their_rates() -> None:
    seen = seen_by(0)
    rate, p = dense(seen)
    user, item, met = seen.likely(np.random.default_rng(5), 200_000)
    found = np.bincount(user * ITEMS + item, minlength=USERS * ITEMS).reshape(rate.shape)
    wanted = 200_000 * rate / rate.sum()
    usual = wanted > 5
    assert stats.chisquare(found[usual], wanted[usual] * found[usual].sum() / wanted[usual].sum()).pvalue > 1e-3
    assert met == pytest.approx(p[user, item] / rate[user, item], rel=1e-4)


def test_topics_leave_the_rows_of_users_and_items_as_they_were() -> None:
    """In every period: sums of probabilities before and after, pair by pair."""
    rng = np.random.default_rng(4)
    base = ByPeriods(rng.exponential(0.5, (USERS, PERIODS)), rng.pareto(2.0, (ITEMS, PERIODS)) * 0.1)
    before = np.minimum(base.activities @ base.weights.T, MOST)
    found = with_topics(base, rng.gamma(0.4, 2.5, (USERS, TOPICS)), rng.gamma(0.4, 2.5, (ITEMS, TOPICS)))
    after = dense(found)[1]
    assert (dense(found)[0] > MOST).any()
    assert after.sum(axis=1) == pytest.approx(before.sum(axis=1), rel=0.01)
    assert after.sum(axis=0) == pytest.approx(before.sum(axis=0), rel=0.01)
    one = with_topics(base, np.ones((USERS, 1)), np.ones((ITEMS, 1)))  # one topic changes nothing
    assert dense(one)[1] == pytest.approx(before, rel=0.01)
