"""The share that each split promises, for all sizes: what the docstrings say, counted."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import ceil, floor

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueval.data.interactions import Interactions
from trueval.errors import TruevalError
from trueval.splits import split

SIZES = st.integers(12, 400)
RATIOS = st.integers(2, 45).map(lambda percent: percent / 100)


def log_of(size: int, users: int, items: int = 9, *, seed: int = 0) -> Interactions:
    """All times differ."""
    rng = np.random.default_rng(seed)
    columns = {
        "user": rng.integers(0, users, size),
        "item": rng.integers(0, items, size),
        "time": rng.permutation(size),
    }
    return Interactions.of(pl.DataFrame(columns))


def exactly(ratio: float) -> Fraction:
    return Fraction(str(ratio))


def nearest(number: Fraction) -> int:
    return floor(number + Fraction(1, 2))


@given(size=SIZES, ratio=RATIOS, validation=RATIOS)
def test_temporal_gives_at_least_the_share(size, ratio, validation):
    parts = split(log_of(size, 3), "temporal", ratio=ratio, validation=validation, unseen="keep")
    assert len(parts.test) == ceil(exactly(ratio) * size)  # the smallest number that is at least the share
    assert len(parts.validation) == ceil(exactly(validation) * size)


@given(size=SIZES, ratio=RATIOS, coarse=st.integers(2, 9))
def test_temporal_gives_at_least_the_share_when_rows_share_moments(size, ratio, coarse):
    log = log_of(size, 3)
    log = log.keep(log.frame.with_columns(pl.col("time") // coarse))
    try:
        parts = split(log, "temporal", ratio=ratio, unseen="keep")
    except TruevalError:
        assert ceil(exactly(ratio) * size) > (log.frame["time"] > 0).sum()  # only the first moment would be left
        return
    assert len(parts.test) >= exactly(ratio) * size
    assert (log.frame["time"] > parts.how["cut"]).sum() < exactly(ratio) * size  # and no later cut would do


@given(size=st.integers(20, 400), ratio=st.sampled_from([0.2, 0.3, 0.7]), windows=st.integers(1, 4))
def test_windows_hold_at_least_the_share_and_differ_by_one(size, ratio, windows):
    rolled = split(log_of(size, 3), "rolling", ratio=ratio, windows=windows, unseen="keep")
    sizes = [len(parts.test) for parts in rolled]
    assert sum(sizes) == ceil(exactly(ratio) * size)
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(("how", "options"), [("holdout", {"by": "user"}), ("user_temporal", {})])
@given(size=SIZES, users=st.integers(1, 30), ratio=RATIOS, validation=RATIOS)
@settings(max_examples=40)
def test_shares_of_each_user_are_the_nearest(how, options, size, users, ratio, validation):
    log = log_of(size, users)
    try:
        parts = split(log, how, ratio=ratio, validation=validation, **options)
    except TruevalError:  # all users have too few rows
        wanted = []  # rows of each user in test and validation, one of which is left for train
        for rows in Counter(log.frame["user"]).values():
            tested = min(nearest(exactly(ratio) * rows), rows - 1)
            wanted.append((tested, min(nearest(exactly(validation) * rows), rows - 1 - tested)))
        assert 0 in np.sum(wanted, axis=0)  # a part would be empty
        return
    test, held = Counter(parts.test.frame["user"]), Counter(parts.validation.frame["user"])
    for user, rows in Counter(log.frame["user"]).items():
        assert test[user] == min(nearest(exactly(ratio) * rows), rows - 1)
        assert held[user] == min(nearest(exactly(validation) * rows), rows - 1 - test[user])


@given(size=SIZES, n=st.integers(2, 6), users=st.integers(6, 30))
@settings(max_examples=40)
def test_folds_differ_by_one(size, n, users):
    log = log_of(size, users)
    sizes = [len(parts.test) for parts in split(log, "kfold", n=n)]
    assert sum(sizes) == size
    assert max(sizes) - min(sizes) <= 1
    if log.n_users >= n:
        people = [parts.test.n_users for parts in split(log, "kfold", n=n, over="users")]
        assert sum(people) == log.n_users
        assert max(people) - min(people) <= 1


def test_a_coin_for_every_row_gives_the_share_on_average():
    size, ratio, validation = 20_000, 0.2, 0.1
    log = log_of(size, 50)
    parts = split(log, "holdout", ratio=ratio, validation=validation)
    for part, share in ((parts.test, ratio), (parts.validation, validation)):
        assert abs(len(part) - share * size) < 4 * (size * share * (1 - share)) ** 0.5  # four standard errors


@given(size=st.integers(60, 400), items=st.integers(2, 9), ratio=RATIOS, round=st.sampled_from(["floor", "nearest"]))
def test_a_uniform_test_falls_short_by_less_than_a_rating_per_item(size, items, ratio, round):
    log = log_of(size, 30, items)
    log = log.keep(log.frame.unique(["user", "item"], maintain_order=True))
    size = len(log)
    try:
        parts = split(log, "uniform_test", ratio=ratio, eps=0.2, round=round)
    except TruevalError:
        return
    counts = Counter(parts.test.frame["item"])
    assert len(counts) == parts.how["items"] == len(parts.candidates)
    assert set(counts.values()) == {parts.eta}
    assert parts.how["reached"] == len(parts.test) / size
    assert len(parts.test) > exactly(ratio) * size - len(counts)
    whole = Counter(log.frame["item"])
    if round == "floor":  # the share eps of each candidate's ratings stays in train
        assert all(whole[item] - parts.eta >= Fraction(1, 5) * whole[item] for item in counts)


def test_a_short_float_is_the_number_it_prints_as():
    parts = split(log_of(100, 3), "temporal", ratio=np.float32(0.2), unseen="keep")
    assert len(parts.test) == 20
    assert parts.how["ratio"] == 0.2
