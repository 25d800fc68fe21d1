"""Compiled: greedy ideals, without working out the gain of every target at every place.

An item's gain never rises while others are ranked before it, so a gain worked out earlier is an upper bound, and
only candidates whose bound reaches the best gain found so far are worked out again: the choice is that of a full
scan. Gains that only rounding tells apart are equal, and ties go to the smaller item code. Unrated targets with the
same aspects gain the same, so one of them stands for its group. Groups sleep until they could be the best: those
above some level are sorted roughly, and wake up bucket by bucket. (A heap does fewer comparisons, but the processor
cannot predict them.)
"""

from __future__ import annotations

import numpy as np

from trueval.kernels.aspect_rows import LESS, MORE
from trueval.kernels.interest import added_gain, either_gain, fade_by
from trueval.kernels.jit import inner

BUCKETS = 64
STEP = 0.95  # where one level of groups was not enough, the next is this part of it


@inner
def added_dcg(of_item, begin, aspect, item, gain, fade, discount, left, bound):
    """DCG of the greedy order of some items (ascending) whose gains add up over aspects; `bound` has room for all."""
    bound[: item.size] = np.inf
    total = 0.0
    for place in range(1, discount.size):
        best, chosen = 0.0, -1
        for j in range(item.size):
            if bound[j] > best * MORE:
                s = of_item[item[j]]
                bound[j] = added_gain(aspect, begin[s], begin[s + 1], gain[j], left)
                if bound[j] > best * MORE:
                    best, chosen = bound[j], j
        if chosen < 0:
            break
        total += discount[place] * best
        s = of_item[item[chosen]]
        fade_by(aspect, begin[s], begin[s + 1], fade[chosen], left)
        bound[chosen] = -1.0
    return total


@inner
def room(rows, pool, number, first, last):
    """Working memory for the units of a block: candidates awake, groups asleep, and what sorts them."""
    items, groups = 1, 1
    for u in range(first, last):
        items = max(items, rows.start[u + 1] - rows.start[u])
        groups = max(groups, pool.last[u] - pool.first[u])
    size = items + groups
    # of each candidate: bound and gain; item, group (-1 for a rated one), begin and end of its aspects
    awake = (np.empty(size + 1), np.empty(size), np.empty((size, 4), np.int32))
    asleep = (np.empty(groups), np.empty(groups, np.int64), np.empty(groups, np.int64), np.empty(groups, np.int64))
    buckets = (np.empty(BUCKETS + 2, np.int64), np.empty(BUCKETS + 1))
    return awake, asleep, buckets, (np.empty(pool.parent.size), np.empty(number), np.ones(1))


@inner
def unified_dcg(of_item, begin, aspect, item, gain, target, pool, alpha, discount, u, left, closed, space):
    """αβ-DCG of the greedy order of a unit's rated items (those that are targets) and its unrated targets."""
    (bound, worth, what), (gains, found, order, following), (start, highest), (any_, single, habit) = space
    pool_set, pool_start, pool_item = pool.set, pool.start, pool.item
    own, groups = pool.first[u], pool.last[u] - pool.first[u]
    size = 0
    for j in range(item.size):
        if target[j]:
            s = of_item[item[j]]
            size = add(bound, worth, what, size, np.inf, gain[j], item[j], -1, begin[s], begin[s + 1])
    asleep = alpha * left.size + 1e-12  # no group that sleeps gains more
    top = -1.0  # highest gain of a group; below 0 while gains of groups are not worked out
    level, bucket = np.inf, BUCKETS  # groups from this gain on are sorted; the next bucket of them to wake
    best = total = 0.0
    for place in range(1, discount.size):
        best, chosen, second = scan(aspect, left, bound, worth, what, size)
        while best * LESS <= asleep and asleep > 0.0:
            if top < 0.0:
                asleep = alpha * highest_sum(left, pool.widest, single) + 1e-12
                if best * LESS <= asleep:
                    top = work_out(pool, own, groups, alpha, left, any_, single, gains)
                    asleep = top
            elif bucket == BUCKETS:
                below, level = level, habit[0] * top if level > top else STEP * level
                level = level if level > 0.01 * top else 0.0
                sort_roughly(gains[:groups], level, below, found, order, start, highest)
                bucket = 0
                asleep = max(highest[0], level)
            else:
                for n in range(start[bucket + 1], start[bucket + 2]):
                    g, s = order[n], pool_set[own + order[n]]
                    following[g] = pool_start[own + g]
                    if step(pool_item, closed, u, following, g, pool_start[own + g + 1]):
                        i = pool_item[following[g]]
                        most = either_gain(aspect, begin[s], begin[s + 1], alpha, left)
                        if most > best * MORE or (most >= best * LESS and chosen >= 0 and i < what[chosen, 0]):
                            chosen, second = size, chosen
                        best = max(best, most)
                        size = add(bound, worth, what, size, most, alpha, i, g, begin[s], begin[s + 1])
                bucket += 1
                asleep = max(highest[bucket], level)
        if chosen < 0:
            break
        total += discount[place] * bound[chosen]
        fade_by(aspect, what[chosen, 2], what[chosen, 3], worth[chosen], left)
        if second > 0:  # the next best is a good one to begin with at the next place
            swap(bound, worth, what, 0, second)
            chosen = second if chosen == 0 else chosen
        g = what[chosen, 1]
        if g >= 0:
            following[g] += 1
            if step(pool_item, closed, u, following, g, pool_start[own + g + 1]):
                what[chosen, 0] = pool_item[following[g]]
                continue
        size -= 1
        swap(bound, worth, what, chosen, size)
    if top > 0.0:
        habit[0] = min(max(best / top, 0.01), 1.0)  # how far groups had to wake for one unit is a guess for the next
    return total


@inner
def add(bound, worth, what, size, most, gain, item, group, low, high):
    """One more candidate; returns their number."""
    bound[size], worth[size] = most, gain
    what[size, 0], what[size, 1], what[size, 2], what[size, 3] = item, group, low, high
    return size + 1


@inner
def swap(bound, worth, what, one, other):
    """Let two candidates change places."""
    bound[one], bound[other] = bound[other], bound[one]
    worth[one], worth[other] = worth[other], worth[one]
    for column in range(4):
        what[one, column], what[other, column] = what[other, column], what[one, column]


@inner
def scan(aspect, left, bound, worth, what, size):
    """The best of the candidates awake: its gain (0 without one), its place, and which was the best before it."""
    best, chosen, second = 0.0, np.int64(-1), np.int64(-1)
    bound[size] = np.inf  # an end that needs no asking
    n = np.uint64(0)
    while True:
        while bound[n] < best * LESS:
            n += np.uint64(1)
        if n >= size:
            break
        bound[n] = either_gain(aspect, what[n, 2], what[n, 3], worth[n], left)
        if bound[n] > best * MORE or (bound[n] >= best * LESS and chosen >= 0 and what[n, 0] < what[chosen, 0]):
            chosen, second = np.int64(n), chosen
        best = max(best, bound[n])
        n += np.uint64(1)
    return best, chosen, second


@inner
def step(pool_item, closed, u, following, group, end):
    """Go on to an item of the group that is an unrated target; False when there is none."""
    while following[group] < end and closed[pool_item[following[group]]] == u:
        following[group] += 1
    return following[group] < end


@inner
def highest_sum(values, number, space):
    """Sum of the highest values, at most so many."""
    for a in range(values.size):
        space[a] = values[a]
    total = 0.0
    for _ in range(min(number, values.size)):
        best, place = 0.0, 0
        for a in range(values.size):
            if space[a] > best:
                best, place = space[a], a
        total += best
        space[place] = 0.0
    return total


@inner
def work_out(pool, own, groups, alpha, left, any_, single, gains):
    """Gains of all groups of a unit, aspects in the order of `either_gain`; returns the highest."""
    parent, added, node = pool.parent, pool.added, pool.node
    for a in range(left.size):
        single[a] = alpha * left[a]
    any_[0] = 0.0
    for n in range(1, any_.size):  # parents come before their children
        before = any_[np.uint32(parent[n])]
        any_[n] = before + single[np.uint32(added[n])] * (1.0 - before)
    top = 0.0
    for g in range(groups):
        gains[g] = any_[np.uint32(node[own + g])]
        top = max(top, gains[g])
    return top


@inner
def sort_roughly(gains, level, below, found, order, start, highest):
    """Groups whose gain is at least the level, and below what is sorted already, by bucket, the highest gains first.

    Bucket b begins at start[b + 1] and ends where the next one begins; highest[b] is the highest gain from it on.
    """
    number = 0
    for g in range(gains.size):
        found[number] = g
        number += level <= gains[g] < below
    high = 0.0
    for g in found[:number]:
        high = max(high, gains[g])
    scale = (BUCKETS - 1) / (high - level) if high > level else 0.0
    start[:] = 0
    highest[:] = 0.0
    for g in found[:number]:
        b = int((high - gains[g]) * scale)
        start[b + 1] += 1
        highest[b] = max(highest[b], gains[g])
    for b in range(BUCKETS, 0, -1):
        highest[b - 1] = max(highest[b - 1], highest[b])
    for b in range(BUCKETS + 1):
        start[b + 1] += start[b]
    for g in found[:number]:  # from the end of each bucket to its beginning
        b = int((high - gains[g]) * scale)
        start[b + 1] -= 1
        order[start[b + 1]] = g
