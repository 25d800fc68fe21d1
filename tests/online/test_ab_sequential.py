"""Looking after every hundred users: what a fixed interval does, and what an always-valid one does."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from ab_worlds import SPREAD, WORLDS, dwell

import trueval as tv
from trueval.online.ab.differences import difference
from trueval.online.ab.estimates import AbOptions, Sample, estimate
from trueval.online.ab.metric_declarations import parse_metrics
from trueval.online.ab.sequential import TUNED_FOR, always_valid_p, always_valid_reach, prior_users


def paths(kind: str, tests: int, users: int, rng: np.random.Generator, step: int = 50):
    """Differences of two arms and their standard errors, by test and look (every 2 * step users)."""
    shape = (2, tests, users // 2)
    looks = np.arange(step, users // 2 + 1, step) - 1
    n = looks + 1.0
    if kind == "ratio":  # 2 impressions on average, tastes differ; linearised by user at each look
        below = 1.0 + rng.poisson(1.0, shape)
        above = rng.binomial(below.astype(int), rng.beta(1, 3, shape)).astype(float)
        sums = [np.cumsum(x, axis=2)[:, :, looks] for x in (above, below, above**2, above * below, below**2)]
        a, b, aa, ab, bb = (s / n for s in sums)
        value = a / b
        spread = (aa - 2 * value * ab + value**2 * bb) / b**2
    else:
        x = {"conversion": lambda: (rng.random(shape) < 0.1) * 1.0, "mean": lambda: rng.normal(0, 3, shape),
             "dwell": lambda: np.exp(rng.normal(0, SPREAD / 2, shape))}[kind]()  # fmt: skip
        value = np.cumsum(x, axis=2)[:, :, looks] / n
        spread = np.cumsum(x**2, axis=2)[:, :, looks] / n - value**2
    return value[1] - value[0], np.sqrt((spread / (n - 1)).sum(axis=0)), 2 * n


def crossed(kind: str, tests: int, users: int, tuned_for: int) -> tuple[float, float]:
    """Share of tests without effect in which 0 is outside at some look: fixed, and always-valid."""
    difference, error, n = paths(kind, tests, users, np.random.default_rng(4))
    z = np.abs(difference) / error
    reach = np.array([always_valid_reach(seen, tuned_for=tuned_for) for seen in n])
    return float((z > 1.96).any(axis=1).mean()), float((z > reach).any(axis=1).mean())


@pytest.mark.parametrize("kind", ["conversion", "mean", "dwell", "ratio"])
def test_peeking_after_every_hundred_users(kind):
    fixed, valid = crossed(kind, tests=600, users=10_000, tuned_for=TUNED_FOR)
    assert fixed > 0.3  # 5 % were promised
    assert valid <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["conversion", "mean", "dwell", "ratio"])
@pytest.mark.parametrize("tuned_for", [1000, 5000, 20_000])
def test_peeking_with_other_tunings(kind, tuned_for):
    fixed, valid = crossed(kind, tests=2000, users=20_000, tuned_for=tuned_for)
    assert fixed > 0.35
    assert valid <= 0.055


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["median", "trimmed", "mannwhitney", "quantile"])
def test_peeking_at_dwell_times(kind):
    """Estimators that are not means, with the standard errors that they report."""
    metric, tests = parse_metrics(WORLDS[kind].metric)[0], 200
    rng = np.random.default_rng(6)
    fixed, valid = 0, 0
    for _ in range(tests):
        arms = dwell(rng, 2000).values, dwell(rng, 2000).values
        crossed = np.zeros(2, bool)
        for n in range(50, 2001, 50):
            pair = Sample(arms[0][:n]), Sample(arms[1][:n])
            for place, options in enumerate((AbOptions(resamples=200), AbOptions(resamples=200, sequential=2000))):
                a, b = (estimate(metric, s, options=options, stream=name) for s, name in zip(pair, "ab"))
                found = difference(metric, a, b, samples=pair, options=options)
                crossed[place] |= not found.low <= 0 <= found.high
        fixed += crossed[0]
        valid += crossed[1]
    assert fixed / tests > 0.15  # 40 looks; 5 % were promised
    assert valid / tests <= 0.07


def test_reach_is_smallest_where_it_is_tuned():
    """In standard errors it is flat there: a neighbouring prior does no better."""
    rho = prior_users(5000, level=0.95)

    def reach(rho: float) -> float:
        return math.sqrt((1 + rho / 5000) * (math.log1p(5000 / rho) + 2 * math.log(20)))

    assert always_valid_reach(5000) == pytest.approx(reach(rho))
    assert reach(rho) < min(reach(rho * 1.05), reach(rho / 1.05))


def test_p_is_the_level_at_which_the_interval_touches_zero():
    for n in (100, 1000, 100_000):
        assert always_valid_p(always_valid_reach(n), n) == pytest.approx(0.05)
    assert always_valid_p(0.0, 500) == 1.0


def test_the_mixture_is_the_likelihood_ratio():
    """p = 1 / the average likelihood ratio over a normal prior, by numerical integration."""
    z, n = 3.1, 2000
    rho = prior_users(TUNED_FOR, level=0.95)
    prior = math.sqrt(n / rho)  # of the drift of z
    drift = np.linspace(-12 * prior, 12 * prior, 400_001)
    weight = np.exp(-(drift**2) / (2 * prior**2)) / (prior * math.sqrt(2 * math.pi))
    ratio = np.trapezoid(weight * np.exp(drift * z - drift**2 / 2), drift)
    assert always_valid_p(z, n) == pytest.approx(1 / ratio, rel=1e-6)


def test_through_the_front_door():
    rng = np.random.default_rng(1)
    table = {"arm": np.repeat(["a", "b"], 1000), "x": rng.normal(0, 1, 2000) + np.repeat([0, 0.2], 1000)}
    fixed = tv.ab_test(pl.DataFrame(table), arm="arm", metrics="x:mean").comparisons[0]
    valid = tv.ab_test(pl.DataFrame(table), arm="arm", metrics="x:mean", sequential=2000).comparisons[0]
    assert valid.difference == fixed.difference
    assert valid.low < fixed.low < fixed.high < valid.high
    error = (fixed.high - fixed.low) / 2 / 1.9612  # t with about 1998 degrees of freedom
    reach = always_valid_reach(2000, tuned_for=2000)
    assert (valid.high - valid.low) / 2 == pytest.approx(reach * error, rel=1e-4)
