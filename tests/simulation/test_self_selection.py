"""Self-selection: pairs are met as often as the formula says, and users have as many rows as they should."""

from __future__ import annotations

import numpy as np
import pytest

import trueval as tv
from trueval.kernels import use_threads
from trueval.simulation import self_selection
from trueval.simulation.observation import MOST, ByPopularity
from trueval.simulation.self_selection import BySelfSelection, self_selected
from trueval.simulation.tastes import Tastes

USERS, ITEMS = 70, 40
EVERY = np.arange(USERS)[:, None], np.arange(ITEMS)


def tastes() -> Tastes:
    rng = np.random.default_rng(3)
    return Tastes(rng.standard_normal((USERS, 3)), rng.standard_normal((ITEMS, 3)))


def seen_by(seed: int, *, strength: float = 1.5) -> BySelfSelection:
    """Users with few rows and users with nearly all items, so that some probabilities are cut."""
    number = np.geomspace(0.5, 30.0, USERS)
    weight = (np.arange(1, ITEMS + 1) + 1.0) ** -1.3
    return self_selected(number, weight, tastes(), strength=strength, seed=seed)


def drawn(seen: BySelfSelection, **options: int) -> tuple[np.ndarray, np.ndarray]:
    user, item = zip(*seen.blocks(**options))
    return np.concatenate(user), np.concatenate(item)


def from_the_formula(seen: BySelfSelection) -> np.ndarray:
    """min(a · w · 2 / (1 + e^(−s · z)), 0.95): z the mean less those of user and item, s by factors of ten."""
    means = tastes().user_factors @ tastes().item_factors.T
    liking = means - means.mean(axis=0) - means.mean(axis=1, keepdims=True) + means.mean()
    slope = seen.strength * (np.log10(seen.weight.max()) - np.log10(seen.weight))
    lift = 2 / (1 + np.exp(-slope * liking))
    return np.minimum(np.outer(seen.activity, seen.weight) * lift, MOST)


def test_probabilities_are_those_of_the_formula() -> None:
    seen = seen_by(0)
    p = seen.probability(*EVERY)
    assert p == pytest.approx(from_the_formula(seen), rel=1e-5)
    assert p.max() == MOST
    assert p.sum(axis=1) == pytest.approx(np.geomspace(0.5, 30.0, USERS), rel=1e-3)
    assert seen.expected() == pytest.approx(p.sum())
    assert seen.rows_of_users() == pytest.approx(p.sum(axis=1))
    assert seen.lifts(*EVERY)[:, 0] == pytest.approx(np.ones(USERS))  # everybody meets the most popular item


def test_pairs_are_met_as_often_as_their_probability_says() -> None:
    """Over 500 logs, for users who make visits and users who toss a coin for each item."""
    repeats, found = 500, np.zeros((USERS, ITEMS))
    for seed in range(repeats):
        found[drawn(seen_by(seed))] += 1
    seen = seen_by(0)
    p = from_the_formula(seen)
    assert seen.visits.min() < 5 < ITEMS < seen.visits.max()
    spread = np.sqrt(repeats * p * (1 - p))
    z = (found - repeats * p) / spread
    assert abs((found - repeats * p).sum() / np.sqrt((spread**2).sum())) < 4
    assert 0.93 < z.std() < 1.07
    usual = repeats * np.minimum(p, 1 - p) > 5
    assert np.abs(z[usual]).max() < 5.5


@pytest.mark.parametrize("rows", [1, 37, 10_000])
@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_and_threads_change_nothing(rows: int, threads: int) -> None:
    with use_threads(threads):
        user, item = drawn(seen_by(3), rows=rows)
    expected = drawn(seen_by(3))
    assert (user == expected[0]).all()
    assert (item == expected[1]).all()
    assert (np.diff(user * ITEMS + item) > 0).all()  # sorted, and no pair twice


def test_likely_pairs_stand_for_those_that_are_met() -> None:
    seen = seen_by(0)
    user, item, met = seen.likely(np.random.default_rng(5), 200_000)
    p = from_the_formula(seen)
    assert met == pytest.approx(p[user, item] / (seen.activity[user] * seen.weight[item]), rel=1e-5)
    estimate = np.bincount(item, met, ITEMS) / 200_000 * seen.activity.sum() * seen.weight.sum()
    assert estimate == pytest.approx(p.sum(axis=0), rel=0.1)


def test_larger_worlds_are_summed_over_some_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of rows stays right; those of single users about so."""
    whole = tv.simulate("world", users=400, items=300, ratings=9000, self_selection=2.0, seed=2)
    monkeypatch.setattr(self_selection, "_EXACT", 10_000)
    world = tv.simulate("world", users=400, items=300, ratings=9000, self_selection=2.0, seed=2)
    p = world.seen.probability(np.arange(400)[:, None], np.arange(300))
    assert p.sum() == pytest.approx(world.seen.expected(), rel=0.005)
    assert len(world.log) == pytest.approx(9000, rel=0.04)
    assert np.std(p.sum(axis=1) / whole.seen.rows_of_users()) < 0.25


def test_without_self_selection_nothing_changes() -> None:
    """Strength 0 is observation by popularity, and the world without the option."""
    flat = seen_by(1, strength=0.0)
    plain = ByPopularity(flat.activity, flat.weight)
    assert flat.probability(*EVERY) == pytest.approx(plain.probability(*EVERY))
    world = tv.simulate("world", users=60, items=40, self_selection=0.0, seed=5)
    assert type(world.seen) is ByPopularity
    assert world.log.frame.equals(tv.simulate("world", users=60, items=40, seed=5).log.frame)
