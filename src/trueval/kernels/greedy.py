"""Compiled: greedy ideals, without working out the gain of every target at every place.

An item's gain never rises while others are ranked before it, so a gain worked out earlier is an upper bound, and
only candidates whose bound reaches the best gain are worked out again: the choice is that of a full scan. Gains that
only rounding tells apart are equal, and of all that equal the best the smallest item code is chosen, in whatever
order candidates are looked at. Unrated targets with the same aspects gain the same, so one of them stands for its
group. Groups sleep until they could be the best: those above some level are sorted roughly, and wake up bucket by
bucket.

The processor waits for what it cannot predict, so candidates near the best are first collected and then worked out one
after the other, without asking in between whether the best one has changed; and sets of aspects are filled up to whole
chunks (see `interest.in_chunks`). A heap, or asking every time, works out fewer gains in more time. It also waits for
what it has just changed, so where little is left to change (an item takes away less than LITTLE of the interest in its
aspects), the next best gain is bounded from below before it is known: gains fall by no larger part than interest does.
"""

from __future__ import annotations

import numpy as np

from trueval.kernels.aspect_rows import LESS, MORE, NEAR_ONE
from trueval.kernels.interest import added_gain, chunked_fade, chunked_gain, fade_by
from trueval.kernels.jit import inner, within

BUCKETS = 16
# How far groups had to wake for one unit, and a little further, is how far they are sorted for the next. Where that was
# not enough, the next level is this part of the last one, and then falls faster and faster.
FURTHER, FALL = 0.9, 0.95
LITTLE = 0.05


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
    # of those awake, by place: bound and number, and the places near the best; by number: gain, begin and end of its
    # aspects, item, group (-1 for a rated one)
    awake = (np.empty(size), np.empty(size, np.int64), np.empty(size + 1, np.int64))
    whole = (np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32))
    about = (np.empty(size), *whole)
    asleep = (np.empty(groups), np.empty(groups, np.int64), np.empty(groups, np.int64), np.empty(groups, np.int64))
    buckets = (np.empty(BUCKETS + 2, np.int64), np.empty(BUCKETS + 1))
    return awake, about, asleep, buckets, (np.empty(pool.parent.size), np.empty(number), np.ones(1))


@inner
def unified_dcg(of_item, edge, chunked, item, gain, target, pool, alpha, discount, u, left, closed, space):
    """αβ-DCG of the greedy order of a unit's rated items (those that are targets) and its unrated targets."""
    awake, about, (gains, found, order, following), (start, highest), (none, factor, habit) = space
    (bound, which, _), (worth, low, high, code, group) = awake, about
    own, groups = pool.first[u], pool.last[u] - pool.first[u]
    size = 0
    for j in range(item.size):
        if target[j]:
            add(awake, about, size, size, np.inf, gain[j], item[j], -1, edge, of_item[item[j]])
            size += 1
    met = size  # candidates so far, ranked ones among them
    asleep = alpha * factor.size + 1e-12 if alpha > 0.0 and groups > 0 else 0.0  # no group asleep gains more
    most = -1.0  # no group gained more when gains of groups were worked out; below 0 as long as they are not
    level, fall, bucket = 0.0, FALL, BUCKETS  # groups from this gain on are sorted; the next bucket of them to wake
    best = sure = total = 0.0  # sure: the next best gain is not below it
    for place in range(1, discount.size):
        best, close, looked = 0.0, 0, 0
        while True:
            best, close = look(chunked, left, awake, about, looked, size, best, sure, close)
            looked = size
            if asleep <= 0.0 or best * LESS - NEAR_ONE > asleep:
                break
            if most < 0.0:
                asleep = alpha * highest_sum(left[: factor.size], pool.widest, factor) + 1e-12
                if best * LESS - NEAR_ONE > asleep:
                    break
                work_out(pool, own, groups, alpha, left, none, factor, gains)
                most, level = asleep, habit[0] * asleep
            if bucket == BUCKETS:
                sort_roughly(gains[:groups], level, found, order, start, highest)
                bucket = 0
            else:
                some = order[start[bucket + 1] : start[bucket + 2]]
                bucket += 1
                size, met = wake(pool, own, some, edge, alpha, u, closed, gains, following, awake, about, size, met)
            asleep = max(highest[bucket], level)
            if bucket == BUCKETS:
                level, fall = (fall * level if level > 0.01 * most else 0.0), fall * fall
        if best <= 0.0:
            break
        chosen, second, next_gain = choose(awake, code, close, best)
        total += discount[place] * bound[chosen]
        c = which[chosen]
        chunked_fade(chunked, low[c], high[c], worth[c], left)
        sure = (1.0 - worth[c]) * next_gain * LESS - NEAR_ONE if worth[c] < LITTLE else 0.0
        g = group[c]
        if g < 0 or not go_on(pool, own, closed, u, following, g, code, c):
            size -= 1
            bound[chosen], which[chosen] = bound[size], which[size]
            second = chosen if second == size else second
        if second < size:  # the next best is a good one to begin with at the next place
            bound[0], bound[second] = bound[second], bound[0]
            which[0], which[second] = which[second], which[0]
    if most > 0.0:
        habit[0] = min(max(FURTHER * best / most, 0.01), 1.0)
    return total


@within
def add(awake, about, size, met, most, gain, item, group, edge, aspects):
    """One more candidate, with a set of aspects."""
    (bound, which, _), (worth, low, high, code, groups) = awake, about
    bound[size], which[size] = most, met
    worth[met], low[met], high[met] = gain, edge[aspects], edge[aspects + 1]
    code[met], groups[met] = item, group


@within
def wake(pool, own, some, edge, alpha, u, closed, gains, following, awake, about, size, met):
    """Some groups become candidates, unless no item of theirs is an unrated target; returns the numbers of both."""
    begin, item, sets = pool.start, pool.item, pool.set
    for g in some:
        following[g] = begin[own + g]
        if step(item, closed, u, following, g, begin[own + g + 1]):
            add(awake, about, size, met, gains[g], alpha, item[following[g]], g, edge, sets[own + g])
            size += 1
            met += 1
        gains[g] = -1.0  # it sleeps no more
    return size, met


@within
def go_on(pool, own, closed, u, following, group, code, candidate):
    """Let the next item of a group stand for it; False when there is none."""
    following[group] += 1
    if not step(pool.item, closed, u, following, group, pool.start[own + group + 1]):
        return False
    code[candidate] = pool.item[following[group]]
    return True


@within
def look(chunked, left, awake, about, first, last, best, sure, close):
    """Work out what candidates at places first to last - 1 gain, where it may be the best, and note them as near.

    Returns the best gain, and the number of those near. The first of all is one that is likely to be good.
    """
    (bound, which, near), (worth, low, high, _, _) = awake, about
    n, stop, begin = np.uint64(first), np.uint64(last), np.uint64(close)
    if first == 0 and stop > n and sure <= 0.0:
        c = np.uint64(which[n])
        best = bound[n] = chunked_gain(chunked, low[c], high[c], worth[c], left)
        near[n] = n
        n += np.uint64(1)
        begin = n
    enough = max(best, sure) * LESS - NEAR_ONE  # from here on a gain is equal to the best, or better
    end = begin
    while n < stop:
        near[end] = n
        end += np.uint64(bound[n] >= enough)
        n += np.uint64(1)
    for x in range(begin, end):
        n = np.uint64(near[x])
        c = np.uint64(which[n])
        gain = chunked_gain(chunked, low[c], high[c], worth[c], left)
        bound[n] = gain
        best = max(best, gain)
    return best, np.int64(end)


@within
def choose(awake, code, close, best):
    """Place of the smallest item that gains as much as the best (and anything at all), of the best besides, its gain.

    Without branches: there is no telling which of those near are equal to the best, or come next.
    """
    bound, which, near = awake
    enough = max(best * LESS - NEAR_ONE, 5e-324)
    chosen = second = np.uint64(0)
    most, smallest = 0.0, np.int32(2147483647)
    for x in range(np.uint64(close)):
        n = np.uint64(near[x])
        gain, i = bound[n], code[np.uint64(which[n])]
        equal = gain >= enough
        first = equal and i < smallest
        chosen = n if first else chosen
        smallest = i if first else smallest
        next_best = gain > most and not equal
        second = n if next_best else second
        most = gain if next_best else most
    return np.int64(chosen), np.int64(second), most


@within
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
def work_out(pool, own, groups, alpha, left, none, factor, gains):
    """Gains of all groups of a unit, with factors in the order of `either_gain`."""
    parent, added, node = pool.parent, pool.added, pool.node
    for a in range(factor.size):
        factor[a] = 1.0 - alpha * left[a]
    none[0] = 1.0
    for n in range(1, none.size):  # parents come before their children
        none[n] = none[np.uint32(parent[n])] * factor[np.uint32(added[n])]
    for g in range(np.uint64(groups)):
        gains[g] = 1.0 - none[np.uint32(node[np.uint64(own) + g])]


@inner
def sort_roughly(gains, level, found, order, start, highest):
    """Groups whose gain is at least the level, by bucket, the highest gains first; those awake have none any more.

    Bucket b begins at start[b + 1] and ends where the next one begins; no gain from it on is above highest[b].
    """
    number = 0
    for g in range(gains.size):
        found[number] = g
        number += gains[g] >= level
    high = 0.0
    for x in range(np.uint64(number)):
        high = max(high, gains[np.uint64(found[x])])
    width = (high - level) / (BUCKETS - 1)
    scale = (BUCKETS - 1) / (high - level) if high > level else 0.0
    for b in range(BUCKETS):
        highest[b] = (high - b * width) * MORE
    highest[BUCKETS] = 0.0
    start[:] = 0
    for x in range(np.uint64(number)):
        start[np.uint64((high - gains[np.uint64(found[x])]) * scale) + np.uint64(1)] += 1
    for b in range(BUCKETS + 1):
        start[b + 1] += start[b]
    for x in range(np.uint64(number)):  # from the end of each bucket to its beginning
        which = np.uint64(found[x])
        at = np.uint64((high - gains[which]) * scale) + np.uint64(1)
        start[at] -= 1
        order[np.uint64(start[at])] = which
