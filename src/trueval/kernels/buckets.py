"""Compiled: quantising a row of scores into buckets by a monotone map, and counting them.

Buckets are numbered from 1, the lowest scores first; bucket 0 takes what is no target. While scores are counted,
the count of a bucket that holds a judged item carries a mark (it is negative), so that the places of such a bucket
are found on the way.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import register_jitable

from trueval.kernels.jit import INNER, inner

BUCKETS = 4096
MARK = -(2**31)


@register_jitable
def filled_up(size):
    """How many buckets a row gets: a number that `count` and `at_least` like; the last ones are of no target."""
    return -(-size // 32) * 32


@inner
def spread(row):
    """Least and greatest of a sample of the scores; what lies outside is put into the end buckets.

    The sample is of short runs all over the row: neighbours come from memory together. Two runs go side by side,
    so that neither waits for the other.
    """
    pairs, length = 32, min(16, row.size)
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


@njit(**INNER, fastmath={"reassoc"})
def quantise(row, low, high, scale, bucket):
    """Bucket of every score; returns whether all scores are finite (0 · x is NaN for those that are not).

    Clamping and rounding keep the map monotone, so order between buckets is exact. The bounds are scores, not
    numbers of buckets: the compiler would work with the latter as constants, and much slower.
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
def count(bucket, counts, groups, marked):
    """Add every place to the count of its bucket; collects the places in marked buckets, and returns their number.

    Few places are, so of every eight it is noted first whether one is (the number of places is a multiple of it):
    to ask on the way would let the processor guess, and it would often guess wrong.
    """
    eight = np.uint64(8)
    for g in range(np.uint64(bucket.size) // eight):
        seen = np.int32(0)
        for i in range(eight):
            b = bucket[g * eight + i]
            before = counts[b]
            counts[b] = before + np.int32(1)
            seen |= before
        groups[g] = seen
    some = 0
    for g in range(bucket.size // 8):
        seen = groups[g]
        groups[some] = g
        some += seen < 0
    n = 0
    for g in groups[:some]:
        for i in range(8 * g, 8 * g + 8):
            marked[n] = i
            n += counts[bucket[i]] < 0
    return n


@inner
def at_least(bucket, lowest, groups, found):
    """Places whose bucket is this one or better; returns their number. Few are, so 16 are asked at once.

    Four buckets are one word. What is added to each of them lifts its highest bit if and only if it is good enough.
    """
    words = bucket.view(np.uint64)
    lift = np.uint64(0x8000 - lowest) * np.uint64(0x0001000100010001)
    some = 0
    for g in range(words.size // 4):
        lifted = np.uint64(0)
        for word in range(4 * g, 4 * g + 4):
            lifted |= words[word] + lift
        groups[some] = g
        some += (lifted & np.uint64(0x8000800080008000)) != 0
    n = 0
    for g in groups[:some]:
        for i in range(16 * g, 16 * g + 16):
            found[n] = i
            n += bucket[i] >= lowest
    return n
