"""SVD++ against one update per rating as it is defined, and against Surprise."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.errors import DataError
from trueval.kernels import use_threads
from trueval.recommenders.factor_models.matrices import train_of_table
from trueval.recommenders.factor_models.svdpp import State, SVDpp


def ratings(users: int = 30, items: int = 20, *, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    table = np.where(rng.random((users, items)) < 0.4, rng.integers(1, 6, (users, items)), np.nan)
    table[-1], table[:, -1] = np.nan, np.nan
    return table


def naive_epoch(table, order, mean, rate, ridge, bu, bi, p, q, y):
    """Every rating moves its biases and factors, and the y of all the items of its user."""
    for u in order:
        mine = np.flatnonzero(~np.isnan(table[u]))
        for i in mine:
            z = sum(y[j] for j in mine) / np.sqrt(len(mine))
            error = table[u, i] - (mean + bu[u] + bi[i] + q[i] @ (p[u] + z))
            bu[u] += rate * (error - ridge * bu[u])
            bi[i] += rate * (error - ridge * bi[i])
            old_q, old_p = q[i].copy(), p[u].copy()
            q[i] += rate * (error * (old_p + z) - ridge * old_q)
            p[u] += rate * (error * old_q - ridge * old_p)
            for j in mine:
                y[j] += rate * (error * old_q / np.sqrt(len(mine)) - ridge * y[j])


@given(seed=st.integers(0, 10**6), rate=st.floats(0.001, 0.1), ridge=st.floats(0, 0.5), width=st.integers(1, 5))
def test_the_kernel_makes_the_updates_as_defined(seed, rate, ridge, width):
    table = ratings(9, 8, seed=seed)
    log, rng = train_of_table(table).log, np.random.default_rng(seed)
    state = State.start(9, 8, width, rng)
    copied = [a.copy() for a in (state.user_bias, state.item_bias, state.p, state.q, state.y)]
    order = rng.permutation(9)
    for _ in range(3):
        state.learn(log, order, mean=3.0, rate=rate, ridge=ridge)
        naive_epoch(table, order, 3.0, rate, ridge, *copied)
    for ours, naive in zip((state.user_bias, state.item_bias, state.p, state.q, state.y), copied):
        np.testing.assert_allclose(ours, naive, rtol=1e-9, atol=1e-11)
    users, items = state.factors(log, 3.0).factors()
    bu, bi, p, q, y = copied
    for u, i in ((0, 0), (3, 5), (5, 2)):
        mine = np.flatnonzero(~np.isnan(table[u]))
        if len(mine) and not np.isnan(table[:, i]).all():
            z = y[mine].sum(axis=0) / np.sqrt(len(mine))
            assert users[u] @ items[i] == pytest.approx(3.0 + bu[u] + bi[i] + q[i] @ (p[u] + z), abs=1e-4)


def test_it_is_surprises():
    """The same start and the same order of users: the same predictions."""
    surprise = pytest.importorskip("surprise")
    table = ratings(25, 15, seed=1)[:-1, :-1]
    train = train_of_table(table)
    rows = {"user": train.log.user, "item": train.log.item, "value": train.log.value}
    frame = pl.DataFrame(rows).to_pandas()
    data = surprise.Dataset.load_from_df(frame, surprise.Reader(rating_scale=(1, 5))).build_full_trainset()
    theirs = surprise.SVDpp(n_factors=4, n_epochs=6, lr_all=0.02, reg_all=0.03, random_state=3).fit(data)
    rng = np.random.RandomState(3)  # their start: users, items, chosen items, by the order in which each is met
    p, q, y = (rng.normal(0, 0.1, (n, 4)) for n in (data.n_users, data.n_items, data.n_items))
    items = [data.to_inner_iid(i) for i in range(table.shape[1])]
    state = State(np.zeros(len(table)), np.zeros(len(items)), p.copy(), q[items], y[items])
    for _ in range(6):
        state.learn(train.log, np.arange(len(table)), mean=data.global_mean, rate=0.02, ridge=0.03)
    users, item_rows = state.factors(train.log, data.global_mean).factors()
    for u in range(len(table)):
        for i in range(table.shape[1]):
            wanted = theirs.predict(u, i, clip=False).est
            assert users[u] @ item_rows[i] == pytest.approx(wanted, abs=1e-4)


def test_the_error_falls():
    table = ratings(60, 40)
    model = SVDpp(n_factors=5, epochs=25, learning_rate=0.02).fit(train_of_table(table))
    assert len(model.errors) == 25
    assert (np.diff(model.errors) < 0).all()
    error = np.nanmean((model.score(np.arange(60)) - table) ** 2) ** 0.5
    assert error < model.errors[-1] < np.nanstd(table)


def test_steps_can_shrink():
    train = train_of_table(ratings())
    long, short = (SVDpp(n_factors=3, epochs=10, decay=d).fit(train).errors for d in (1.0, 0.5))
    assert long[0] == short[0]
    assert long[-1] < short[-1]


def test_seeds_decide_and_threads_do_not():
    train = train_of_table(ratings(200, 50))
    found = []
    for threads, seed in ((1, 0), (2, 0), (2, 1)):
        with use_threads(threads):
            found.append(SVDpp(n_factors=4, epochs=3, seed=seed).fit(train).score(np.arange(200)))
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


def test_strangers_get_what_is_known():
    table = ratings()
    scores = SVDpp(n_factors=3).fit(train_of_table(table)).score([29, 0])
    items = SVDpp(n_factors=3).fit(train_of_table(table)).factors()[1]
    np.testing.assert_allclose(scores[0], np.nanmean(table) + items[:, -1], rtol=1e-5)  # mean and bias of the item


def test_divergence_is_told():
    with pytest.raises(DataError, match=r"did not converge[^$]*lower the learning_rate"):
        SVDpp(n_factors=3, learning_rate=1.0, epochs=60).fit(train_of_table(ratings() * 1e6))
