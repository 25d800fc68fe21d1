"""pLSA: the likelihood rises, and the factors are those of scikit-learn's factorisation under KL loss."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.errors import DataError, DefinitionError
from trueval.kernels import use_kernels, use_threads
from trueval.recommenders.plsa import as_chances, fit_topics
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import make_system


def train_of(matrix: np.ndarray, *, values: bool = True, seed: int = 0) -> TrainSet:
    user, item = np.nonzero(matrix)
    value = matrix[user, item].astype(float) if values else None
    ids = [Ids(pl.Series(range(n))) for n in matrix.shape]
    return TrainSet(*ids, ByUser.of(user, item, value, n_users=len(matrix)), seed)


def counts(users: int, items: int, *, density: float = 0.3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(1, 6, (users, items)) * (rng.random((users, items)) < density)


def two_tastes(users: int = 40, items: int = 20, seed: int = 0) -> np.ndarray:
    """Half of the users choose among the first half of the items, the others among the rest."""
    rng = np.random.default_rng(seed)
    matrix = (rng.random((users, items)) < 0.5).astype(float)
    matrix[: users // 2, items // 2 :] = 0
    matrix[users // 2 :, : items // 2] = 0
    return matrix


def log_likelihood(matrix: np.ndarray, users: np.ndarray, items: np.ndarray) -> float:
    """Σ n_ui log P(i|u), one pair at a time."""
    total = 0.0
    for u, i in zip(*np.nonzero(matrix)):
        total += matrix[u, i] * np.log(sum(users[u, z] * items[i, z] for z in range(users.shape[1])))
    return total


@given(seed=st.integers(0, 10_000), topics=st.integers(1, 11))
def test_the_likelihood_rises_with_every_step(seed, topics):
    matrix = counts(12, 9, seed=seed)
    matrix[0, 0] = 1
    model = make_system("plsa", factors=topics, iterations=30, tolerance=0, feedback="explicit").fit(train_of(matrix))
    gains = np.diff(model.likelihood)
    assert len(model.likelihood) == 30 or gains[-1] <= 0  # a fixed point ends it early
    assert (gains >= -1e-9 * abs(model.likelihood[0])).all()


def test_the_likelihood_is_that_of_the_chances():
    matrix = counts(15, 10, seed=1)
    train = train_of(matrix)
    rng = np.random.default_rng(0)
    start = rng.random((15, 3)), rng.random((10, 3))
    rows = ByUser(train.log.start, train.log.item, train.log.value)
    users, items, history = fit_topics(rows, *start, iterations=25)
    model = log_likelihood(matrix, *as_chances(users, items))
    again = fit_topics(rows, users, items, iterations=1)[2][0]  # with the users' side renewed once more
    assert history[-1] < model < again
    assert model == pytest.approx(again, rel=1e-3)
    # the first is that of the start, with the users' side renewed by hand
    scale = start[1].sum(axis=0)
    by_hand = start[0] * ((matrix / (start[0] @ start[1].T)) @ start[1]) / scale
    chances = by_hand * scale / matrix.sum(axis=1, keepdims=True)
    assert history[0] == pytest.approx(log_likelihood(matrix, chances, start[1] / scale))


@pytest.mark.parametrize("topics", [1, 4, 13])
def test_factors_are_those_of_scikit_learn(topics):
    from sklearn.decomposition import non_negative_factorization

    matrix = counts(40, 25, seed=2).astype(float)
    rng = np.random.default_rng(1)
    users, items = rng.random((40, topics)) + 0.1, rng.random((25, topics)) + 0.1
    train = train_of(matrix)
    ours = fit_topics(ByUser(train.log.start, train.log.item, train.log.value), users, items, iterations=40)
    left, right, _ = non_negative_factorization(
        matrix, W=users.copy(), H=items.T.copy(), n_components=topics, init="custom", solver="mu",
        beta_loss="kullback-leibler", max_iter=40, tol=0,
    )  # fmt: skip
    np.testing.assert_allclose(ours[0], left, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours[1], right.T, rtol=1e-6, atol=1e-9)


def test_scores_are_chances():
    matrix = counts(20, 12, seed=3)
    matrix[5] = 0
    model = make_system("plsa", factors=4).fit(train_of(matrix))
    scores = model.score(np.arange(20))
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-5)
    assert (scores >= 0).all()
    users, items = model.factors()
    np.testing.assert_array_equal(users @ items.T, scores)
    np.testing.assert_allclose(users.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(items.sum(axis=0), 1, rtol=1e-5)


def test_one_topic_is_popularity():
    """With one topic P(i|u) = n_i / n for everybody, also for who has no rows."""
    matrix = (counts(20, 12, seed=3) > 0).astype(float)
    matrix[7] = 0
    scores = make_system("plsa", factors=1).fit(train_of(matrix, values=False)).score([0, 7])
    np.testing.assert_allclose(scores, np.tile(matrix.sum(axis=0) / matrix.sum(), (2, 1)), rtol=1e-5)


def test_tastes_are_found():
    matrix = two_tastes()
    scores = make_system("plsa", factors=2, tolerance=1e-9).fit(train_of(matrix, values=False)).score(np.arange(40))
    assert scores[:20, :10].sum(axis=1) == pytest.approx(np.ones(20), abs=1e-3)
    assert scores[20:, 10:].sum(axis=1) == pytest.approx(np.ones(20), abs=1e-3)


def test_small_gains_end_it():
    train = train_of(two_tastes(seed=4), values=False)
    early, late = (make_system("plsa", factors=5, tolerance=t).fit(train) for t in (1e-2, 1e-7))
    assert 10 < len(early.likelihood) < len(late.likelihood) <= 200
    gains = np.diff(early.likelihood) / -np.array(early.likelihood[:-1])
    assert gains[-1] < 1e-2
    assert len(make_system("plsa", iterations=3).fit(train).likelihood) == 3


def test_kernels_threads_and_row_order_give_the_same_bits():
    matrix = counts(300, 60, density=0.1, seed=6)
    found = []
    for kernels, threads in (("plain", 1), ("plain", 3), ("compiled", 1), ("compiled", 3)):
        with use_kernels(kernels), use_threads(threads):
            model = make_system("plsa", factors=11, iterations=15, feedback="explicit").fit(train_of(matrix))
            found.append((*model.factors(), np.array(model.likelihood)))
    for other in found[1:]:
        for left, right in zip(found[0], other):
            np.testing.assert_array_equal(left, right)


def test_the_seed_is_the_systems_or_the_evaluations():
    matrix = counts(20, 12, seed=3)

    def scores(seed, own):
        return make_system("plsa", factors=3, iterations=2, seed=own).fit(train_of(matrix, seed=seed)).score([0])

    np.testing.assert_array_equal(scores(1, None), scores(9, 1))
    np.testing.assert_array_equal(scores(1, 4), scores(2, 4))
    assert (scores(1, None) != scores(2, None)).all()


def test_what_plsa_refuses():
    for wrong, told in [
        ({"factors": 0}, "factors of plsa must be at least 1"),
        ({"factors": True}, "factors of plsa must be a whole number"),
        ({"factors": "many"}, "factors of plsa must be a whole number[^$]*factors=many"),
        ({"tolerance": float("nan")}, "tolerance of plsa must be a number"),
        ({"tolerance": -1e-3}, "must not be negative"),
        ({"topics": 3}, "plsa has no parameter 'topics'"),
    ]:
        with pytest.raises(DefinitionError, match=told):
            make_system("plsa", **wrong)
    with pytest.raises(DataError, match=r"explicit plsa needs a value column"):
        make_system("plsa", feedback="explicit").fit(train_of(counts(5, 5), values=False))
    with pytest.raises(DataError, match=r"not negative[^$]*-1 to"):
        make_system("plsa", feedback="explicit").fit(train_of(np.array([[1, -1], [2, 1]])))
    with pytest.raises(DataError, match="has not been fitted"):
        make_system("plsa").factors()
    with pytest.raises(DataError, match="does not know this user"):
        make_system("plsa", factors=2).fit(train_of(counts(5, 5, density=0.8))).score([5])
