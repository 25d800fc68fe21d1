"""Errors of the first kind and power of the tests, for differences as metrics make them: sparse, skewed, few values.

Where nothing differs, a test at 5 % finds something in at most 5 % of worlds. Full runs are marked slow.
"""

from __future__ import annotations

import numpy as np
import pytest
from comparison_worlds import world

from trueval.api import Result

GAINS = 1 / np.log2(np.arange(2, 12))  # nDCG of one relevant item by its rank


def ndcg(rng, shape, share):
    return np.where(rng.random(shape) < share, rng.choice(GAINS, shape), 0.0)


def hits(rng, shape, share):
    return (rng.random(shape) < share).astype(float)


# Differences of systems that are equally good. The last one is not symmetric: a beta variable less its mean.
NOTHING = {
    "normal": lambda rng, shape: rng.normal(0, 1, shape),
    "sparse ndcg": lambda rng, shape: ndcg(rng, shape, 0.3) - ndcg(rng, shape, 0.3),
    "very sparse ndcg": lambda rng, shape: ndcg(rng, shape, 0.05) - ndcg(rng, shape, 0.05),
    "hits": lambda rng, shape: hits(rng, shape, 0.3) - hits(rng, shape, 0.3),
    "rare hits": lambda rng, shape: hits(rng, shape, 0.05) - hits(rng, shape, 0.05),
    "skewed": lambda rng, shape: rng.beta(0.5, 2, shape) - 0.2,
}


def compared(draw, users, worlds, *, seed=1, resamples=499, **options):
    """Every world as a metric of its own; resamples of users are shared, the worlds are not."""
    rng = np.random.default_rng(seed)
    values = {f"ndcg@{w}": d for w, d in enumerate(draw(rng, (worlds, users)), 1)}
    nothing = dict.fromkeys(values, np.zeros(users))
    result = Result(world({"base": nothing, "new": values}))
    return list(result.compare("base", correct="none", resamples=resamples, **options))


def room(share, worlds):
    """Three standard deviations of a share over so many worlds."""
    return 3 * np.sqrt(share * (1 - share) / worlds)


def share_below(found, alpha):
    return np.mean([c.p < alpha for c in found])


@pytest.mark.parametrize("test", ["t", "bootstrap"])
@pytest.mark.parametrize("users", [3, 20])
@pytest.mark.parametrize("name", NOTHING)
def test_size_is_held(name, users, test):
    if (name, test) == ("skewed", "t"):
        pytest.skip("t, like every test of signs, takes differences as symmetric where there are few")
    found = compared(NOTHING[name], users, 200, test=test)
    assert share_below(found, 0.05) <= 0.05 + room(0.05, 200)
    assert share_below(found, 0.01) <= 0.01 + room(0.01, 200)


@pytest.mark.slow
@pytest.mark.parametrize("test", ["t", "bootstrap"])
@pytest.mark.parametrize("users", [3, 5, 8, 10, 12, 15, 20, 30, 50, 200])
@pytest.mark.parametrize("name", NOTHING)
def test_size_is_held_in_full(name, users, test):
    if (name, test) == ("skewed", "t"):
        pytest.skip("t, like every test of signs, takes differences as symmetric where there are few")
    found = [c for part in range(8) for c in compared(NOTHING[name], users, 500, seed=part, test=test, resamples=999)]
    # of a dozen skewed differences nobody knows the tail: no test that was tried holds its size there exactly
    known = (0.062, 0.018) if name == "skewed" and users <= 12 else (0.05, 0.01)
    for alpha, size in zip((0.05, 0.01), known):
        assert share_below(found, alpha) <= size + room(alpha, 4000)


@pytest.mark.slow
@pytest.mark.parametrize("alternative", ["better", "worse"])
@pytest.mark.parametrize("users", [10, 20, 50])
@pytest.mark.parametrize("name", ["normal", "sparse ndcg", "hits"])
def test_one_sided_size_is_held_in_full(name, users, alternative):
    for test in ("t", "bootstrap"):
        found = compared(NOTHING[name], users, 3000, test=test, alternative=alternative, resamples=999)
        assert share_below(found, 0.05) <= 0.05 + room(0.05, 3000), test


def powers(users, worlds, effect):
    """Share of worlds in which a difference of so many standard deviations is shown: by t as it is, ours, bootstrap."""
    from scipy import stats

    rng = np.random.default_rng(2)
    d = rng.normal(effect, 1, (worlds, users))
    ours, drawn = (share_below(compared(lambda *_: d, users, worlds, test=test), 0.05) for test in ("t", "bootstrap"))
    return np.mean(stats.ttest_1samp(d, 0, axis=1).pvalue < 0.05), ours, drawn


@pytest.mark.parametrize(("users", "effect", "lost"), [(12, 0.9, 0.1), (50, 0.4, 0.05)])
def test_power_is_near_that_of_t_where_t_is_right(users, effect, lost):
    """Normal differences: the exact test of twelve users loses hardly anything, the bootstrap-t of so few a little."""
    best, ours, drawn = powers(users, 300, effect)
    assert 0.7 < best < 0.95
    assert ours > best - 0.05
    assert drawn > best - lost


@pytest.mark.parametrize("test", ["t", "bootstrap"])
def test_intervals_of_few_differences_cover(test):
    """Eight to twenty users, hits of one half against one in five: about 95 % of intervals hold the difference."""
    for users in (8, 20):
        found = compared(lambda rng, shape: hits(rng, shape, 0.5) - hits(rng, shape, 0.2), users, 200, test=test)
        held = [c.low - 1e-9 <= 0.3 <= c.high + 1e-9 for c in found if not np.isnan(c.low)]
        assert np.mean(held) >= 0.95 - room(0.05, 200) - 0.01
