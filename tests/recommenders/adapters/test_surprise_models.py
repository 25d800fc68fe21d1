"""Algorithms of Surprise: whole blocks give what `predict` gives pair by pair."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from adapter_worlds import assert_same_lists, parts, told, triples, with_strangers, world

import trueval as tv
from trueval.errors import DataError

surprise = pytest.importorskip("surprise", reason="scikit-surprise is not installed")


def fitted(algorithm, train, *, seed=0):
    """Fitted by the library alone, on rows in an order of their own."""
    rows = triples(train)
    np.random.default_rng(seed).shuffle(rows)
    reader = surprise.Reader(rating_scale=(1, 5))
    trainset = surprise.Dataset(reader).construct_trainset([(u, i, v, None) for u, i, v in rows])
    return algorithm.fit(trainset)


def predicted(algorithm, train, users=None, **how):
    users = train.users.values if users is None else train.users.decode(users)
    return np.array([[algorithm.predict(u, i, **how).est for i in train.items.values] for u in users])


ALGORITHMS = {
    "svd": lambda: surprise.SVD(n_factors=5, n_epochs=5, random_state=1),
    "pmf": lambda: surprise.SVD(n_factors=5, n_epochs=5, biased=False, random_state=1),
    "svdpp": lambda: surprise.SVDpp(n_factors=4, n_epochs=3, random_state=1),
    "nmf": lambda: surprise.NMF(n_factors=4, n_epochs=8, random_state=1),
    "biased nmf": lambda: surprise.NMF(n_factors=4, n_epochs=3, biased=True, random_state=1),
    "baseline": lambda: surprise.BaselineOnly(verbose=False),
    "slope one": lambda: surprise.SlopeOne(),
    "co-clustering": lambda: surprise.CoClustering(random_state=1),
}


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_blocks_equal_predictions(name):
    train, _ = world()
    algorithm = fitted(ALGORITHMS[name](), train)
    scores = tv.adapt(algorithm).fit(train).score(np.arange(50))
    np.testing.assert_allclose(scores, predicted(algorithm, train, clip=False), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.clip(scores, 1, 5), predicted(algorithm, train), rtol=1e-12)


NEIGHBOURS = ["KNNBasic", "KNNWithMeans", "KNNWithZScore", "KNNBaseline"]
CHOICES = list(itertools.product((True, False), (3, 40), (1, 4)))


@pytest.mark.parametrize("similarity", ["cosine", "msd", "pearson"])
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_neighbours_equal_predictions(name, similarity):
    train, _ = world()
    for by_users, k, least in CHOICES:
        options = {"name": similarity, "user_based": by_users}
        algorithm = getattr(surprise, name)(k=k, min_k=least, sim_options=options, verbose=False)
        algorithm = fitted(algorithm, train, seed=k)
        users = np.array([4, 0, 31])
        scores = tv.adapt(algorithm).fit(train).score(users)
        wanted = predicted(algorithm, train, users, clip=False)
        np.testing.assert_allclose(scores, wanted, rtol=1e-10, err_msg=f"{by_users} {k} {least}")


def test_ties_between_neighbours_follow_the_order_of_ratings():
    """Many equal similarities: which of the tied neighbours count depends on who rated first."""
    train, _ = world(seed=2)
    algorithm = surprise.KNNBasic(k=2, sim_options={"user_based": True}, verbose=False)
    algorithm = fitted(algorithm, train)
    algorithm.sim = np.round(algorithm.sim, 1)
    for by_users in (True, False):
        algorithm = fitted(surprise.KNNBasic(k=2, sim_options={"user_based": by_users}, verbose=False), train)
        algorithm.sim = np.round(algorithm.sim, 1)
        scores = tv.adapt(algorithm).fit(train).score(np.arange(50))
        np.testing.assert_allclose(scores, predicted(algorithm, train, clip=False), rtol=1e-12)


class Mine(surprise.AlgoBase):
    """An algorithm of somebody's own, which nobody can know in advance."""

    def estimate(self, u, i):
        if i % 7 == 0:
            raise surprise.PredictionImpossible("no idea")
        return (u * 13 + i * 5) % 17 / 3


class Changed(surprise.SVD):
    """Inherits an algorithm, and estimates in its own way."""

    def estimate(self, u, i):
        return float(-i)


@pytest.mark.parametrize("make", [Mine, Changed])
def test_own_algorithms_are_asked_pair_by_pair(make):
    train, _ = world()
    algorithm = fitted(make(), train)
    scores = tv.adapt(algorithm).fit(train).score(np.arange(50))
    np.testing.assert_array_equal(scores, predicted(algorithm, train, clip=False))


@pytest.mark.parametrize("name", ["svd", "slope one"])
def test_lists_are_those_of_the_predictions(name):
    train, task = world()
    algorithm = fitted(ALGORITHMS[name](), train)
    seen = {(u, i) for u, i, _ in triples(train)}

    def theirs(user):
        unseen = [item for item in train.items.values if (user, item) not in seen]
        return sorted(unseen, key=lambda item: -algorithm.predict(user, item, clip=False).est)

    assert_same_lists(tv.adapt(algorithm).fit(train), task, theirs)


def test_algorithms_are_fitted_on_train_and_stay_as_they_were():
    made = parts()
    train, _ = told(made)
    given = ALGORITHMS["svd"]()
    system = tv.adapt(given).fit(train)
    assert not hasattr(given, "trainset")
    reader = surprise.Reader(rating_scale=(1, 5))
    rows = [(u, i, v, None) for u, i, v in triples(train)]
    own = ALGORITHMS["svd"]().fit(surprise.Dataset(reader).construct_trainset(rows))
    np.testing.assert_allclose(system.score(np.arange(50)), predicted(own, train, clip=False), rtol=1e-12)
    result = tv.evaluate(made, [given, surprise.KNNBasic(verbose=False)], metrics="ndcg@5", interval="none")
    assert 0 < result["SVD", "ndcg@5"].value < 1
    assert 0 < result["KNNBasic", "ndcg@5"].value < 1


def test_draws_follow_the_seed():
    train, _ = world()
    one, two = (tv.adapt(surprise.SVD(n_factors=3, n_epochs=2)).fit(train) for _ in range(2))
    np.testing.assert_array_equal(one.factors()[0], two.factors()[0])
    assert one.deterministic
    drawn = tv.adapt(surprise.NormalPredictor()).fit(train)
    assert not drawn.deterministic
    assert "draws new predictions" in drawn.caution
    before = tv.adapt(fitted(surprise.NormalPredictor(), train)).fit(train)
    assert not before.deterministic  # whoever fitted it


def test_integer_ids_and_ids_of_another_type():
    train, _ = world(integers=True)
    algorithm = fitted(ALGORITHMS["svd"](), train)
    np.testing.assert_allclose(
        tv.adapt(algorithm).fit(train).score(np.arange(50)), predicted(algorithm, train, clip=False), rtol=1e-12
    )
    words, _ = world()
    with pytest.raises(DataError, match=r"user ids are of different types[^$]*SVD"):
        tv.adapt(algorithm).fit(words)


def test_the_unknown_and_the_unrated_are_refused():
    made = with_strangers(parts())
    algorithm = fitted(ALGORITHMS["svd"](), world()[0])
    with pytest.raises(DataError, match=r"SVD does not know every item[^$]*'i99'"):
        tv.evaluate(made, {"svd": algorithm}, design="AR-AI-AN", interval="none")
    result = tv.evaluate(made, {"svd": tv.adapt(algorithm, unknown="last")}, design="AR-AI-AN", interval="none")
    assert any("'i99': ranked last" in told for told in result.warnings)
    with pytest.raises(DataError, match=r"SVD needs a value column"):
        tv.evaluate(parts(values=False), [surprise.SVD()])


def test_broken_algorithms_are_refused():
    train, _ = world()
    lost = fitted(ALGORITHMS["svd"](), train)
    lost.pu[3] = np.nan
    with pytest.raises(DataError, match=r"user factors are not finite[^$]*SVD[^$]*row 3"):
        tv.adapt(lost).fit(train)
    broken = fitted(type("Broken", (surprise.AlgoBase,), {"estimate": lambda self, u, i: float("nan")})(), train)
    with pytest.raises(DataError, match=r"Broken gave a score that is not a number[^$]*user 'u02'"):
        tv.adapt(broken).fit(train).score(np.array([2]))
