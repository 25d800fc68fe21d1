"""Nearest neighbours against a naive implementation and against implicit."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.errors import DataError, DefinitionError
from trueval.kernels import use_kernels, use_threads
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import make_system


def train_of(matrix: np.ndarray, *, values: bool = True) -> TrainSet:
    """A train set from a dense matrix; 0 is no row."""
    user, item = np.nonzero(matrix)
    value = matrix[user, item].astype(float) if values else None
    ids = [Ids(pl.Series(range(n))) for n in matrix.shape]
    return TrainSet(*ids, ByUser.of(user, item, value, n_users=len(matrix)))


def world(users: int, items: int, *, density: float = 0.2, seed: int = 0, whole: bool = True) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 6, (users, items)) if whole else rng.random((users, items)) + 0.1
    return values * (rng.random((users, items)) < density)


def naive_neighbours(rows: np.ndarray, k: int, shrink: float) -> np.ndarray:
    """Similarities to the k nearest other rows, one pair at a time, 0 elsewhere; equals by number."""
    number = len(rows)
    kept = np.zeros((number, number))
    for a in range(number):
        found = []
        for b in range(number):
            dot = sum(x * y for x, y in zip(rows[a], rows[b]))
            if a != b and dot > 0:
                lengths = np.sqrt(sum(x * x for x in rows[a])) * np.sqrt(sum(y * y for y in rows[b]))
                found.append((-np.float32(dot / (lengths + shrink)), b))
        for alike, b in sorted(found)[:k]:
            kept[a, b] = -alike
    return kept


def naive_scores(name: str, matrix: np.ndarray, k: int, shrink: float) -> np.ndarray:
    scores = np.zeros(matrix.shape)
    if name == "userknn":
        near = naive_neighbours(matrix, k, shrink)
        for u in range(matrix.shape[0]):
            for i in range(matrix.shape[1]):
                scores[u, i] = sum(near[u, v] * matrix[v, i] for v in range(matrix.shape[0]))
    else:
        near = naive_neighbours(matrix.T, k, shrink)
        for u in range(matrix.shape[0]):
            for i in range(matrix.shape[1]):
                scores[u, i] = sum(near[j, i] * matrix[u, j] for j in range(matrix.shape[1]))
    return scores


@given(seed=st.integers(0, 10_000), k=st.integers(1, 20), shrink=st.sampled_from([0.0, 2.5]))
def test_means_of_neighbours_equal_a_naive_implementation(seed, k, shrink):
    """Predicted ratings: the mean over those neighbours who have the item, by similarity; 0 where there is none."""
    matrix = world(11, 8, density=0.35, seed=seed)
    matrix[0, 0] = 3  # never empty
    model = make_system("userknn", k=k, shrink=shrink, feedback="explicit", scores="mean").fit(train_of(matrix))
    near = naive_neighbours(matrix, k, shrink)
    expected = np.zeros(matrix.shape)
    for u in range(matrix.shape[0]):
        for i in range(matrix.shape[1]):
            having = [v for v in range(matrix.shape[0]) if near[u, v] > 0 and matrix[v, i] > 0]
            if having:
                weights = [near[u, v] for v in having]
                expected[u, i] = sum(w * matrix[v, i] for w, v in zip(weights, having)) / sum(weights)
    np.testing.assert_allclose(model.score(np.arange(matrix.shape[0])), expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["userknn", "itemknn"])
@pytest.mark.parametrize("feedback", ["implicit", "explicit"])
@given(seed=st.integers(0, 10_000), k=st.integers(1, 20), shrink=st.sampled_from([0.0, 2.5]))
def test_equal_to_a_naive_implementation(name, feedback, seed, k, shrink):
    matrix = world(11, 8, density=0.35, seed=seed)
    matrix[0, 0] = 3  # never empty
    model = make_system(name, k=k, shrink=shrink, feedback=feedback).fit(train_of(matrix))
    used = matrix if feedback == "explicit" else (matrix > 0).astype(float)
    np.testing.assert_allclose(model.score(np.arange(11)), naive_scores(name, used, k, shrink), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:Method expects CSR input")  # the library's own matrices
@pytest.mark.parametrize("weights", ["implicit", "explicit"])
def test_item_neighbours_equal_those_of_implicit(weights):
    from implicit.nearest_neighbours import CosineRecommender

    matrix = world(120, 60, density=0.15, seed=3, whole=False)
    if weights == "implicit":
        matrix = (matrix > 0).astype(float)
    library = CosineRecommender(K=60, num_threads=1)
    library.fit(sparse.csr_matrix(matrix), show_progress=False)
    ours = make_system("itemknn", k=59, feedback=weights).fit(train_of(matrix)).score(np.arange(120))
    for u in range(120):
        ids, scores = library.recommend(u, sparse.csr_matrix(matrix)[u], N=60)
        unseen = matrix[u, ids] == 0  # the library fills up with items that the user has
        np.testing.assert_allclose(ours[u, ids[unseen]], scores[unseen], rtol=1e-5)
        assert unseen.sum() >= np.count_nonzero(ours[u, matrix[u] == 0])


@pytest.mark.filterwarnings("ignore:Method expects CSR input")
def test_item_neighbours_equal_those_of_implicit_when_few_are_kept():
    """Values of many digits have no equal similarities, so both keep the same ones."""
    from implicit.nearest_neighbours import CosineRecommender

    matrix = world(120, 60, density=0.15, seed=4, whole=False)
    library = CosineRecommender(K=11, num_threads=1)
    library.fit(sparse.csr_matrix(matrix), show_progress=False)
    wanted = matrix @ library.similarity.toarray()
    ours = make_system("itemknn", k=10, feedback="explicit").fit(train_of(matrix)).score(np.arange(120))
    unseen = matrix == 0  # the library's items are among their own neighbours
    np.testing.assert_allclose(ours[unseen], wanted[unseen], rtol=1e-5, atol=1e-7)
    assert (ours[unseen] > 0).mean() > 0.3


def test_more_neighbours_than_others_are_all_others():
    matrix = world(9, 7, density=0.5, seed=1)
    for name in ("userknn", "itemknn"):
        few, many = (make_system(name, k=k).fit(train_of(matrix)).score(np.arange(9)) for k in (8, 1000))
        np.testing.assert_array_equal(few, many)


def test_equal_similarities_are_taken_by_code():
    """Items 1, 2 and 3 are alike to item 0; with k = 2 it keeps 1 and 2."""
    matrix = np.array([[1, 1, 1, 1], [1, 0, 0, 0]])
    scores = make_system("itemknn", k=2).fit(train_of(matrix)).score(np.array([1]))[0]
    assert scores[1] == scores[2] > 0 == scores[3]
    scores = make_system("userknn", k=1).fit(train_of(np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1]]))).score([0])[0]
    assert scores[1] > 0 == scores[2]


def test_shrinkage_favours_what_many_share():
    rare, often = np.zeros((20, 1)), np.zeros((20, 1))
    rare[0], often[:10] = 1, 1
    matrix = np.hstack([rare, often, rare, often])  # 0 and 2 alike in one user, 1 and 3 in ten
    plain, shrunk = (make_system("itemknn", k=1, shrink=s).fit(train_of(matrix)).score([0])[0] for s in (0.0, 5.0))
    assert plain[2] == plain[3] == 1
    assert shrunk[2] == pytest.approx(1 / 6)
    assert shrunk[3] == pytest.approx(10 / 15)


@pytest.mark.parametrize("name", ["userknn", "itemknn"])
def test_kernels_threads_and_blocks_give_the_same_bits(name):
    matrix = world(150, 90, seed=5, whole=False)
    train, everybody = train_of(matrix), np.arange(150)
    found = []
    for kernels, threads in (("plain", 1), ("plain", 3), ("compiled", 1), ("compiled", 3)):
        with use_kernels(kernels), use_threads(threads):
            model = make_system(name, k=7, feedback="explicit").fit(train)
            found.append(model.score(everybody))
            found.append(np.vstack([model.score(everybody[a : a + 37]) for a in range(0, 150, 37)]))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
    assert found[0].dtype == np.float32
    assert np.isfinite(found[0]).all()


def test_users_and_items_without_rows_score_nothing():
    matrix = world(10, 6, density=0.6, seed=2)
    matrix[4], matrix[:, 3] = 0, 0
    for name in ("userknn", "itemknn"):
        scores = make_system(name).fit(train_of(matrix)).score(np.arange(10))
        assert (scores[4] == 0).all()
        assert (scores[:, 3] == 0).all()
        assert (scores[0] > 0).any()


@pytest.mark.parametrize("name", ["userknn", "itemknn"])
def test_what_neighbours_refuse(name):
    train = train_of(world(5, 5, density=0.9))
    for wrong, told in [
        ({"k": 0}, f"k of {name} must be at least 1[^$]*k=0"),
        ({"k": 2.5}, f"k of {name} must be a whole number"),
        ({"k": float("nan")}, "must be a whole number"),
        ({"shrink": -1}, f"shrink of {name} must not be negative"),
        ({"feedback": "implict"}, "did you mean implicit"),
        ({"neighbors": 3}, f"{name} has no parameter 'neighbors'"),
    ]:
        with pytest.raises(DefinitionError, match=told):
            make_system(name, **wrong)
    with pytest.raises(DataError, match=r"explicit \w+ needs a value column[^$]*feedback=implicit"):
        make_system(name, feedback="explicit").fit(train_of(world(5, 5, density=0.9), values=False))
    with pytest.raises(DataError, match="has not been fitted"):
        make_system(name).score([0])
    model = make_system(name).fit(train)
    for user in (5, -1):
        with pytest.raises(DataError, match=rf"{name} does not know this user[^$]*code {user}[^$]*0 to 4"):
            model.score(np.array([0, user]))


def test_memory_does_not_grow_with_the_square_of_the_items():
    """All similarities of 30,000 items would be 3.6 GB."""
    code = """
import numpy as np, polars as pl
from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import make_system
rng = np.random.default_rng(0)
users, items = 4000, 30_000
user, item = np.repeat(np.arange(users), 30), rng.integers(0, items, users * 30)
log = ByUser.of(user, item, n_users=users).distinct()
train = TrainSet(Ids(pl.Series(range(users))), Ids(pl.Series(range(items))), log)
for name in ("itemknn", "userknn"):
    assert make_system(name).fit(train).score(np.arange(64)).shape == (64, items)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
    # (the highest memory that getrusage tells is at least that of the process which started this one)
    kilobytes = int(subprocess.check_output([sys.executable, "-c", code]))
    assert kilobytes < 800_000
