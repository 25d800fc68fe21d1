"""The power of popularity with which ratings were observed."""

from __future__ import annotations

import numpy as np
import pytest

from trueval.propensity.popularity_power import popularity_power


def test_the_power_is_found() -> None:
    popularity, liked = np.array([1.0, 2.0, 5.0, 20.0]), np.array([30.0, 10.0, 40.0, 20.0])
    for q in (0.0, 0.7, 1.5):
        assert popularity_power(popularity, liked, 3 * liked * popularity**q) == pytest.approx(q, abs=1e-3)


def test_nothing_tells_a_power() -> None:
    ones = np.ones(3)
    assert np.isnan(popularity_power(ones, ones, ones))  # all items are equally popular
    assert np.isnan(popularity_power(np.arange(3.0), np.zeros(3), ones))  # nothing is known to be liked


def test_an_item_without_ratings_counts_as_half_a_rating() -> None:
    """With two items, observed likes are explained exactly: 12/3 = (8 / ½)^q has q = ½."""
    found = popularity_power(np.array([0.0, 8.0]), np.array([10.0, 10.0]), np.array([3.0, 12.0]))
    assert found == pytest.approx(0.5, abs=1e-5)


def test_powers_beyond_three_are_three() -> None:
    for few, many, bound in ((1.0, 1e6, 3.0), (1e6, 1.0, -3.0)):
        found = popularity_power(np.array([1.0, 2.0]), np.array([10.0, 10.0]), np.array([few, many]))
        assert found == pytest.approx(bound, abs=1e-4)
