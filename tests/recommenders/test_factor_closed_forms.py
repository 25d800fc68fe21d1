"""PureSVD and EASE against the decomposition and the closed form, written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval import memory
from trueval.data.by_user import ByUser
from trueval.errors import DataError
from trueval.kernels import use_threads
from trueval.recommenders.factor_models import puresvd as puresvd_module
from trueval.recommenders.factor_models.ease import Ease
from trueval.recommenders.factor_models.matrices import train_of_table
from trueval.recommenders.factor_models.puresvd import PureSVD
from trueval.recommenders.protocol import TrainSet


def ratings(users: int = 40, items: int = 25, *, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    table = np.where(rng.random((users, items)) < 0.3, rng.integers(1, 6, (users, items)), np.nan)
    table[-1] = np.nan
    return table


def without_values(train: TrainSet) -> TrainSet:
    return TrainSet(train.users, train.items, ByUser(train.log.start, train.log.item), train.seed)


# ---- PureSVD -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [True, False])
@given(seed=st.integers(0, 1000), width=st.integers(1, 8))
def test_puresvd_is_the_truncated_decomposition(whole, seed, width):
    table = ratings(seed=seed)
    left, size, right = np.linalg.svd(np.nan_to_num(table), full_matrices=False)
    best = (left[:, :width] * size[:width]) @ right[:width]
    with pytest.MonkeyPatch.context() as patch:
        if not whole:
            patch.setattr(puresvd_module, "_SMALL", 0)
        model = PureSVD(n_factors=width).fit(train_of_table(table))
    np.testing.assert_allclose(model.score(np.arange(40)), best, atol=2e-4)
    users, items = model.factors()
    np.testing.assert_allclose(np.linalg.norm(users, axis=0), size[:width], rtol=1e-5)  # largest first
    np.testing.assert_allclose(items.T @ items, np.eye(width), atol=1e-5)
    assert (items[np.abs(items).argmax(axis=0), np.arange(width)] > 0).all()


def test_puresvd_of_rows_without_values_counts_them():
    table = ratings()
    ones = np.where(np.isnan(table), np.nan, 1.0)
    plain = PureSVD(n_factors=4).fit(without_values(train_of_table(table)))
    np.testing.assert_array_equal(plain.score([3]), PureSVD(n_factors=4).fit(train_of_table(ones)).score([3]))


def test_puresvd_takes_every_width_there_is():
    table = ratings()
    np.testing.assert_allclose(
        PureSVD(n_factors=25).fit(train_of_table(table)).score(np.arange(40)), np.nan_to_num(table), atol=1e-4
    )


def test_puresvd_does_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(puresvd_module, "_SMALL", 0)
    train = train_of_table(ratings(200, 120))
    found = []
    for threads in (1, 2):
        with use_threads(threads):
            found.append(PureSVD(n_factors=10).fit(train).score(np.arange(200)))
    np.testing.assert_array_equal(*found)


# ---- EASE ----------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 1000), lam=st.floats(0.1, 1000), threshold=st.sampled_from([None, 3.0]))
def test_ease_is_its_closed_form(seed, lam, threshold):
    table = ratings(seed=seed)
    x = (~np.isnan(table) if threshold is None else table >= threshold).astype(float)
    inverse = np.linalg.inv(x.T @ x + lam * np.eye(25))
    weights = np.zeros((25, 25))
    for i in range(25):
        for j in range(25):
            if i != j:
                weights[i, j] = -inverse[i, j] / inverse[j, j]
    model = Ease(regularization=lam, threshold=threshold).fit(train_of_table(table))
    np.testing.assert_allclose(model.score(np.arange(40)), x @ weights, atol=1e-5)


def test_ease_minimises_its_objective():
    """Each column is a ridge regression on the other items."""
    x = (~np.isnan(ratings())).astype(float)
    weights = Ease(regularization=3.0).fit(train_of_table(ratings()))._weights
    for j in range(25):
        others = np.delete(np.arange(25), j)
        left = x[:, others].T @ x[:, others] + 3.0 * np.eye(24)
        np.testing.assert_allclose(weights[others, j], np.linalg.solve(left, x[:, others].T @ x[:, j]), atol=1e-5)
        assert weights[j, j] == 0


def test_ease_reads_no_values_and_gives_nothing_to_who_has_nothing():
    train = train_of_table(ratings())
    model = Ease().fit(train)
    np.testing.assert_array_equal(model.score([39]), np.zeros((1, 25)))
    np.testing.assert_array_equal(model.score([4, 2]), Ease().fit(without_values(train)).score([4, 2]))
    assert model.score([4, 2]).dtype == np.float32


def test_ease_refuses_what_does_not_fit_into_memory(monkeypatch):
    with monkeypatch.context() as tight:
        tight.setattr(memory, "available", lambda: 1000)
        tight.setattr(memory, "_SMALL", 0)
        with pytest.raises(DataError, match=r"not enough memory for the weights of 25 × 25 items"):
            Ease().fit(train_of_table(ratings()))
    with pytest.raises(DataError, match=r"no value reaches the threshold[^$]*highest value 5"):
        Ease(threshold=9).fit(train_of_table(ratings()))
    with pytest.raises(DataError, match=r"threshold needs a value column"):
        Ease(threshold=4).fit(without_values(train_of_table(ratings())))
