"""WRMF and BPR give the numbers of the library they come from."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from trueval.data.by_user import ByUser
from trueval.errors import DataError
from trueval.kernels import use_threads
from trueval.recommenders.factor_models.from_implicit import Bpr, Wrmf
from trueval.recommenders.factor_models.matrices import seed_of, train_of_table
from trueval.recommenders.protocol import TrainSet


def ratings(users: int = 60, items: int = 40) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.where(rng.random((users, items)) < 0.3, rng.integers(1, 6, (users, items)), np.nan)


def state(train: TrainSet, name: str) -> int:
    return seed_of(train, None, system=name) % 2**32


def without_values(train: TrainSet) -> TrainSet:
    return TrainSet(train.users, train.items, ByUser(train.log.start, train.log.item), train.seed)


@pytest.mark.parametrize(("confidence", "threshold"), [(False, None), (True, None), (False, 3.0), (True, 3.0)])
def test_wrmf_is_implicits(confidence, threshold):
    als = pytest.importorskip("implicit.als")
    table = ratings()
    train = train_of_table(table)
    ours = Wrmf(n_factors=6, alpha=4.0, regularization=0.3, sweeps=5, confidence=confidence, threshold=threshold)
    kept = np.nan_to_num(table) * (np.nan_to_num(table) >= (threshold or 1))
    matrix = sparse.csr_matrix(kept if confidence else (kept > 0).astype(float))
    with threadpool_limits(1, user_api="blas"):
        theirs = als.AlternatingLeastSquares(
            factors=6, alpha=4.0, regularization=0.3, iterations=5, random_state=state(train, "wrmf"), use_gpu=False
        )
        theirs.fit(matrix, show_progress=False)
    users, items = ours.fit(train).factors()
    np.testing.assert_array_equal(users, theirs.user_factors)
    np.testing.assert_array_equal(items, theirs.item_factors)
    np.testing.assert_allclose(ours.score([3, 1]), theirs.user_factors[[3, 1]] @ theirs.item_factors.T, atol=1e-5)


def test_bpr_is_implicits():
    bpr = pytest.importorskip("implicit.bpr")
    train = train_of_table(ratings())
    matrix = sparse.csr_matrix((~np.isnan(ratings())).astype(np.float32))
    theirs = bpr.BayesianPersonalizedRanking(
        factors=5, learning_rate=0.05, regularization=0.02, iterations=7, num_threads=1,
        random_state=state(train, "bpr"), use_gpu=False,
    )  # fmt: skip
    theirs.fit(matrix, show_progress=False)
    ours = Bpr(n_factors=5, learning_rate=0.05, regularization=0.02, epochs=7).fit(train)
    np.testing.assert_array_equal(ours.factors()[0], theirs.user_factors)
    np.testing.assert_array_equal(ours.factors()[1], theirs.item_factors)


@pytest.mark.parametrize("model", [Wrmf(n_factors=6, sweeps=4), Bpr(n_factors=6, epochs=4)])
def test_threads_and_values_change_no_bit(model):
    pytest.importorskip("implicit")
    train = train_of_table(ratings(300, 90))
    found = []
    for threads in (1, 2, 2):
        with use_threads(threads):
            found.append(b"".join(side.tobytes() for side in model.fit(train).factors()))
    found.append(b"".join(side.tobytes() for side in model.fit(without_values(train)).factors()))
    assert len(set(found)) == 1


@pytest.mark.parametrize("model", [Wrmf(n_factors=4), Bpr(n_factors=4)])
def test_a_missing_library_names_the_extra(model, monkeypatch):
    for name in ("implicit", "implicit.als", "implicit.bpr"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(DataError, match=r"needs the library implicit[^$]*trueval\[systems\]"):
        model.fit(train_of_table(ratings()))


def test_confidences_must_be_positive_values():
    pytest.importorskip("implicit")
    table = ratings()
    with pytest.raises(DataError, match=r"wrmf with confidence needs a value column"):
        Wrmf(n_factors=4, confidence=True).fit(without_values(train_of_table(table)))
    table[0, 0] = 0.0
    with pytest.raises(DataError, match=r"confidences must be positive[^$]*value 0"):
        Wrmf(n_factors=4, confidence=True).fit(train_of_table(table))
    Wrmf(n_factors=4, confidence=True, threshold=1).fit(train_of_table(table))
