"""The shifted power law: sizes, exponents, and fits to counts."""

from __future__ import annotations

import numpy as np
import pytest

import trueval as tv
from trueval.data.power_law import PowerLaw, fit_power_law
from trueval.errors import DefinitionError
from trueval.simulation.rating_counts import curve_of_size, expected_counts, whole_counts


@pytest.mark.parametrize("alpha", [0.0, 0.7, 1.4, 2.0])
def test_counts_of_a_skewed_world_follow_the_formula(alpha: float) -> None:
    """|R(i_k)| = c1 + β (c2 + k)^-α to the next whole number, and the sum is the number of ratings."""
    world = tv.simulate("skew", alpha=alpha, users=2000, items=400, ratings=30_000, c1=3, c2=20, seed=2)
    counts = np.sort(world.log.frame.group_by("item").len()["len"].to_numpy())[::-1]
    assert counts.sum() == 30_000
    k = np.arange(1, 401)
    shape = (20 + k) ** -float(alpha)
    expected = 3 + (30_000 - 1200) / shape.sum() * shape
    assert np.abs(counts - expected).max() < 1
    assert world.options["beta"] == pytest.approx((30_000 - 1200) / shape.sum())


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.4, 2.0])
def test_exponents_are_found_again_in_whole_counts(alpha: float) -> None:
    law = curve_of_size(2000, 400_000, users=100_000, alpha=alpha, c1=5, c2=40)
    found = fit_power_law(whole_counts(expected_counts(law, 2000, 100_000)))
    assert found.alpha == pytest.approx(alpha, abs=0.05)
    assert found.explained > 0.999


def test_exponents_are_found_again_in_noisy_counts() -> None:
    rng = np.random.default_rng(3)
    found = fit_power_law(rng.poisson(PowerLaw(1.4, 3_000_000, 5, 60)(np.arange(1, 3001))))
    assert found.alpha == pytest.approx(1.4, abs=0.15)


def test_no_item_has_more_ratings_than_there_are_users() -> None:
    law = curve_of_size(100, 2000, users=100, alpha=3.0)
    counts = expected_counts(law, 100, 100)
    assert counts.max() == 100
    assert counts.sum() == pytest.approx(2000)


def test_whole_counts_keep_the_sum() -> None:
    expected = np.random.default_rng(1).exponential(3, 500)
    counts = whole_counts(expected)
    assert counts.sum() == round(expected.sum())
    assert np.abs(counts - expected).max() <= 1


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"ratings": 0}, "cannot be so many"),
        ({"ratings": 100_001}, "ask for 1 to 100,000"),
        ({"c1": -1}, "c1 must lie"),
        ({"c1": 9, "ratings": 100}, "c1 must lie"),
        ({"c2": -1}, "c2 must be above -1"),
        ({"alpha": -0.1}, "alpha must be"),
        ({"users": 0}, "more users"),
        ({"items": 1}, "more items"),
        ({"prior": {}}, "prior gives each rating"),
        ({"prior": {1: -1, 2: 2}}, "prior gives each rating"),
    ],
)
def test_impossible_curves(asked: dict, said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        tv.simulate("skew", **({"users": 1000, "items": 100} | asked))
