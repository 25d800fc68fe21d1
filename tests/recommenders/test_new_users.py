"""People whom a system was not fitted on: their own rows give users of the train set (nearly) their own scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from trueval.errors import TruevalError
from trueval.recommenders.factor_models.matrices import train_of_table
from trueval.recommenders.new_users import can_fold_in, score_new_user
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import make_system


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    """Ratings with structure: two tastes, 60 people, 40 items, about 40 % observed."""
    rng = np.random.default_rng(5)
    tastes, kinds = rng.standard_normal((60, 2)), rng.standard_normal((40, 2))
    ratings = np.clip(np.rint(3 + tastes @ kinds.T + 0.3 * rng.standard_normal((60, 40))), 1, 5)
    return np.where(rng.random(ratings.shape) < 0.4, ratings, np.nan)


@pytest.fixture(scope="module")
def train(table: np.ndarray) -> TrainSet:
    return train_of_table(table, seed=2)


def _rows(table: np.ndarray, user: int) -> tuple[np.ndarray, np.ndarray]:
    items = np.flatnonzero(~np.isnan(table[user]))
    return items, table[user, items]


# Systems whose users' side is exactly a function of the user's rows.
EXACT = [
    "popularity", "average", "itemknn", "itemknn[feedback=explicit]", "ease", "ease[threshold=4]",
    "puresvd[factors=5]", "allrank[factors=4]", "mf_rmse[factors=2]", "allrank_pop[factors=4]",
]  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_own_rows_give_own_scores(name: str, train: TrainSet, table: np.ndarray) -> None:
    fitted = make_system(name).fit(train)
    for user in (0, 7, 59):
        items, values = _rows(table, user)
        turned = score_new_user(fitted, items[::-1], values[::-1])  # in any order
        np.testing.assert_allclose(turned, fitted.score(np.array([user]))[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("name", "least"), [("plsa[factors=3]", 0.99), ("svdpp[factors=2,epochs=200]", 0.9)])
def test_own_rows_give_nearly_own_scores(name: str, least: float, train: TrainSet, table: np.ndarray) -> None:
    """Where the users' side was left before its optimum, or is one step behind the items'."""
    fitted = make_system(name).fit(train)
    for user in (0, 7, 59):
        found = np.corrcoef(score_new_user(fitted, *_rows(table, user)), fitted.score(np.array([user]))[0])[0, 1]
        assert found > least


def test_neighbours_of_a_new_user_by_the_formula(train: TrainSet, table: np.ndarray) -> None:
    fitted = make_system("userknn", k=5, shrink=2.0, feedback="explicit").fit(train)
    filled = np.nan_to_num(table)
    items, values = np.array([1, 4, 30]), np.array([5.0, 1.0, 3.0])
    own = np.zeros(40)
    own[items] = values
    cosine = filled @ own / (np.linalg.norm(filled, axis=1) * np.linalg.norm(own) + 2.0)
    nearest = np.argsort(-cosine, kind="stable")[:5]
    np.testing.assert_allclose(score_new_user(fitted, items, values), cosine[nearest] @ filled[nearest], rtol=1e-5)


def test_svdpp_minimises_the_part_of_the_objective_that_is_the_users(train: TrainSet, table: np.ndarray) -> None:
    fitted = make_system("svdpp", factors=2, epochs=50).fit(train)
    items, values = _rows(table, 3)
    vectors = fitted.factors()[1].astype(float)
    chosen = fitted._chosen[items].sum(axis=0) / np.sqrt(len(items))

    def objective(own: np.ndarray) -> float:
        p, bias = own[:2], own[2]
        q = vectors[items, :2]
        error = values - fitted._mean - bias - vectors[items, -1] - q @ (p + chosen)
        return float(np.sum(error**2) + 0.02 * len(items) * (bias**2 + p @ p))

    best = minimize(objective, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).x
    np.testing.assert_allclose(
        fitted.fold_in(items, values)[:3], [*(best[:2] + chosen), fitted._mean + best[2]], atol=1e-4
    )


@pytest.mark.parametrize("options", [{}, {"confidence": True}, {"threshold": 3.0}])
def test_wrmf_is_the_librarys_half_sweep(options: dict, train: TrainSet, table: np.ndarray) -> None:
    als = pytest.importorskip("implicit.als", reason="needs implicit")
    sparse = pytest.importorskip("scipy.sparse")
    fitted = make_system("wrmf", factors=4, **options).fit(train)
    items, values = _rows(table, 3)
    theirs = als.AlternatingLeastSquares(factors=4, alpha=5.0, regularization=50.0, use_gpu=False)
    theirs.item_factors = fitted.factors()[1]
    kept = values >= options.get("threshold", 0)
    weights = (values if options.get("confidence") else np.ones(len(values)))[kept].astype(np.float32)
    row = sparse.csr_matrix((weights, (np.zeros(kept.sum(), int), items[kept])), shape=(1, 40))
    expected = np.ravel(theirs.recalculate_user(0, row))
    np.testing.assert_allclose(fitted.fold_in(items, values), expected, rtol=1e-3, atol=1e-5)


def test_random_depends_on_the_ratings_alone(train: TrainSet) -> None:
    fitted = make_system("random").fit(train)
    first = score_new_user(fitted, [1, 2], [3.0, 4.0])
    assert (first == score_new_user(fitted, [2, 1], [4.0, 3.0])).all()
    assert (first != score_new_user(fitted, [1, 2], [3.0, 5.0])).any()
    assert len(set(first.tolist())) > 30


def test_plsa_without_ratings_is_everybody(train: TrainSet) -> None:
    fitted = make_system("plsa", factors=3).fit(train)
    nobody = score_new_user(fitted, np.array([], int), [])
    np.testing.assert_allclose(nobody, fitted.score(np.arange(60)).mean(axis=0), rtol=1e-4)


@pytest.mark.parametrize("kind", ["als", "neighbours"])
def test_models_of_implicit(kind: str, train: TrainSet, table: np.ndarray) -> None:
    implicit = pytest.importorskip("implicit", reason="needs implicit")
    model = {
        "als": lambda: implicit.als.AlternatingLeastSquares(factors=4, iterations=40, random_state=1, use_gpu=False),
        "neighbours": lambda: implicit.nearest_neighbours.CosineRecommender(K=6),
    }[kind]()
    fitted = make_system(model).fit(train)
    assert can_fold_in(fitted)
    found = score_new_user(fitted, *_rows(table, 3))
    own = fitted.score(np.array([3]))[0]
    np.testing.assert_allclose(found, own, rtol=0.02, atol=0.02 * np.ptp(own))


def test_what_cannot_fold_in_says_so(train: TrainSet) -> None:
    implicit = pytest.importorskip("implicit", reason="needs implicit")
    bpr = make_system(implicit.bpr.BayesianPersonalizedRanking(factors=2, num_threads=1)).fit(train)
    assert not can_fold_in(bpr)
    assert not can_fold_in(make_system("optimal_true"))
    with pytest.raises(TruevalError, match="mine cannot recommend to people it has not been fitted on"):
        score_new_user(bpr, [0], [1.0], name="mine")


@pytest.mark.parametrize(
    "name", ["popularity", "random", "ease", "itemknn", "userknn", "puresvd[factors=3]", "plsa[factors=3]"]
)
@pytest.mark.parametrize(
    ("items", "values", "words"),
    [([40], [1.0], "does not know"), ([1, 1], [1.0, 2.0], "twice"), ([1], [np.nan], "finite"), ([1.5], [1.0], "codes")],
)
def test_spoiled_profiles(name: str, items: list, values: list, words: str, train: TrainSet) -> None:
    with pytest.raises(TruevalError, match=words):
        score_new_user(make_system(name).fit(train), items, values)
    with pytest.raises(TruevalError, match="fitted"):
        score_new_user(make_system(name), [0], [1.0])
