"""Systems that know no person, systems that already exist, and what cannot be a system."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.errors import DataError, DefinitionError
from trueval.recommenders.baselines import Average, Popularity, Random
from trueval.recommenders.given import Factors, Function, Scores
from trueval.recommenders.protocol import Recommender, TrainSet
from trueval.recommenders.registry import make_system, name_systems, systems

USERS, ITEMS = ["ann", "bob", "cy"], [10, 20, 30, 40]
LOG = [("ann", 10, 5.0), ("ann", 20, 3.0), ("bob", 10, 4.0), ("cy", 10, 1.0), ("cy", 30, 2.0)]


def train_set(*, values: bool = True, seed: int = 0) -> TrainSet:
    frame = pl.DataFrame(LOG, schema=["user", "item", "value"], orient="row")
    users, items = Ids(pl.Series(USERS)), Ids(pl.Series(ITEMS))
    return TrainSet(users, items, ByUser.code(frame if values else frame.drop("value"), users, items), seed)


def many(users: int, items: int, seed: int = 0) -> TrainSet:
    return TrainSet(
        Ids(pl.Series(range(users))), Ids(pl.Series(range(items))), ByUser.empty(users), seed
    )  # fmt: skip


# ---- random --------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 2**31), block=st.integers(1, 40))
def test_random_scores_do_not_depend_on_blocks(seed, block):
    system = Random(seed=seed).fit(many(40, 15))
    whole = system.score(np.arange(40))
    parts = [system.score(np.arange(a, min(a + block, 40))) for a in range(0, 40, block)]
    np.testing.assert_array_equal(np.vstack(parts), whole)
    np.testing.assert_array_equal(system.score(np.array([7, 3, 7])), whole[[7, 3, 7]])


def test_random_scores_are_seeded():
    users = np.arange(6)
    first = Random(seed=1).fit(many(6, 50)).score(users)
    np.testing.assert_array_equal(first, Random(seed=1).fit(many(6, 50, seed=9)).score(users))
    assert (first != Random(seed=2).fit(many(6, 50)).score(users)).mean() > 0.9
    # without a seed of its own it follows the evaluation's
    own = [Random().fit(many(6, 50, seed=seed)).score(users) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(own[0], own[1])
    assert (own[0] != own[2]).mean() > 0.9


def test_random_scores_are_uniform_and_independent():
    scores = Random(seed=3).fit(many(300, 200)).score(np.arange(300)).astype(np.float64) / 2**24
    assert stats.kstest(scores.ravel(), "uniform").pvalue > 0.001
    for left, right in ((scores[:-1], scores[1:]), (scores[:, :-1], scores[:, 1:])):  # users, then items
        assert abs(np.corrcoef(left.ravel(), right.ravel())[0, 1]) < 0.015
    first = np.argmax(scores, axis=1)
    assert len(np.unique(first)) > 120  # everybody has an order of their own


# ---- popularity and average ----------------------------------------------------------------------------------


def test_popularity_counts_users_or_rows():
    """bob has item 20 ten times, with values 1 to 10, whose mean is 5.5."""
    plays = [("bob", 20, float(value)) for value in range(1, 11)]
    frame = pl.DataFrame(LOG + plays, schema=["user", "item", "value"], orient="row")
    users, items = Ids(pl.Series(USERS)), Ids(pl.Series(ITEMS))
    log = ByUser.code(frame, users, items).distinct()
    by_users, by_rows = (TrainSet(users, items, log, count=count) for count in ("users", "rows"))

    def scores(train, **parameters):
        return Popularity(**parameters).fit(train).score(np.array([0])).tolist()[0]

    assert scores(by_users) == scores(by_rows, count="users") == by_users.popularity.tolist() == [3, 2, 1, 0]
    assert scores(by_rows) == scores(by_users, count="rows") == by_rows.popularity.tolist() == [3, 11, 1, 0]
    assert scores(by_users, threshold=3.5) == [2, 1, 0, 0]
    assert scores(by_users, threshold=3.5, count="rows") == [2, 10, 0, 0]
    assert make_system("popularity[count=rows]").fit(by_users).score(np.array([0])).tolist() == [[3, 11, 1, 0]]
    with pytest.raises(DefinitionError, match="count"):
        make_system("popularity[count=plays]")


def test_popularity_counts_train_users():
    train = train_set()
    assert train.popularity.tolist() == [3, 1, 1, 0]
    scores = Popularity().fit(train).score(np.array([2, 0]))
    assert scores.tolist() == [[3, 1, 1, 0]] * 2
    assert Popularity(threshold=3).fit(train).score(np.array([0])).tolist() == [[2, 1, 0, 0]]
    assert Popularity().fit(train_set(values=False)).score(np.array([0])).tolist() == [[3, 1, 1, 0]]
    with pytest.raises(DataError, match=r"value column[^$]*leave the threshold out"):
        Popularity(threshold=3).fit(train_set(values=False))


@pytest.mark.parametrize("mu", [0.0, 1.0, 2.5])
def test_average_is_a_smoothed_mean(mu):
    mean = (5 + 3 + 4 + 1 + 2) / 5
    sums, counts = [10, 3, 2, 0], [3, 1, 1, 0]
    wanted = [(s + mu * mean) / (n + mu) if n + mu else 0.0 for s, n in zip(sums, counts)]
    scores = Average(mu=mu).fit(train_set()).score(np.array([1]))
    assert scores[0] == pytest.approx(wanted)
    assert np.isfinite(scores).all()


def test_average_refuses_what_it_cannot_average():
    with pytest.raises(DataError, match=r"value column[^$]*popularity"):
        Average().fit(train_set(values=False))
    with pytest.raises(DefinitionError, match="negative"):
        Average(mu=-1).fit(train_set())


# ---- systems that already exist ------------------------------------------------------------------------------


def test_functions_get_codes_or_ids():
    asked = []

    def score(users):
        asked.append(users)
        return [[1.0, 2.0, 3.0, 4.0] for _ in users]

    by_code, by_id = Function(score).fit(train_set()), Function(score, ids=True).fit(train_set())
    assert by_code.score(np.array([2, 0])).shape == (2, 4)
    by_id.score(np.array([2, 0]))
    assert asked[0].tolist() == [2, 0]
    assert asked[1] == ["cy", "ann"]


@pytest.mark.parametrize("shape", [(2, 3), (1, 4), (4, 2), (8,), (2, 4, 1)])
def test_functions_of_the_wrong_shape_are_refused(shape):
    system = Function(lambda users: np.zeros(shape)).fit(train_set())
    with pytest.raises(DataError, match=r"does not fit the data[^$]*expected 2 users × 4 items"):
        system.score(np.array([0, 1]))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix])
def test_score_matrices(make):
    matrix = np.arange(12.0).reshape(3, 4)
    system = Scores(make(matrix)).fit(train_set())
    np.testing.assert_array_equal(system.score(np.array([2, 0, 2])), matrix[[2, 0, 2]])


@pytest.mark.parametrize("shape", [(4, 3), (3, 5), (2, 4), (12,)])
def test_score_matrices_of_the_wrong_shape_are_refused(shape):
    with pytest.raises(DataError, match=r"does not fit the data[^$]*expected 3 users × 4 items[^$]*sorted user ids"):
        Scores(np.zeros(shape)).fit(train_set())


def test_factors_are_inner_products():
    rng = np.random.default_rng(0)
    users, items = rng.random((3, 2)), rng.random((4, 2))
    system = Factors(users, items).fit(train_set())
    np.testing.assert_allclose(system.score(np.array([1])), [[float(users[1] @ item) for item in items]])
    assert system.factors()[0] is users


@pytest.mark.parametrize(
    ("users", "items", "told"),
    [
        (np.zeros((3, 2)), np.zeros((4, 3)), r"same number of columns[^$]*\(3, 2\) and \(4, 3\)"),
        (np.zeros(3), np.zeros((4, 3)), "same number of columns"),
        (np.zeros((4, 2)), np.zeros((4, 2)), r"expected 3 users × 4 items"),
        (np.zeros((3, 2)), np.zeros((3, 2)), r"expected 3 users × 4 items"),
        (np.full((3, 2), np.nan), np.zeros((4, 2)), r"user factors are not finite[^$]*row 0"),
        (np.zeros((3, 2)), np.array([[0, 0], [0, 0], [0, np.inf], [0, 0]]), r"item factors are not finite[^$]*row 2"),
    ],
)
def test_factors_that_do_not_fit_are_refused(users, items, told):
    with pytest.raises(DataError, match=told):
        Factors(users, items).fit(train_set())


# ---- names ---------------------------------------------------------------------------------------------------


class Mine:
    """A system of somebody's own."""

    name = "my model"

    def fit(self, train):
        return self

    def score(self, users):
        return np.zeros((len(users), 4))


def test_systems_by_name_and_by_kind():
    assert systems() == sorted(systems())
    assert {"random", "popularity", "average"} <= set(systems())
    for name in ("random", "popularity", "average"):
        assert isinstance(make_system(name), Recommender)
    assert make_system("average", mu=3.0).mu == 3
    mine = Mine()
    assert make_system(mine) is mine
    assert isinstance(make_system(np.zeros((2, 2))), Scores)
    assert isinstance(make_system(sparse.csr_matrix((2, 2))), Scores)
    assert isinstance(make_system(lambda users: users), Function)


@pytest.mark.parametrize(
    ("spec", "parameters", "told"),
    [
        ("populrity", {}, "did you mean popularity"),
        ("average", {"nu": 1}, "average has no parameter 'nu'[^$]*available: mu"),
        ("random", {"_seed": 1}, "no parameter '_seed'"),
        (42, {}, r"not a system[^$]*int"),
    ],
)
def test_what_is_not_a_system_is_refused(spec, parameters, told):
    with pytest.raises(DefinitionError, match=told):
        make_system(spec, **parameters)


def test_names_of_systems():
    def my_scores(users):
        return users

    named = name_systems(["random", Mine(), my_scores, np.zeros((1, 1)), Average()])
    assert list(named) == ["random", "my model", "my_scores", "ndarray", "Average"]
    assert list(name_systems("random")) == ["random"]
    assert list(name_systems({"a": "random", "b": "random"})) == ["a", "b"]
    with pytest.raises(DefinitionError, match=r"two systems are called 'Average'[^$]*mapping"):
        name_systems([Average(), Average(mu=2)])


@pytest.mark.parametrize("at_once", [1, 1_000_000])
def test_items_are_counted_in_parts_of_any_size(monkeypatch, at_once):
    monkeypatch.setattr("trueval.recommenders.protocol._AT_ONCE", at_once)
    pairs = [(user, (7 * user + turn * turn) % 4) for user in range(40) for turn in range(5)]
    users, items = Ids(pl.Series(range(40))), Ids(pl.Series(range(5)))
    log = ByUser.code(pl.DataFrame(pairs, schema=["user", "item"], orient="row"), users, items).distinct()
    train = TrainSet(users, items, log)
    assert train.item_counts().tolist() == [len({user for user, own in pairs if own == item}) for item in range(5)]
    rows = [sum(own == item for _, own in pairs) for item in range(5)]
    assert train.item_counts(count="rows").tolist() == rows
    assert train.item_counts().dtype == train.item_counts(count="rows").dtype == np.int64
    empty = TrainSet(users, items, ByUser.empty(40))
    assert empty.item_counts().tolist() == [0] * 5
