"""Whether popular items are liked more: the number by hand, its expectation and its interval by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from trueval.audit.alignment import alignment
from trueval.audit.item_ratings import ItemRatings
from trueval.audit.rank_correlation import kendall


def world(rng: np.random.Generator, items: int, *, slope: float = 0.0, skew: str = "power law") -> ItemRatings:
    """Items whose chance of a like grows by the slope per standard deviation of their log popularity."""
    if skew == "power law":
        ratings = np.minimum(rng.zipf(1.4, items), 6000)
    else:
        ratings = np.maximum(1, rng.lognormal(3, 1.5, items)).astype(np.int64)
    place = np.log(ratings)
    place = (place - place.mean()) / max(place.std(), 1e-9)
    chance = np.clip(rng.beta(3, 2, items) + slope * place, 0, 1)
    return ItemRatings.of_counts(ratings, rng.binomial(ratings, chance), users=10_000_000)


def test_it_is_a_covariance():
    counted = world(np.random.default_rng(1), 200)
    n, ratio = counted.ratings, counted.liked / counted.ratings
    assert alignment(counted).value == pytest.approx(np.cov(n, ratio, ddof=0)[0, 1] / n.mean())


def test_too_few_items_have_no_interval():
    two = alignment(ItemRatings.of_counts(np.array([3, 1, 0]), np.array([3, 0, 0]), users=9))
    assert two.value == pytest.approx(3 / 4 - 1 / 2)
    assert np.isnan(two.low)
    assert two.direction == "unclear"
    assert two.to_dict()["low"] is None
    assert np.isnan(alignment(ItemRatings.of_counts(np.zeros(2, int), np.zeros(2, int), users=9)).value)


def test_without_a_relation_it_is_0_and_tau_is_not():
    """Five standard errors: the mean of τ is far away from 0, and this one is not."""
    rng = np.random.default_rng(2)
    worlds = [world(rng, 400) for _ in range(300)]
    own = np.array([alignment(one).value for one in worlds])
    taus = np.array([kendall(one.ratings, one.liked / one.ratings) for one in worlds])
    assert abs(own.mean()) < 4 * own.std() / np.sqrt(300)
    assert abs(taus.mean()) > 5 * taus.std() / np.sqrt(300)


def alarms(rounds: int, items: int, skew: str) -> float:
    rng = np.random.default_rng(items)
    return float(np.mean([alignment(world(rng, items, skew=skew)).direction != "unclear" for _ in range(rounds)]))


@pytest.mark.slow
@pytest.mark.parametrize("skew", ["power law", "lognormal"])
@pytest.mark.parametrize("items", [50, 300, 3000])
def test_false_alarms_stay_at_their_level(items, skew):
    """At most 5 %, with four standard errors and half a point for what the t distribution approximates."""
    assert alarms(4000, items, skew) < 0.05 + 0.005 + 4 * np.sqrt(0.05 * 0.95 / 4000)


def test_false_alarms_stay_at_their_level_quickly():
    assert alarms(500, 300, "power law") < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 500)


@pytest.mark.parametrize(("slope", "direction"), [(0.1, "aligned"), (-0.1, "opposed")])
def test_relations_are_found(slope, direction):
    rng = np.random.default_rng(3)
    found = [alignment(world(rng, 1000, slope=slope)).direction for _ in range(40)]
    assert found.count(direction) >= 36
