"""Compiled: how many of the items shown were known already."""

from __future__ import annotations

import numpy as np

from trueval.kernels.jit import kernel


@kernel
def count_seen(list_start, list_item, own_start, own_item, depth, first, last):
    """Items among the first `depth` of each list, of units `first` to `last`, that are among the unit's own items.

    Own items ascend within a unit.
    """
    seen = 0
    for u in range(first, last):
        low, high = own_start[u], own_start[u + 1]
        if low == high:
            continue
        own = own_item[low:high]
        for j in range(list_start[u], min(list_start[u + 1], list_start[u] + depth)):
            at = np.searchsorted(own, list_item[j])
            if at < own.size and own[at] == list_item[j]:
                seen += 1
    return seen
