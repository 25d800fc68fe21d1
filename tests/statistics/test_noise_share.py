"""The share of the spread of means that is noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trueval.statistics.noise_share import noise_share


def test_share_is_one_over_f_of_repeated_measures() -> None:
    """F from the sums of squares of a two-way layout, written out."""
    values = np.array([[3.0, 5.0, 4.0], [1.0, 4.0, 2.0], [2.0, 2.0, 5.0], [0.0, 3.0, 1.0]])
    n, m = values.shape
    grand = values.mean()
    total = sum((x - grand) ** 2 for x in values.ravel())
    columns = sum(n * (values[:, j].mean() - grand) ** 2 for j in range(m))
    rows = sum(m * (values[i].mean() - grand) ** 2 for i in range(n))
    f = (columns / (m - 1)) / ((total - columns - rows) / ((n - 1) * (m - 1)))
    assert noise_share(values).share == pytest.approx(min(1.0, 1 / f))


def test_p_of_independent_errors_is_that_of_f() -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal((4000, 12)) + np.linspace(0, 0.1, 12)
    found = noise_share(values)
    assert found.p == pytest.approx(stats.f.cdf(1 / found.share / 2, 11, 11 * 3999), rel=0.02)


def correlated(rng: np.random.Generator, users: int, systems: int) -> np.ndarray:
    """Errors that systems share in part, and true values that spread as errors of their means do: half is noise."""
    common = 0.7 * rng.standard_normal((4, systems))
    errors = rng.standard_normal((users, 4)) @ common + rng.standard_normal((users, systems))
    true = (rng.standard_normal(4) @ common + rng.standard_normal(systems)) / np.sqrt(users)
    return errors + true + rng.standard_normal((users, 1))


@pytest.mark.parametrize(
    "draw", [correlated, lambda rng, n, m: rng.standard_normal((n, m)) + rng.normal(0, n**-0.5, m)]
)
def test_tests_and_bounds_hold_their_level_where_half_is_noise(draw) -> None:
    rng = np.random.default_rng(1)
    found = [noise_share(draw(rng, 80, 40)) for _ in range(400)]
    most = 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)
    assert np.mean([one.p < 0.05 for one in found]) <= most
    assert np.mean([one.at_least > 0.5 for one in found]) <= most


def test_the_best_loses_the_share_on_new_users() -> None:
    """What the winner leads by is expected to shrink by the share of noise, averaged over many worlds."""
    rng = np.random.default_rng(2)
    left, expected = [], []
    for _ in range(400):
        true = rng.normal(0, 0.1, 30)
        values = rng.standard_normal((50, 30)) + true
        best = int(values.mean(axis=0).argmax())
        left.append(true[best] - true.mean())
        expected.append((1 - noise_share(values).share) * (values.mean(axis=0)[best] - values.mean()))
    assert np.mean(left) == pytest.approx(np.mean(expected), abs=4 * np.std(np.subtract(left, expected)) / 20)


def test_nothing_to_tell() -> None:
    for values in (np.ones((5, 3)), np.ones((1, 3)), np.arange(5.0)[:, None]):
        assert np.isnan(noise_share(values).p)
