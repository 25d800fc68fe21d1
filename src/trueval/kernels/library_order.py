"""Compiled: the order in which a library with an unstable sort leaves equal scores, by the very sort that it calls."""

from __future__ import annotations

import numpy as np

from trueval.kernels.jit import kernel


@kernel
def order_twice(start, key, item, least):
    """Order lists of `least` rows or more by falling key, in place, by numba's own sort, and once more.

    That sort is not stable: where keys are equal, the second time changes the order again.
    """
    for u in range(start.size - 1):
        first, last = start[u], start[u + 1]
        if last - first < least:
            continue
        for _ in range(2):
            order = np.argsort(-key[first:last])
            key[first:last] = key[first:last][order]
            item[first:last] = item[first:last][order]
