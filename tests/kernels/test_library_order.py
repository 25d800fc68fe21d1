"""The order of equal scores by numba's sort, compiled and interpreted."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from trueval.kernels import choose, use_kernels


def lists(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lists of 0 to 100 items with few different scores, -0 and 0 among them."""
    rng = np.random.default_rng(seed)
    length = rng.permutation(101)
    key = rng.choice([-1.0, -0.0, 0.0, 0.5, 2.0], length.sum())
    return np.concatenate([[0], np.cumsum(length)]), key, np.arange(len(key), dtype=np.int32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_as_interpreted(dtype):
    found = {}
    for kind in ("plain", "compiled"):
        start, key, item = lists(1)
        key = key.astype(dtype)
        with use_kernels(kind):
            choose("library_order", 0).order_twice(start, key, item, 16)
        found[kind] = key.tolist(), item.tolist()
    assert found["plain"] == found["compiled"]


def test_what_is_ordered():
    """Longer lists fall, hold what they held, and are not in the order of rows; shorter ones are left as they are."""
    start, before, rows = lists(2)
    key, item = before.copy(), rows.copy()
    with use_kernels("plain"):
        choose("library_order", 0).order_twice(start, key, item, 16)
    unstable = 0
    for first, last in pairwise(start):
        own = item[first:last]
        if last - first < 16:
            assert own.tolist() == rows[first:last].tolist()
            continue
        assert (np.diff(key[first:last]) <= 0).all()
        assert sorted(own) == list(range(first, last))
        assert (before[own] == key[first:last]).all()
        stable = first + np.argsort(-before[first:last], kind="stable")
        unstable += own.tolist() != stable.tolist()
    assert unstable > 50
