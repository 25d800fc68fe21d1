"""Compiled: how many of the items shown were known already."""

from __future__ import annotations

from trueval.kernels.jit import loop


@loop
def count_seen(list_start, list_item, own_start, own_item, depth, first, last):
    """Items among the first `depth` of each list, of units `first` to `last`, that are among the unit's own items.

    Own items ascend within a unit.
    """
    seen = 0
    for u in range(first, last):
        low, high = own_start[u], own_start[u + 1]
        if low == high:
            continue
        shown = list_start[u + 1] - list_start[u]
        for j in range(list_start[u], list_start[u] + (shown if shown < depth else depth)):
            at, end = low, high
            while at < end:
                middle = (at + end) // 2
                if own_item[middle] < list_item[j]:
                    at = middle + 1
                else:
                    end = middle
            if at < high and own_item[at] == list_item[j]:
                seen += 1
    return seen
