"""Models of implicit: the same lists as the library's own `recommend`, fitted here and elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from adapter_worlds import assert_same_lists, parts, told, with_strangers, world
from scipy import sparse

import trueval as tv
from trueval.data.by_user import ByUser
from trueval.errors import DataError, DefinitionError
from trueval.facts.from_scores import rank_system

implicit = pytest.importorskip("implicit", reason="implicit is not installed")
from implicit.als import AlternatingLeastSquares  # noqa: E402
from implicit.bpr import BayesianPersonalizedRanking  # noqa: E402
from implicit.lmf import LogisticMatrixFactorization  # noqa: E402
from implicit.nearest_neighbours import BM25Recommender, CosineRecommender, TFIDFRecommender  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:OpenBLAS", "ignore:Method expects CSR", "ignore:Intel MKL")
FACTOR = {
    "als": lambda **more: AlternatingLeastSquares(factors=6, iterations=4, num_threads=1, **more),
    "bpr": lambda **more: BayesianPersonalizedRanking(factors=6, iterations=8, num_threads=1, **more),
    "lmf": lambda **more: LogisticMatrixFactorization(factors=6, iterations=6, num_threads=1, **more),
}
NEAR = {
    "cosine": lambda: CosineRecommender(K=8),
    "tfidf": lambda: TFIDFRecommender(K=8),
    "bm25": lambda: BM25Recommender(K=8),
}


def matrix(train, users=None, items=None) -> sparse.csr_matrix:
    """The train part as somebody else would write it: rows and columns in an order of their own."""
    users = np.arange(len(train.users)) if users is None else users
    items = np.arange(len(train.items)) if items is None else items
    dense = np.zeros((len(train.users), len(train.items)), np.float32)
    dense[train.log.user, train.log.item] = 1 if train.log.value is None else train.log.value
    return sparse.csr_matrix(dense[np.ix_(users, items)])


@pytest.mark.parametrize("name", [*FACTOR, *NEAR])
def test_fitted_models_give_their_own_lists(name):
    train, task = world()
    rng = np.random.default_rng(5)
    users, items = rng.permutation(len(train.users)), rng.permutation(len(train.items))
    rows = matrix(train, users, items)
    model = FACTOR[name](random_state=3) if name in FACTOR else NEAR[name]()
    model.fit(rows, show_progress=False)
    ids = {"users": train.users.decode(users), "items": train.items.decode(items)}
    row_of = {user: row for row, user in enumerate(ids["users"])}

    def theirs(user):
        row = row_of[user]
        found, _ = model.recommend(row, rows[row], N=6, filter_already_liked_items=True)
        # a list that would be too short is filled with liked items, filter or not
        return [ids["items"][int(one)] for one in found if one not in rows[row].indices]

    system = tv.adapt(model, **ids).fit(train)
    assert_same_lists(system, task, theirs)
    assert hasattr(system, "factors") == (name in FACTOR)
    assert "fitted before" in system.name
    assert system.caution == ""


@pytest.mark.parametrize("name", list(FACTOR))
def test_models_in_our_order_need_no_ids(name):
    train, _task = world()
    model = FACTOR[name](random_state=3)
    model.fit(matrix(train), show_progress=False)
    system = tv.adapt(model).fit(train)
    wanted = np.asarray(model.user_factors) @ np.asarray(model.item_factors).T
    np.testing.assert_allclose(system.score(np.arange(50)), wanted, rtol=1e-5)


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("name", list(FACTOR))
def test_models_are_fitted_on_train_and_stay_as_they_were(name, values):
    made = parts(values=values)
    train, _task = told(made)
    given = FACTOR[name](random_state=7)
    system = tv.adapt(given).fit(train)
    assert given.item_factors is None
    own = FACTOR[name](random_state=7)
    own.fit(matrix(train), show_progress=False)
    wanted = np.asarray(own.user_factors) @ np.asarray(own.item_factors).T
    np.testing.assert_allclose(system.score(np.arange(50)), wanted, rtol=1e-4, atol=1e-5)
    assert "fitted on train" in system.name


@pytest.mark.parametrize("name", list(FACTOR))
def test_a_seed_makes_fits_repeatable(name):
    train, _ = world()
    first, second = (tv.adapt(FACTOR[name]()).fit(train) for _ in range(2))
    assert first.deterministic
    for one, other in zip(first.factors(), second.factors()):
        np.testing.assert_array_equal(one, other)
    other = tv.adapt(FACTOR[name]()).fit(replace(train, seed=1))
    assert not np.array_equal(first.factors()[0], other.factors()[0])


def test_bpr_on_several_threads_says_that_it_is_not_repeatable():
    made = parts()
    train, _ = told(made)
    model = BayesianPersonalizedRanking(factors=4, iterations=2, num_threads=2)
    system = tv.adapt(model).fit(train)
    assert not system.deterministic
    result = tv.evaluate(made, {"bpr": model}, interval="none")
    assert any("bpr" in told and "num_threads=1" in told for told in result.warnings)
    model.fit(matrix(train), show_progress=False)
    assert tv.adapt(model).fit(train).deterministic  # what is fitted stays as it is
    threads = LogisticMatrixFactorization(factors=4, iterations=2, num_threads=2)
    assert "number of threads" in tv.adapt(threads).fit(train).caution


def test_models_are_evaluated_as_they_are():
    result = tv.evaluate(
        parts(),
        {"als": FACTOR["als"](), "near": NEAR["cosine"](), "top": "popularity"},
        metrics=["ndcg@5", "coverage@5"],
        interval="none",
    )
    for name in ("als", "near", "top"):
        assert 0 < result[name, "ndcg@5"].value < 1
    assert "implicit" in str(result.manifest["systems"]["als"])


def test_neighbours_rank_items_without_a_neighbour_last():
    train, _task = world()
    model = CosineRecommender(K=2)
    model.fit(matrix(train), show_progress=False)
    system = tv.adapt(model).fit(train)
    scores = system.score(np.arange(50))
    reached = (matrix(train) @ (model.similarity > 0).astype(np.float32)).toarray() > 0
    assert (~reached).any()
    for row, near in zip(scores, reached):
        if near.any() and not near.all():
            assert row[near].min() > row[~near].max()


def test_cold_users_and_items_are_told_of_or_refused():
    made = with_strangers(parts())
    train, task = told(made)
    system = tv.adapt(FACTOR["als"]()).fit(train)
    assert "'i99': ranked last" in system.caution
    assert "'u99': all tied" in system.caution
    with pytest.raises(DataError, match=r"does not know every"):
        rank_system(tv.adapt(FACTOR["als"](), unknown="error").fit(train), task)


def test_refitting_forgets_what_was_learned():
    train, _ = world()
    model = FACTOR["als"](random_state=1)
    model.fit(sparse.csr_matrix(np.eye(4, dtype=np.float32)), show_progress=False)
    with pytest.raises(DataError, match=r"4 users; the log has 50"):
        tv.adapt(model).fit(train)
    again = tv.adapt(model, refit=True).fit(train)
    assert again.score(np.array([0])).shape == (1, 35)
    assert model.user_factors.shape[0] == 4


def test_what_implicit_cannot_learn_from_is_refused():
    train, _ = world()
    with pytest.raises(DataError, match="empty train set"):
        tv.adapt(FACTOR["als"]()).fit(replace(train, log=ByUser.empty(50)))
    inside = type("NMSLibModel", (), {"__module__": "implicit.ann.nmslib"})
    with pytest.raises(DefinitionError, match=r"NMSLibModel[^$]*the model that is inside"):
        tv.adapt(inside()).fit(train)
