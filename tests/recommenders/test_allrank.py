"""MF-RMSE and AllRank against the objective written out over all pairs, and against brute force."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.errors import DataError, DefinitionError
from trueval.kernels import use_threads
from trueval.recommenders.factor_models import weighted_als
from trueval.recommenders.factor_models.allrank import AllRank, AllRankPop, MfRmse
from trueval.recommenders.factor_models.matrices import train_of_table
from trueval.recommenders.factor_models.weighted_als import Problem, alternate, solve
from trueval.recommenders.protocol import TrainSet


def ratings(users: int = 30, items: int = 20, *, seed: int = 0, density: float = 0.3) -> np.ndarray:
    """A table with ratings 1 to 5; the last user and the last item have none."""
    rng = np.random.default_rng(seed)
    table = np.where(rng.random((users, items)) < density, rng.integers(1, 6, (users, items)), np.nan)
    table[-1], table[:, -1] = np.nan, np.nan
    return table


def all_weights(table: np.ndarray, observed: np.ndarray, missing: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(table), missing, observed)


def objective(table, weights, q, p, *, r_m, lam):
    """The sum over every pair, exactly as it is defined."""
    total = 0.0
    for u in range(len(table)):
        for i in range(table.shape[1]):
            actual = r_m if np.isnan(table[u, i]) else table[u, i]
            error = actual - (r_m + p[i] @ q[u])
            total += weights[u, i] * (error**2 + lam * (p[i] @ p[i] + q[u] @ q[u]))
    return total


def gradient(table, weights, q, p, *, r_m, lam):
    error = np.where(np.isnan(table), r_m, table) - r_m - q @ p.T
    by_user = -2 * (weights * error) @ p + 2 * lam * weights.sum(axis=1)[:, None] * q
    by_item = -2 * (weights * error).T @ q + 2 * lam * weights.sum(axis=0)[:, None] * p
    return by_user, by_item


def random_weights(seed: int, items: int) -> tuple[np.ndarray, np.ndarray]:
    """By item; some ratings weigh less than a missing one, some missing ones nothing."""
    rng = np.random.default_rng(seed)
    missing = rng.random(items) * 0.5
    missing[::4] = 0.0
    return rng.random(items) + 0.05, missing


# ---- the objective -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("w_m", [0.0, 0.005, 0.7])
def test_the_objective_is_the_sum_over_all_pairs_and_falls_every_sweep(w_m):
    table = ratings()
    train = train_of_table(table)
    model = AllRank(n_factors=4, w_m=w_m, sweeps=8).fit(train)
    weights = all_weights(table, np.ones(20), np.full(20, w_m))
    told = model.objective
    assert len(told) == 8
    for sweeps in (1, 2, 8):  # fewer sweeps stop earlier on the same way
        found = AllRank(n_factors=4, w_m=w_m, sweeps=sweeps).fit(train)
        q, p = found._fitted.solution.users, found._fitted.solution.items
        assert objective(table, weights, q, p, r_m=2.0, lam=0.04) == pytest.approx(told[sweeps - 1], rel=1e-10)
    assert (np.diff(told) < 0).all()


@given(seed=st.integers(0, 10**6), width=st.integers(1, 6), r_m=st.floats(-2, 5), lam=st.floats(0.001, 2))
def test_a_half_sweep_solves_dense_weighted_normal_equations(seed, width, r_m, lam):
    table = ratings(12, 9, seed=seed)
    observed, missing = random_weights(seed, 9)
    problem = Problem.of(train_of_table(table).log, r_m, observed=observed, missing=missing)
    p = np.random.default_rng(seed).normal(size=(9, width))
    q, _ = solve(problem.users, p, (p.T * missing) @ p, regularization=lam)
    again, _ = solve(problem.items, q, q.T @ q, regularization=lam)
    weights = all_weights(table, observed, missing)
    shifted = np.where(np.isnan(table), 0.0, table - r_m)
    for u in range(12):
        w = weights[u]
        left = (p.T * w) @ p + lam * w.sum() * np.eye(width)
        np.testing.assert_allclose(q[u], np.linalg.solve(left, (p.T * w) @ shifted[u]), rtol=1e-8, atol=1e-10)
    for i in range(9):
        w = weights[:, i]
        if not w.sum():  # neither ratings nor a weight on missing ones
            assert not again[i].any()
            continue
        left = (q.T * w) @ q + lam * w.sum() * np.eye(width)
        np.testing.assert_allclose(again[i], np.linalg.solve(left, (q.T * w) @ shifted[:, i]), rtol=1e-8, atol=1e-10)


def test_long_rows_are_gathered_in_pieces():
    """More ratings in a row than fit one gathered block."""
    rng = np.random.default_rng(5)
    table = rng.integers(1, 6, (3, 700)).astype(float)
    table[1, 3:] = np.nan
    problem = Problem.of(train_of_table(table).log, 2.0, observed=np.ones(700), missing=np.full(700, 0.1))
    p = rng.normal(size=(700, 5))
    q, _ = solve(problem.users, p, 0.1 * p.T @ p, regularization=0.04)
    for u in range(3):
        w = np.where(np.isnan(table[u]), 0.1, 1.0)
        left = (p.T * w) @ p + 0.04 * w.sum() * np.eye(5)
        np.testing.assert_allclose(q[u], np.linalg.solve(left, (p.T * w) @ np.nan_to_num(table[u] - 2)), rtol=1e-9)


@pytest.mark.parametrize(("w_m", "lam"), [(0.0, 0.04), (0.05, 0.04), (0.3, 0.2)])
def test_a_fixed_point_has_no_gradient_and_brute_force_finds_nothing_better(w_m, lam):
    """There are several minima: the best of many starts must be the same as a general minimiser's."""
    table = ratings(8, 7, density=0.6, seed=3)
    weights = all_weights(table, np.ones(7), np.full(7, w_m))
    problem = Problem.of(train_of_table(table).log, 2.0, observed=np.ones(7), missing=np.full(7, w_m))

    def run(sweeps: int, seed: int) -> weighted_als.Solution:
        return alternate(problem, n_factors=2, regularization=lam, sweeps=sweeps, seed=seed, title="small")

    short = [run(100, seed).objective[-1] for seed in range(20)]
    best = run(3000, int(np.argmin(short)))
    by_user, by_item = gradient(table, weights, best.users, best.items, r_m=2.0, lam=lam)
    assert max(np.abs(by_user).max(), np.abs(by_item).max()) < 1e-6

    def flat(x):
        q, p = x[:16].reshape(8, 2), x[16:].reshape(7, 2)
        by_user, by_item = gradient(table, weights, q, p, r_m=2.0, lam=lam)
        error = np.where(np.isnan(table), 2.0, table) - 2.0 - q @ p.T
        ridge = lam * (weights.sum(axis=1) @ (q**2).sum(axis=1) + weights.sum(axis=0) @ (p**2).sum(axis=1))
        return (weights * error**2).sum() + ridge, np.concatenate([by_user.ravel(), by_item.ravel()])

    rng = np.random.default_rng(0)
    options = {"gtol": 1e-9, "maxiter": 5000}
    tried = [minimize(flat, rng.normal(size=30), jac=True, method="BFGS", options=options).fun for _ in range(20)]
    assert best.objective[-1] == pytest.approx(min(tried), rel=1e-6)


# ---- one family ----------------------------------------------------------------------------------------------


def test_without_weight_on_missing_ratings_it_is_mf_rmse():
    train = train_of_table(ratings())
    for left, right in zip(
        AllRank(n_factors=4, w_m=0).fit(train).factors(),
        MfRmse(n_factors=4, r_m=2, regularization=0.04).fit(train).factors(),
    ):
        np.testing.assert_array_equal(left, right)


def test_mf_rmse_is_offset_by_the_mean_rating():
    table = ratings()
    model = MfRmse(n_factors=3).fit(train_of_table(table))
    items = model.factors()[1]
    np.testing.assert_allclose(items[:, -1], np.nanmean(table), rtol=1e-6)
    assert not items[-1, :-1].any()  # an item nobody rated
    np.testing.assert_allclose(model.score([29]), np.nanmean(table), rtol=1e-6)  # somebody who rated nothing


def test_ratings_are_recovered_where_they_have_that_rank():
    """A complete table of rank 2 around the offset, hardly regularised."""
    rng = np.random.default_rng(1)
    full = 2 + rng.normal(size=(25, 2)) @ rng.normal(size=(2, 15))
    seen = np.where(rng.random(full.shape) < 0.7, full, np.nan)
    scores = MfRmse(n_factors=2, r_m=2, regularization=1e-8, sweeps=300).fit(train_of_table(seen)).score(np.arange(25))
    np.testing.assert_allclose(scores, full, atol=1e-2)


def test_scores_are_the_offset_and_the_inner_product():
    model = AllRank(n_factors=3).fit(train_of_table(ratings()))
    q, p = model._fitted.solution.users, model._fitted.solution.items
    np.testing.assert_allclose(model.score(np.arange(30)), 2 + q @ p.T, atol=1e-5)
    users, items = model.factors()
    assert users.dtype == items.dtype == np.float32
    assert users.shape == (30, 4)


# ---- the same bits -------------------------------------------------------------------------------------------


def fitted_bits(train: TrainSet, threads: int) -> bytes:
    with use_threads(threads):
        users, items = AllRankPop(n_factors=7, beta_w=0.3, sweeps=3).fit(train).factors()
    return users.tobytes() + items.tobytes()


def test_threads_blocks_and_the_order_of_rows_change_no_bit(monkeypatch):
    table = ratings(400, 150, seed=2)
    train = train_of_table(table)
    user, item = np.nonzero(~np.isnan(table))
    order = np.random.default_rng(0).permutation(len(user))
    shuffled = ByUser.of(user[order], item[order], table[user, item][order], n_users=400)
    wanted = fitted_bits(train, 1)
    assert fitted_bits(train, 2) == wanted
    assert fitted_bits(train, 5) == wanted
    assert fitted_bits(TrainSet(train.users, train.items, shuffled), 2) == wanted
    monkeypatch.setattr(weighted_als, "BLOCK", 7)
    assert fitted_bits(train, 2) == wanted


def test_seeds_change_the_start():
    train = train_of_table(ratings())
    first, same, other = (AllRank(n_factors=3, sweeps=1, seed=s).fit(train).score([0]) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()
    followed = [AllRank(n_factors=3, sweeps=1).fit(train_of_table(ratings(), seed=s)).score([0]) for s in (0, 1)]
    assert (followed[0] != followed[1]).any()


# ---- new users -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [AllRank(n_factors=5), MfRmse(n_factors=5), AllRankPop(n_factors=5, beta_w=0.7)])
def test_a_new_user_with_old_ratings_is_the_old_user(model):
    table = ratings()
    train = train_of_table(table)
    model.fit(train)
    users, items = model.factors()
    for u in (0, 7, 29):
        rated = np.flatnonzero(~np.isnan(table[u]))[::-1]  # in any order
        row = model.fold_in(rated, table[u, rated])
        np.testing.assert_array_equal(row, users[u])
        np.testing.assert_allclose(items @ row, model.score([u])[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("items", "values", "told"),
    [
        ([0, 1], [5.0], r"one value for each item[^$]*\(2,\) and \(1,\)"),
        ([0, 20], [5.0, 1.0], r"does not know[^$]*code 20[^$]*0 to 19"),
        ([-1], [5.0], "does not know"),
        ([3, 3], [5.0, 1.0], "twice"),
        ([3], [np.nan], "finite"),
        (["a"], [1.0], "codes"),
    ],
)
def test_new_users_that_cannot_be_are_refused(items, values, told):
    model = AllRank(n_factors=2).fit(train_of_table(ratings()))
    with pytest.raises(DataError, match=told):
        model.fold_in(items, values)


def test_a_new_user_gets_scores_of_all_items():
    n_items, rng = 20_000, np.random.default_rng(0)
    user, item = rng.integers(0, 60, 30_000), rng.integers(0, n_items, 30_000)
    log = ByUser.of(user, item, rng.integers(1, 6, 30_000).astype(float), n_users=60).distinct()
    train = TrainSet(Ids(pl.Series(range(60))), Ids(pl.Series(range(n_items))), log)
    model = AllRank(n_factors=50, sweeps=1).fit(train)
    items = model.factors()[1]
    rated, values = rng.choice(n_items, 100, replace=False), rng.integers(1, 6, 100).astype(float)
    scores = items @ model.fold_in(rated, values)
    assert len(scores) == n_items


# ---- limits --------------------------------------------------------------------------------------------------


def test_memory_does_not_grow_with_users_times_items():
    """80,000 × 60,000 pairs would take 38 GB."""
    users, items, rows, rng = 80_000, 60_000, 5_000, np.random.default_rng(0)
    log = ByUser.of(
        rng.integers(0, users, rows), rng.integers(0, items, rows), np.ones(rows), n_users=users
    ).distinct()  # fmt: skip
    problem = Problem.of(log, 2.0, observed=np.ones(items), missing=np.full(items, 0.01))
    found = alternate(problem, n_factors=2, regularization=0.04, sweeps=1, seed=0, title="wide")
    assert found.users.shape == (users, 2)
    assert np.isfinite(found.users).all()


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"n_factors": 0}, "factors of allrank must be at least 1"),
        ({"n_factors": 2.5}, "whole number"),
        ({"w_m": -0.1}, "w_m of allrank must not be negative"),
        ({"regularization": 0}, "regularization of allrank must be above 0"),
        ({"r_m": float("nan")}, "r_m"),
        ({"sweeps": 0}, "sweeps"),
    ],
)
def test_parameters_are_checked(parameters, told):
    with pytest.raises(DefinitionError, match=told):
        AllRank(**parameters)


def test_nothing_is_asked_before_it_is_fitted():
    for ask in (lambda m: m.score([0]), lambda m: m.factors(), lambda m: m.fold_in([0], [1.0]), lambda m: m.objective):
        with pytest.raises(DataError, match="has not been fitted"):
            ask(AllRank())
