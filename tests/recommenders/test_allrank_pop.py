"""AllRank-Pop: weights by popularity, their normalisation, and what they do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.errors import DataError, DefinitionError
from trueval.recommenders.factor_models.allrank import AllRank, AllRankPop
from trueval.recommenders.factor_models.item_weights import item_weights
from trueval.recommenders.factor_models.matrices import train_of_table
from trueval.recommenders.protocol import TrainSet


def skewed(seed: int = 0, users: int = 60, items: int = 25) -> np.ndarray:
    """Ratings of items that are rated the less the higher their number."""
    rng = np.random.default_rng(seed)
    seen = rng.random((users, items)) < 0.8 / (1 + np.arange(items) / 3)
    return np.where(seen, rng.integers(1, 6, (users, items)), np.nan)


@given(
    seed=st.integers(0, 10**6), beta=st.floats(0, 1), w_m=st.floats(0.001, 1), threshold=st.sampled_from([None, 4.0])
)
def test_both_normalisations(seed, beta, w_m, threshold):
    table = skewed(seed)
    train = train_of_table(table)
    relevant = (table >= (threshold or 1)).sum(axis=0)
    number = (~np.isnan(table)).sum()

    observed, missing = item_weights(train, "decreasing", beta_w=beta, w_m=w_m, threshold=threshold)
    weight = np.where(np.isnan(table), 0.0, observed)
    assert weight.sum() == pytest.approx(number)
    np.testing.assert_allclose(missing, w_m)
    np.testing.assert_allclose(observed * (relevant + 1.0) ** beta, observed[0] * (relevant[0] + 1.0) ** beta)

    observed, missing = item_weights(train, "increasing", beta_w=beta, w_m=w_m, threshold=threshold)
    np.testing.assert_array_equal(observed, 1.0)
    assert missing.mean() == pytest.approx(w_m)
    rising = (relevant + 1.0) ** beta
    np.testing.assert_allclose(missing, w_m * rising / rising.mean())


@pytest.mark.parametrize("weights", ["increasing", "decreasing"])
def test_without_an_exponent_it_is_allrank(weights):
    train = train_of_table(skewed())
    plain = AllRank(n_factors=3, w_m=0.02).fit(train)
    found = AllRankPop(n_factors=3, w_m=0.02, beta_w=0, weights=weights).fit(train)
    np.testing.assert_allclose(found.score(np.arange(60)), plain.score(np.arange(60)), rtol=1e-6)
    assert found.objective == pytest.approx(plain.objective, rel=1e-12)


@pytest.mark.parametrize("weights", ["increasing", "decreasing"])
@pytest.mark.parametrize("beta", [0.3, 1.0])
def test_the_objective_falls_and_is_the_weighted_sum(weights, beta):
    table = skewed(4)
    train = train_of_table(table)
    model = AllRankPop(n_factors=3, beta_w=beta, weights=weights, w_m=0.05, threshold=4, sweeps=6).fit(train)
    assert (np.diff(model.objective) < 0).all()
    popularity = (table >= 4).sum(axis=0).astype(float)
    if weights == "decreasing":
        raw = (1 / (popularity + 1)) ** beta
        observed = raw * (~np.isnan(table)).sum() / np.where(np.isnan(table), 0, raw).sum()
        weight = np.where(np.isnan(table), 0.05, observed)
    else:
        raw = (popularity + 1) ** beta
        weight = np.where(np.isnan(table), 0.05 * raw / raw.mean(), 1.0)
    q, p = model._fitted.solution.users, model._fitted.solution.items
    error = np.where(np.isnan(table), 2.0, table) - 2.0 - q @ p.T
    lengths = (q**2).sum(axis=1)[:, None] + (p**2).sum(axis=1)[None, :]
    assert (weight * (error**2 + 0.04 * lengths)).sum() == pytest.approx(model.objective[-1], rel=1e-10)


@pytest.mark.parametrize("weights", ["increasing", "decreasing"])
def test_lists_move_away_from_popular_items(weights):
    table = skewed(1, users=300, items=60)
    train = train_of_table(table)
    popularity = train.popularity

    def mean_popularity(beta: float) -> float:
        model = AllRankPop(n_factors=5, beta_w=beta, weights=weights, w_m=0.05).fit(train)
        scores = np.where(np.isnan(table), model.score(np.arange(300)), -np.inf)
        return float(popularity[np.argsort(-scores, axis=1)[:, :5]].mean())

    assert mean_popularity(1.0) < mean_popularity(0.0)


def disliked(users: int = 80, items: int = 40, least: int = 30) -> np.ndarray:
    """Two tastes among the first `least` items; each of the others has two ratings, which nobody meant well."""
    rng = np.random.default_rng(7)
    table = np.full((users, items), np.nan)
    for user in range(users):
        own = rng.choice(least, 12, replace=False)
        table[user, own] = np.where(own % 2 == user % 2, 5, 2)
    for item in range(least, items):
        table[rng.choice(users, 2, replace=False), item] = 3
    return table


@pytest.mark.parametrize("weights", ["increasing", "decreasing"])
def test_items_that_nobody_liked_do_not_fill_the_lists(weights):
    """Nobody liked the last ten items: their missing ratings weigh less, but they are not free to be predicted high."""
    table = disliked()
    train = train_of_table(table)
    _, missing = item_weights(train, weights, beta_w=0.5, w_m=0.1, threshold=5)
    assert (missing > 0).all()
    model = AllRankPop(n_factors=10, beta_w=0.5, weights=weights, w_m=0.1, threshold=5, seed=1).fit(train)
    scores = np.where(np.isnan(table), model.score(np.arange(len(table))), -np.inf)
    top = np.argsort(-scores, axis=1)[:, :5]
    assert (top >= 30).mean() < 0.05


def test_relevance_is_the_evaluations_unless_given():
    base = train_of_table(skewed())
    train = TrainSet(base.users, base.items, base.log, 0, 4.0)
    by_evaluation = item_weights(train, "increasing", beta_w=1, w_m=0.1)
    np.testing.assert_array_equal(by_evaluation[1], item_weights(base, "increasing", beta_w=1, w_m=0.1, threshold=4)[1])
    given = item_weights(train, "increasing", beta_w=1, w_m=0.1, threshold=2)
    np.testing.assert_array_equal(given[1], item_weights(base, "increasing", beta_w=1, w_m=0.1, threshold=2)[1])
    assert (by_evaluation[1] != given[1]).any()


def test_what_cannot_be_weighted_is_refused():
    for weights in ("increasing", "decreasing"):
        with pytest.raises(DataError, match=r"relevant ratings[^$]*highest is 5[^$]*lower the threshold"):
            AllRankPop(n_factors=2, threshold=6, weights=weights).fit(train_of_table(skewed()))
        AllRankPop(n_factors=2, threshold=6, weights=weights, beta_w=0).fit(train_of_table(skewed()))  # AllRank
    with pytest.raises(DefinitionError, match=r"beta_w of allrank_pop must be at most 1"):
        AllRankPop(beta_w=1.5)
    with pytest.raises(DefinitionError, match=r"weights of allrank_pop cannot be 'rising'"):
        AllRankPop(weights="rising")
