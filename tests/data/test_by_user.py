"""Rows by user: picked, compared and digested in blocks, with the same result as at once."""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
import pytest

from trueval.data import by_user
from trueval.data.by_user import ByUser
from trueval.data.interactions import Interactions
from trueval.kernels import use_kernels


def rows(seed: int, users: int = 3000) -> ByUser:
    rng = np.random.default_rng(seed)
    pairs = np.unique(rng.integers(0, users * 40, 6 * users))
    value = rng.normal(size=len(pairs))
    return ByUser.of(pairs // 40, pairs % 40, value, n_users=users)


@pytest.mark.parametrize("kernels", ["plain", "compiled"])
def test_pick(kernels):
    whole = rows(1)
    users = np.random.default_rng(2).integers(0, 3000, 2500).astype(np.int32)
    with use_kernels(kernels):
        found = whole.pick(users)
        constant = ByUser(whole.start, whole.item, np.broadcast_to(1.0, len(whole.item))).pick(users)
    parts = [slice(whole.start[user], whole.start[user + 1]) for user in users]
    assert found.start.tolist() == np.cumsum([0, *(part.stop - part.start for part in parts)]).tolist()
    assert found.item.tolist() == [item for part in parts for item in whole.item[part]]
    assert found.value is not None
    assert found.value.tolist() == [value for part in parts for value in whole.value[part]]
    assert constant.value is not None
    assert constant.value.tolist() == [1.0] * len(found.item)


@pytest.mark.parametrize("small", [0, 10**9])
def test_common(small, monkeypatch):
    monkeypatch.setattr(by_user, "SMALL", small)
    one, other = rows(1), rows(2)
    pairs = [set(zip(own.user.tolist(), own.item.tolist())) for own in (one, other)]
    with use_kernels("compiled" if not small else None):
        assert one.common(other) == len(pairs[0] & pairs[1])
        assert one.common(ByUser.empty(3000)) == 0
        assert one.common(one) == len(one.item)


def test_the_fingerprint_is_that_of_all_rows_at_once():
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"user": rng.integers(0, 9, 2_200_000), "item": rng.integers(0, 9, 2_200_000)})
    hashes = frame.hash_rows(seed=0).to_numpy()
    mixed = (int(hashes.sum(dtype=np.uint64)), int(np.bitwise_xor.reduce(hashes)))
    truth = hashlib.sha256(f"{['user', 'item']}{len(frame)}{mixed}".encode()).hexdigest()[:16]
    log = Interactions.of(frame)
    assert log.fingerprint() == truth
    assert Interactions.of(frame.sample(fraction=1, shuffle=True, seed=1)).fingerprint() == truth
