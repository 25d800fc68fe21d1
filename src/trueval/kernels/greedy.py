"""Compiled: greedy ideals, without a scan of all targets at every place.

An item's gain never rises while others are ranked before it, so a gain worked out earlier is an upper bound.
Candidates queue by such bounds, equal ones by the smaller item code, and only what comes to the head is worked
out again: the choice is that of a full scan, to the bit and the tie. Unrated targets with the same aspects gain
the same, so they queue as one group; the groups are sorted roughly, once, and wake up bucket by bucket.

A queue is two columns, `bound` and `entry`, of which head to tail - 1 are in order. What changes moves only a
little, which is why a plain shift beats a heap.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from trueval.kernels.interest import added_gain, either_gain, fade_by

BUCKETS = 2048


@njit(nogil=True, cache=True)
def settle(bound, entry, code, head, tail):
    """Let the entry at the head go back to where it belongs."""
    b, e = bound[head], entry[head]
    place = head
    while place + 1 < tail and (
        bound[place + 1] > b or (bound[place + 1] == b and code[entry[place + 1]] < code[e])
    ):
        bound[place], entry[place] = bound[place + 1], entry[place + 1]
        place += 1
    bound[place], entry[place] = b, e


@njit(nogil=True, cache=True)
def added_dcg(begin, aspect, item, gain, fade, discount, left, bound, entry):
    """DCG of the greedy order of some items whose gains add up over aspects."""
    head = tail = item.size
    for j in range(tail):
        head -= 1
        bound[head], entry[head] = added_gain(begin, aspect, item[j], gain[j], left), j
        settle(bound, entry, item, head, tail)
    total, place = 0.0, 1
    while head < tail and place < discount.size:
        j = entry[head]
        worth = added_gain(begin, aspect, item[j], gain[j], left)
        if worth < bound[head]:
            bound[head] = worth
            settle(bound, entry, item, head, tail)
            continue
        if worth <= 0.0:
            break
        total += discount[place] * worth
        place += 1
        fade_by(begin, aspect, item[j], fade[j], left)
        head += 1
    return total


@njit(nogil=True, cache=True)
def room(rows, pool, first, last):
    """Working memory for the units of a block: queues of rated items and of groups, and what sorts the groups."""
    items, groups = 1, 1
    for u in range(first, last):
        items = max(items, rows.start[u + 1] - rows.start[u])
        groups = max(groups, pool.last[u] - pool.first[u])
    rated = (np.empty(items), np.empty(items, np.int64))
    unrated = (np.empty(groups), np.empty(groups, np.int64), np.empty(groups, np.int64), np.empty(groups, np.int64))
    sorting = (np.empty(pool.parent.size), np.empty(groups), np.empty(groups, np.int64))
    return rated, unrated, sorting, (np.empty(BUCKETS + 1, np.int64), np.empty(BUCKETS))


@njit(nogil=True, cache=True)
def unified_dcg(begin, aspect, item, gain, target, pool, alpha, discount, u, left, closed, space):
    """αβ-DCG of the greedy order of a unit's rated items (those that are targets) and its unrated targets."""
    (bound, entry), (g_bound, g_entry, code, following), (none, gains, order), (places, highest) = space
    pool_start, pool_item = pool.start, pool.item
    own, groups = pool.first[u], pool.last[u] - pool.first[u]
    head = tail = item.size
    for j in range(tail):
        if target[j]:
            head -= 1
            bound[head], entry[head] = either_gain(begin, aspect, item[j], gain[j], left), j
            settle(bound, entry, item, head, tail)
    g_head = g_tail = groups
    bucket = -1  # the next to wake; -1 while groups are not sorted
    ceiling = alpha * left.size  # no unrated target gains more than this
    total, place = 0.0, 1
    while place < discount.size:
        best = -1.0
        while head < tail:
            best = either_gain(begin, aspect, item[entry[head]], gain[entry[head]], left)
            if best >= bound[head]:
                break
            bound[head] = best
            settle(bound, entry, item, head, tail)
        if bucket < 0 and best <= ceiling + 1e-12:
            ceiling = 0.0
            for a in range(left.size):
                ceiling += alpha * left[a]
            if best <= ceiling + 1e-12:
                bucket = sort_groups(pool, own, groups, alpha, left, none, gains, order, places, highest)
        if bucket >= 0:
            g_head, bucket = wake(
                begin, aspect, pool_start, pool_item, own, groups, alpha, left, closed, u, best, g_bound, g_entry,
                code, following, g_head, bucket, gains, order, places, highest,
            )  # fmt: skip
        if g_head < g_tail and (
            g_bound[g_head] > best or (g_bound[g_head] == best and code[g_entry[g_head]] < item[entry[head]])
        ):
            best, g = g_bound[g_head], g_entry[g_head]
            chosen, p = code[g], alpha
            if step(pool_item, closed, u, g, pool_start[own + g + 1], following, code):
                settle(g_bound, g_entry, code, g_head, g_tail)
            else:
                g_head += 1
        elif head < tail:
            chosen, p = item[entry[head]], gain[entry[head]]
            head += 1
        else:
            break
        if best <= 0.0:
            break
        total += discount[place] * best
        place += 1
        fade_by(begin, aspect, chosen, p, left)
    return total


@njit(nogil=True, cache=True)
def step(pool_item, closed, u, group, end, following, code):
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
def sort_groups(pool, own, groups, alpha, left, none, gains, order, start, highest):
    """Gains of all groups of a unit, and the groups sorted roughly, by bucket; returns the first bucket."""
    parent, added, node = pool.parent, pool.added, pool.node
    none[0] = 1.0
    for n in range(1, none.size):  # parents come before their children
        none[n] = none[parent[n]] * (1.0 - alpha * left[added[n]])
    best = 0.0
    for g in range(groups):
        gains[g] = 1.0 - none[node[own + g]]
        best = max(best, gains[g])
    start[:] = 0
    highest[:] = -1.0
    if best <= 0.0:
        return BUCKETS
    scale = (BUCKETS - 1) / best
    for g in range(groups):
        b = BUCKETS - 1 - int(gains[g] * scale)
        start[b + 1] += 1
        highest[b] = max(highest[b], gains[g])
    for b in range(BUCKETS):
        start[b + 1] += start[b]
    for g in range(groups):  # from the end of each bucket to its beginning
        b = BUCKETS - 1 - int(gains[g] * scale)
        start[b + 1] -= 1
        order[start[b + 1]] = g
    return 0


@njit(nogil=True, cache=True)
def wake(
    begin, aspect, pool_start, pool_item, own, groups, alpha, left, closed, u, best,
    bound, entry, code, following, head, bucket, gains, order, start, highest,
):  # fmt: skip
    """Bring the best unrated target to the head of the queue of groups, unless none can reach `best`.

    Groups asleep gain no more than the highest of their bucket did when they were sorted. Bucket b begins at
    start[b + 1] and ends where the next one begins.
    """
    while True:
        while head < groups and bound[head] >= best:
            gain = either_gain(begin, aspect, code[entry[head]], alpha, left)
            if gain >= bound[head]:
                break
            bound[head] = gain
            settle(bound, entry, code, head, groups)
        top = bound[head] if head < groups else -1.0
        while bucket < BUCKETS and highest[bucket] < 0.0:
            bucket += 1
        if bucket >= BUCKETS or highest[bucket] < max(top, best):
            return head, bucket
        end = start[bucket + 2] if bucket + 2 <= BUCKETS else groups
        for n in range(start[bucket + 1], end):
            g = order[n]
            following[g] = pool_start[own + g]
            if step(pool_item, closed, u, g, pool_start[own + g + 1], following, code):
                head -= 1
                bound[head], entry[head] = gains[g], g
                settle(bound, entry, code, head, groups)
        bucket += 1
