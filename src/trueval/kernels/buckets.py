"""Compiled: quantising a row of scores into buckets by a monotone map, and counting them.

Buckets are numbered from 1, the lowest scores first; bucket 0 takes what is no target. While scores are counted,
the count of a bucket that holds a judged item carries a mark (it is negative), so that the places of such a bucket
are found on the way.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import register_jitable

from trueval.kernels.fetching import fetch
from trueval.kernels.jit import INNER, inner

BUCKETS = 4096
MARK = -(2**31)
HIGHEST = np.uint64(0x8000800080008000)


@register_jitable
def filled_up(size):
    """How many buckets a row gets: a number that `count` and `at_least` like; the last ones are of no target."""
    return -(-size // 32) * 32


@inner
def spread(row):
    """Least and greatest of a sample of the scores; what lies outside is put into the end buckets.

    The sample is of short runs all over the row: neighbours come from memory together. Two runs go side by side,
    so that neither waits for the other. More runs would cost more than they save: all of them come from far away,
    while a better spread spares a few scores in the end buckets.
    """
    pairs, length = 16, min(16, row.size)
    low, high = row[0], row[0]
    other_low, other_high = row[0], row[0]
    for pair in range(pairs):
        one = pair * (row.size - length) // (2 * pairs - 1)
        other = (pair + pairs) * (row.size - length) // (2 * pairs - 1)
        for i in range(length):
            score, other_score = row[one + i], row[other + i]
            low = score if score < low else low
            high = score if score > high else high
            other_low = other_score if other_score < other_low else other_low
            other_high = other_score if other_score > other_high else other_high
    return low if low < other_low else other_low, high if high > other_high else other_high


@njit(**INNER, fastmath={"reassoc", "contract"})
def quantise(row, low, high, scale, bucket):
    """Bucket of every score; returns whether all scores are finite (0 · x is NaN for those that are not).

    Clamping and rounding keep the map monotone, so order between buckets is exact. The bounds are scores, not
    numbers of buckets: the compiler would work with the latter as constants, and much slower. It may put a product
    and a sum into one instruction; there is but one such pair, which looks for scores that are not finite.
    """
    zero = row.dtype.type(0)
    nothing = zero
    for j in range(row.size):
        score = row[j]
        nothing += score * zero
        score = score if score > low else low  # in this form NaN, too, gets a bucket
        score = score if score < high else high
        bucket[j] = np.uint16(np.int32((score - low) * scale) + 1)
    return nothing == 0


@inner
def bucketise(row, excluded, bucket):
    """Buckets of all scores; returns the number of targets, -1 where a score is not finite."""
    low, high = spread(row)
    scale = row.dtype.type(np.inf)
    if high > low and (high - low) * 2 < np.inf:
        scale = row.dtype.type((BUCKETS - 1) / np.float64(high - low))
    if not scale < np.inf:  # no spread, or one beyond what a number holds: one bucket for all
        high, scale = low, row.dtype.type(0)
    if not quantise(row, low, high, scale, bucket):
        return -1
    for j in range(row.size, bucket.size):
        bucket[j] = 0
    targets = row.size
    for j in excluded:
        targets -= bucket[j] != 0
        bucket[j] = 0
    return targets


@inner
def count(bucket, counts, groups, marked, following):
    """Add every place to the count of its bucket; collects the places in marked buckets, and returns their number.

    The scores of the `following` row come from far away, and counting needs little memory: they are asked for on the
    way, sixteen at a time, and are near when they are read.

    Few places are, so it is asked of eight at once (the number of places is a multiple of it), and never by a branch:
    the processor would guess, and often wrong. Numbers without a sign are places without a look whether they are
    below 0, here and in `at_least`.
    """
    eight = np.uint64(8)
    some = n = np.uint64(0)
    for g in range(np.uint64(bucket.size) // eight):
        seen = np.int32(0)
        if g % np.uint64(2) == np.uint64(0):
            fetch(following, g * eight)
        for i in range(eight):
            b = bucket[g * eight + i]
            before = counts[b]
            counts[b] = before + np.int32(1)
            seen |= before
        groups[some] = g
        some += np.uint64(seen < 0)
    for g in range(some):
        first = np.uint64(groups[g]) * eight
        for i in range(eight):
            marked[n] = first + i
            n += np.uint64(counts[bucket[first + i]] < 0)
    return np.int64(n)


@inner
def add_up(counts, first, last):
    """How many targets are in the buckets from this one to before that one."""
    total = np.int32(0)
    for b in range(np.uint64(first), np.uint64(last)):
        total += counts[b]
    return total


@inner
def end_of_list(counts, want):
    """The best bucket with which there are so many targets: among few, as soon as it is known among which."""
    few = 64
    b, total = BUCKETS + 1, np.int32(0)
    while b > few:
        more = add_up(counts, b - few, b)
        if total + more >= want:
            break
        total += more
        b -= few
    while total < want:
        b -= 1
        total += counts[b]
    return b


@inner
def any_lifted(words, lift, some):
    """Whether one of eight words has a bucket that is good enough (see `at_least`): words that stand far apart.

    So the compiler makes use of wide registers.
    """
    n = np.uint64(words.size // 8)
    a, b, c, d = words[:n], words[n : 2 * n], words[2 * n : 3 * n], words[3 * n : 4 * n]
    e, f, g, h = words[4 * n : 5 * n], words[5 * n : 6 * n], words[6 * n : 7 * n], words[7 * n :]
    for i in range(n):
        lifted = (a[i] + lift) | (b[i] + lift) | (c[i] + lift) | (d[i] + lift)
        lifted |= (e[i] + lift) | (f[i] + lift) | (g[i] + lift) | (h[i] + lift)
        some[i] = np.int32((lifted & HIGHEST) != 0)
    return n


@inner
def at_least(bucket, lowest, words_found, found):
    """Places whose bucket is this one or better; returns their number. Few are, so 32 are asked at once, then 4.

    Four buckets are one word. What is added to each of them lifts its highest bit if and only if it is good enough.
    """
    words = bucket.view(np.uint64)
    lift = np.uint64(0x8000 - lowest) * np.uint64(0x0001000100010001)
    groups = any_lifted(words, lift, words_found)
    some = few = n = np.uint64(0)
    for g in range(groups):
        found[some] = g
        some += np.uint64(words_found[g])
    for i in range(some):
        for part in range(np.uint64(8)):
            word = np.uint64(found[i]) + part * groups
            words_found[few] = word
            few += np.uint64(((words[word] + lift) & HIGHEST) != 0)
    for w in range(few):
        first = np.uint64(words_found[w]) * np.uint64(4)
        for i in range(np.uint64(4)):
            found[n] = first + i
            n += np.uint64(bucket[first + i] >= lowest)
    return np.int64(n)
