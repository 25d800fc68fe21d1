"""Size and coverage of every estimator, by simulation; what goes wrong when impressions are taken for users."""

from __future__ import annotations

import numpy as np
import pytest
from ab_worlds import WORLDS, clicks, one_adjusted_test, one_test
from scipy.stats import norm

from trueval.online.ab.estimates import AbOptions

USERS = 300  # in the smaller arm


def rates(kind: str, runs: int, resamples: int) -> tuple[float, float]:
    """How often p < 0.05 without an effect, and how often the interval holds the true effect."""
    world, rng = WORLDS[kind], np.random.default_rng(7)
    false, held = 0, 0
    for seed in range(runs):
        rules = AbOptions(resamples=resamples, seed=seed)
        false += one_test(world, USERS, 0.0, rules, rng).p < 0.05
        found = one_test(world, USERS, world.effect, rules, rng)
        held += found.low <= world.truth <= found.high
    return false / runs, held / runs


@pytest.mark.parametrize("kind", WORLDS)
def test_size_and_coverage(kind):
    runs, resamples = {"bootstrap": (600, 400), "mannwhitney": (1000, 100)}.get(kind, (1000, 500))
    size, coverage = rates(kind, runs=runs, resamples=resamples)
    assert 0.03 <= size <= 0.07
    assert 0.93 <= coverage <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("kind", WORLDS)
def test_size_and_coverage_of_many_runs(kind):
    size, coverage = rates(kind, runs=5000, resamples=1000 if kind != "bootstrap" else 500)
    assert 0.04 <= size <= 0.06
    assert 0.935 <= coverage <= 0.965


def cuped_rates(runs: int) -> tuple[float, float, float]:
    rng, rules = np.random.default_rng(8), AbOptions()
    null = [one_adjusted_test(USERS, 0.0, rules, rng) for _ in range(runs)]
    shifted = [one_adjusted_test(USERS, 0.4, rules, rng) for _ in range(runs)]
    size = np.mean([adjusted.p < 0.05 for _, adjusted in null])
    coverage = np.mean([adjusted.low <= 0.4 <= adjusted.high for _, adjusted in shifted])
    spread = np.var([a.value for _, a in null]) / np.var([plain.value for plain, _ in null])
    return float(size), float(coverage), float(spread)


def test_cuped_holds_its_level_and_halves_the_variance():
    size, coverage, spread = cuped_rates(1000)
    assert 0.03 <= size <= 0.07
    assert 0.93 <= coverage <= 0.97
    assert spread == pytest.approx(0.5, abs=0.07)


@pytest.mark.slow
def test_cuped_over_many_runs():
    size, coverage, spread = cuped_rates(20_000)
    assert 0.045 <= size <= 0.055
    assert 0.945 <= coverage <= 0.955
    assert spread == pytest.approx(0.5, abs=0.02)


def naive_p(a, b) -> float:
    """The test of two proportions over impressions, as if each were a user."""
    above, below = [s.values.sum() for s in (a, b)], [s.below.sum() for s in (a, b)]
    pooled = sum(above) / sum(below)
    error = np.sqrt(pooled * (1 - pooled) * (1 / below[0] + 1 / below[1]))
    return float(2 * norm.sf(abs(above[1] / below[1] - above[0] / below[0]) / error))


def test_taking_impressions_for_users_finds_effects_that_are_not_there():
    rng = np.random.default_rng(9)
    p = [naive_p(clicks(rng, USERS), clicks(rng, USERS)) for _ in range(1000)]
    assert np.mean(np.array(p) < 0.05) > 0.2  # the delta method by user: 0.05, above
