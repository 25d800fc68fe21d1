"""How often intervals hold the truth: 95 % of them should, and between 93 and 97 % do, for every method.

Quick runs have few worlds; what they may miss by is the binomial error of so many. Full ones are marked slow.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from trueval.evaluation.estimate import Estimate, Sums, estimate, estimate_all, resampled
from trueval.evaluation.interval_method import IntervalMethod
from trueval.evaluation.repeats import Repeated, nested_error
from trueval.metrics.metric_values import same
from trueval.statistics.student import student_interval

Sampler = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def means(draw: Callable[[np.random.Generator, int], np.ndarray]) -> Sampler:
    return lambda rng, users: (draw(rng, users), np.ones(users))


def zeros_and_gains(rng: np.random.Generator, users: int) -> np.ndarray:
    """Like NDCG: two users of three have nothing, the others something skewed."""
    return np.where(rng.random(users) < 1 / 3, rng.beta(1, 3, size=users), 0.0)


def pooled(rng: np.random.Generator, users: int) -> tuple[np.ndarray, np.ndarray]:
    """Hits of users with very different numbers of trials; those with more are hit less."""
    trials = 1 + rng.geometric(0.2, size=users)
    return rng.binomial(trials, 0.1 + 0.4 / trials).astype(float), trials.astype(float)


def squares(rng: np.random.Generator, users: int) -> tuple[np.ndarray, np.ndarray]:
    """Squared errors of users with several ratings each, users differing in size of error."""
    trials = rng.integers(1, 10, size=users).astype(float)
    return rng.gamma(trials / 2) * 2 * rng.choice([0.5, 1.5], size=users), trials


TRIALS = np.arange(1, 400)
GEOMETRIC = 0.2 * 0.8 ** (TRIALS - 1)
WORLDS: dict[str, tuple[Sampler, Callable[[np.ndarray], np.ndarray], float]] = {
    "normal": (means(lambda rng, n: rng.normal(1, 1, size=n)), same, 1.0),
    "hits": (means(lambda rng, n: (rng.random(n) < 0.2).astype(float)), same, 0.2),
    "zeros and gains": (means(zeros_and_gains), same, 1 / 12),
    "pooled": (pooled, same, float(GEOMETRIC @ (0.1 * (1 + TRIALS) + 0.4) / (GEOMETRIC @ (1 + TRIALS)))),
    "root of pooled": (squares, np.sqrt, 1.0),
}


def binomial_room(worlds: int) -> float:
    """What a share of 0.95 over so many worlds may stray by chance, three standard deviations."""
    return 3 * float(np.sqrt(0.95 * 0.05 / worlds))


def share(found: list[Estimate], truth: float) -> float:
    return float(np.mean([e.low <= truth <= e.high for e in found]))


def worlds_of(name: str, *, users: int, worlds: int, seed: int) -> tuple[list[Sums], float]:
    sample, finish, truth = WORLDS[name]
    rng = np.random.default_rng(seed)
    pairs = [sample(rng, users) for _ in range(worlds)]
    return [Sums(a[:, None], b[:, None], finish, users, 0) for a, b in pairs], truth


@pytest.mark.parametrize("interval", ["bootstrap", "bca", "t"])
@pytest.mark.parametrize("name", WORLDS)
def test_intervals_cover(name, interval):
    """All worlds in one call: they share the resamples, not the data."""
    all_sums, truth = worlds_of(name, users=200, worlds=500, seed=1)
    covered = share(estimate_all(all_sums, IntervalMethod(interval, 0, 1000)), truth)
    assert 0.94 - binomial_room(500) <= covered <= 0.96 + binomial_room(500)


@pytest.mark.slow
@pytest.mark.parametrize("interval", ["bootstrap", "bca", "t"])
@pytest.mark.parametrize("name", WORLDS)
def test_intervals_cover_in_full(name, interval):
    all_sums, truth = worlds_of(name, users=300, worlds=5000, seed=2)
    covered = share(estimate_all(all_sums, IntervalMethod(interval, 0, 2000)), truth)
    assert 0.93 <= covered <= 0.97


@pytest.mark.parametrize("level", [0.8, 0.99])
def test_intervals_cover_at_other_levels(level):
    all_sums, truth = worlds_of("zeros and gains", users=300, worlds=500, seed=3)
    covered = share(estimate_all(all_sums, IntervalMethod("bca", 0, 2000, level)), truth)
    assert covered == pytest.approx(level, abs=0.01 + 3 * np.sqrt(level * (1 - level) / 500))


@pytest.mark.parametrize("interval", ["bootstrap", "bca", "t"])
def test_groups_are_covered(interval):
    """A group is some of the users, and a resample of all users holds now more of them, now fewer."""
    rng, users, worlds = np.random.default_rng(5), 400, 400
    intervals, parts = IntervalMethod(interval, 0, 1000), []
    for _ in range(worlds):
        rows = np.flatnonzero(rng.random(users) < 0.4)
        values = zeros_and_gains(rng, len(rows))
        parts.append((rows, Sums(values[:, None], np.ones((len(rows), 1)), same, len(rows), 0)))
    drawn = resampled(parts, users, seed=0, resamples=1000)
    covered = share([estimate(s, d, intervals) for (_, s), d in zip(parts, drawn)], 1 / 12)
    assert 0.94 - binomial_room(worlds) <= covered <= 0.96 + binomial_room(worlds)


def test_students_t_over_folds_covers():
    rng = np.random.default_rng(7)
    values = rng.normal(0.4, 0.02, size=(4000, 5))
    found = [Repeated.of(row) for row in values]
    covered = float(np.mean([r.low <= 0.4 <= r.high for r in found]))
    assert covered == pytest.approx(0.95, abs=binomial_room(4000))


# Users and seeds: the variance by seeds, by users, and of a user with a seed.
CROSSED = {"seeds": (1.0, 1.0, 1.0), "users": (0.0, 3.0, 1.0), "noise": (0.0, 0.0, 1.0), "all": (0.3, 3.0, 3.0)}


def nested_share(by_seed: float, by_user: float, both: float, *, seeds: int, worlds: int, apart: bool) -> float:
    """Share of worlds whose nested interval holds the truth; `apart` where every seed has users of its own."""
    rng, users, held = np.random.default_rng(8), 60, 0
    for _ in range(worlds):
        shift = rng.normal(0, by_seed / np.sqrt(users), size=seeds)
        taste = rng.normal(0, by_user, size=(users, seeds if apart else 1)) + np.zeros((1, seeds))
        values = shift + taste + rng.normal(0, both, size=(users, seeds))
        inside = np.ones((users, seeds))
        if apart:
            inside = np.zeros((users, seeds))
            inside[np.arange(users), np.arange(users) % seeds] = 1.0
        repeats = [Sums((values * inside)[:, [s]], inside[:, [s]], same, users, 0) for s in range(seeds)]
        error, freedom = nested_error(repeats)
        low, high = student_interval(
            float(np.mean([s.value()[0] for s in repeats])), error, freedom=freedom, level=0.95
        )
        held += low <= 0 <= high
    return held / worlds


@pytest.mark.parametrize("apart", [False, True], ids=["same users", "users apart"])
@pytest.mark.parametrize("name", CROSSED)
def test_nested_intervals_cover(name, apart):
    covered = nested_share(*CROSSED[name], seeds=5, worlds=400, apart=apart)
    assert 0.94 - binomial_room(400) <= covered <= 0.975 + binomial_room(400)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 10])
@pytest.mark.parametrize("apart", [False, True], ids=["same users", "users apart"])
@pytest.mark.parametrize("name", CROSSED)
def test_nested_intervals_cover_in_full(name, apart, seeds):
    covered = nested_share(*CROSSED[name], seeds=seeds, worlds=2000, apart=apart)
    assert 0.93 <= covered <= 0.98


@pytest.mark.parametrize(("by_seed", "axis"), [(0.3, 0), (1.0, 1)], ids=["t over seeds", "t over users"])
def test_ignoring_users_or_seeds_would_not_cover(by_seed, axis):
    """What nesting is for: five seeds do not tell how users vary, nor users how seeds do."""
    rng, held = np.random.default_rng(9), 0
    for _ in range(300):
        taste = rng.normal(0, 3, size=(60, 1))
        values = rng.normal(0, by_seed, size=5) + taste + rng.normal(0, 1, size=(60, 5))
        found = Repeated.of(values.mean(axis=axis))
        held += found.low <= 0 <= found.high
    assert held / 300 < 0.9
