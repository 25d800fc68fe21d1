"""Compiled: the greedy ideal of αβ-nDCG over all targets of a unit, without a scan of them at every place.

An item's gain never rises while others are ranked before it, so a gain worked out earlier is an upper bound.
Candidates wait in heaps by such bounds, and only what comes to the top is worked out again: the choice is that
of a full scan, to the bit and the tie. Unrated targets with the same aspects gain the same, so they wait as one
group; the groups are sorted roughly, once, and wake up bucket by bucket.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from trueval.kernels.heaps import heapify, pop, push, sink
from trueval.kernels.interest import either_gain, fade_by

BUCKETS = 128


@njit(nogil=True, cache=True)
def room(rows, pool, first, last):
    """Working memory for the units of a block: heaps of rated items and of groups, and what sorts the groups."""
    items, groups = 1, 1
    for u in range(first, last):
        items = max(items, rows.start[u + 1] - rows.start[u])
        groups = max(groups, pool.last[u] - pool.first[u])
    rated = (np.empty(items, np.int64), np.empty(items), np.empty(items, np.int64), np.empty(items, np.int64))
    unrated = (np.empty(groups, np.int64), np.empty(groups), np.empty(groups, np.int64), np.empty(groups, np.int64))
    sorting = (np.empty(pool.parent.size), np.empty(groups, np.int64), np.empty(BUCKETS + 1, np.int64), np.empty(BUCKETS))
    return rated, unrated, sorting


@njit(nogil=True, cache=True)
def greedy_dcg(aspects, rows, pool, alpha, discount, u, left, closed, space):
    """DCG of the greedy order of the rated targets (judged rows whose `rank` is not -1) and the unrated ones."""
    begin, aspect = aspects.start, aspects.aspect
    (heap, bound, code, row), (g_heap, g_bound, g_code, g_next), (none, order, places, highest) = space
    pool_start, pool_item = pool.start, pool.item
    own, groups = pool.first[u], pool.last[u] - pool.first[u]
    gains, size = rows.gain, 0
    for j in range(rows.start[u], rows.start[u + 1]):
        if rows.rank[j] >= 0:
            row[size], code[size] = j, rows.item[j]
            bound[size] = either_gain(begin, aspect, rows.item[j], gains[j], left)
            size += 1
    heapify(heap, size, bound, code)
    g_size, bucket = 0, -1  # groups awake, and the next bucket to wake; -1 while they are not sorted
    ceiling = alpha * left.size  # no unrated target gains more than this
    item, p = 0, 0.0
    total, place = 0.0, 1
    while place < discount.size:
        best, size = _refresh(begin, aspect, gains, left, heap, size, bound, code, row)
        if bucket < 0 and best <= ceiling + 1e-12:
            ceiling = 0.0
            for a in range(left.size):
                ceiling += alpha * left[a]
            if best <= ceiling + 1e-12:
                bucket = _sort_groups(pool, u, alpha, left, g_bound, none, order, places, highest)
        if bucket >= 0:
            g_size, bucket = _wake(
                begin, aspect, pool_start, pool_item, own, groups, alpha, left, closed, u, best,
                g_heap, g_bound, g_code, g_next, g_size, bucket, order, places, highest,
            )  # fmt: skip
        e = g_heap[0] if g_size > 0 else -1
        if e >= 0 and (g_bound[e] > best or (g_bound[e] == best and g_code[e] < code[heap[0]])):
            item, p, best = g_code[e], alpha, g_bound[e]
            if _step(pool_item, closed, u, e, pool_start[own + e + 1], g_next, g_code):
                sink(g_heap, g_size, 0, g_bound, g_code)
            else:
                g_size = pop(g_heap, g_size, g_bound, g_code)
        elif size > 0:
            item, p = code[heap[0]], gains[row[heap[0]]]
            size = pop(heap, size, bound, code)
        if best <= 0.0:
            break
        total += discount[place] * best
        place += 1
        fade_by(begin, aspect, item, p, left)
    return total


@njit(nogil=True, cache=True)
def _refresh(begin, aspect, gains, left, heap, size, bound, code, row):
    """Bring the best rated target to the top; returns its gain (-1 without one) and the size of the heap."""
    while size > 0:
        e = heap[0]
        gain = either_gain(begin, aspect, code[e], gains[row[e]], left)
        if gain >= bound[e]:
            return gain, size
        bound[e] = gain
        sink(heap, size, 0, bound, code)
    return -1.0, size


@njit(nogil=True, cache=True)
def _step(pool_item, closed, u, group, end, following, code):
    """Go to the next item of a group that is an unrated target; False when there is none."""
    j = following[group]
    while j < end and closed[pool_item[j]] == u:
        j += 1
    following[group] = j + 1
    if j >= end:
        return False
    code[group] = pool_item[j]
    return True


@njit(nogil=True, cache=True)
def _sort_groups(pool, u, alpha, left, bound, none, order, start, highest):
    """Gains of all groups of a unit, and the groups sorted roughly, by bucket; returns the first bucket."""
    parent, added, node, sets = pool.parent, pool.added, pool.node, pool.set
    none[0] = 1.0
    for n in range(1, none.size):  # parents come before their children
        none[n] = none[parent[n]] * (1.0 - alpha * left[added[n]])
    own, groups = pool.first[u], pool.last[u] - pool.first[u]
    best = 0.0
    for g in range(groups):
        bound[g] = 1.0 - none[node[sets[own + g]]]
        best = max(best, bound[g])
    start[:] = 0
    highest[:] = -1.0
    if best <= 0.0:
        return BUCKETS
    scale = (BUCKETS - 1) / best
    for g in range(groups):
        b = BUCKETS - 1 - int(bound[g] * scale)
        start[b + 1] += 1
        highest[b] = max(highest[b], bound[g])
    for b in range(BUCKETS):
        start[b + 1] += start[b]
    for g in range(groups):  # from the end of each bucket to its beginning
        b = BUCKETS - 1 - int(bound[g] * scale)
        start[b + 1] -= 1
        order[start[b + 1]] = g
    return 0


@njit(nogil=True, cache=True)
def _wake(
    begin, aspect, pool_start, pool_item, own, groups, alpha, left, closed, u, best,
    heap, bound, code, following, size, bucket, order, start, highest,
):  # fmt: skip
    """Bring the best unrated target to the top of the heap of groups, unless none can reach `best`.

    Groups asleep gain no more than the highest of their bucket did when they were sorted. Bucket b begins at
    start[b + 1] and ends where the next one begins.
    """
    while True:
        while size > 0 and bound[heap[0]] >= best:
            e = heap[0]
            gain = either_gain(begin, aspect, code[e], alpha, left)
            if gain >= bound[e]:
                break
            bound[e] = gain
            sink(heap, size, 0, bound, code)
        top = bound[heap[0]] if size > 0 else -1.0
        while bucket < BUCKETS and highest[bucket] < 0.0:
            bucket += 1
        if bucket >= BUCKETS or highest[bucket] < max(top, best):
            return size, bucket
        end = start[bucket + 2] if bucket + 2 <= BUCKETS else groups
        for n in range(start[bucket + 1], end):
            g = order[n]
            following[g] = pool_start[own + g]
            if _step(pool_item, closed, u, g, pool_start[own + g + 1], following, code):
                size = push(heap, size, g, bound, code)
        bucket += 1
