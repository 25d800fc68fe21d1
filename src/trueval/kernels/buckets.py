"""Compiled: quantising a row of scores into buckets by a monotone map, and counting them.

Buckets are numbered from 1, the lowest scores first; bucket 0 takes what is no target. While scores are counted,
the count of a bucket that holds a judged item carries a mark (it is negative), so that the places of such a bucket
are found on the way.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BUCKETS = 4096
WIDTH = 64  # buckets whose counts are added up together
MARK = -(2**31)


@njit(nogil=True, cache=True)
def filled_up(size):
    """How many buckets a row gets: a number that `count` and `at_least` like; the last ones are of no target."""
    return -(-size // 32) * 32


@njit(nogil=True, cache=True)
def spread(row):
    """Least and greatest of a sample of the scores; what lies outside is put into the end buckets.

    The sample is of short runs all over the row: neighbours come from memory together.
    """
    runs, length = 64, min(16, row.size)
    low = row[0]
    high = row[0]
    for run in range(runs):
        begin = run * (row.size - length) // (runs - 1)
        for j in range(begin, begin + length):
            low = min(low, row[j])
            high = max(high, row[j])
    return low, high


@njit(nogil=True, cache=True, fastmath={"reassoc"})
def quantise(row, low, scale, bucket):
    """Bucket of every score; returns whether all scores are finite (0 · x is NaN for those that are not).

    Rounding and clamping keep the map monotone, so order between buckets is exact.
    """
    zero, last = row.dtype.type(0), row.dtype.type(BUCKETS - 1)
    nothing = zero
    for j in range(row.size):
        nothing += row[j] * zero
        place = (row[j] - low) * scale
        place = place if place > zero else zero  # in this form NaN, too, gets a bucket
        place = place if place < last else last
        bucket[j] = np.uint16(np.int32(place) + 1)
    return nothing == 0


@njit(nogil=True, cache=True)
def bucketise(row, excluded, bucket):
    """Buckets of all scores; returns the number of targets, -1 where a score is not finite."""
    low, high = spread(row)
    scale = row.dtype.type(0)  # no spread, or one beyond what a number holds: one bucket for all
    if high > low and (high - low) * 2 < np.inf:
        scale = row.dtype.type(BUCKETS / np.float64(high - low))
    if not scale < np.inf:
        scale = row.dtype.type(0)
    if not quantise(row, low, scale, bucket):
        return -1
    bucket[row.size :] = 0
    targets = row.size
    for j in excluded:
        targets -= bucket[j] != 0
        bucket[j] = 0
    return targets


@njit(nogil=True, cache=True)
def count(bucket, counts, marked):
    """Add every place to the count of its bucket; collects the places in marked buckets, and returns their number.

    Few places are, so eight are asked at once (the number of places is a multiple of it).
    """
    n = 0
    for j in range(0, bucket.size, 8):
        seen = np.int32(0)
        for i in range(j, j + 8):
            before = counts[bucket[i]]
            counts[bucket[i]] = before + 1
            seen |= before
        if seen < 0:
            for i in range(j, j + 8):
                marked[n] = i
                n += counts[bucket[i]] < 0
    return n


@njit(nogil=True, cache=True)
def add_up(counts, sums):
    """Counts of buckets together, WIDTH at a time, bucket 0 left out."""
    for s in range(sums.size):
        total = np.int32(0)
        for b in range(1 + s * WIDTH, 1 + (s + 1) * WIDTH):
            total += counts[b]
        sums[s] = total


@njit(nogil=True, cache=True)
def higher(counts, sums, bucket):
    """How many targets are in better buckets."""
    s = (bucket - 1) // WIDTH
    total = 0
    for b in range(bucket + 1, 1 + (s + 1) * WIDTH):
        total += counts[b]
    for other in range(s + 1, sums.size):
        total += sums[other]
    return total


@njit(nogil=True, cache=True)
def at_least(bucket, lowest, found):
    """Places whose bucket is this one or better; returns their number. Few are, so 32 are asked at once.

    Four buckets are one word. What is added to each of them lifts its highest bit if and only if it is good enough.
    """
    n = 0
    words = bucket.view(np.uint64)
    lift = np.uint64(0x8000 - lowest) * np.uint64(0x0001000100010001)
    for w in range(0, words.size, 8):
        lifted = np.uint64(0)
        for word in range(w, w + 8):
            lifted |= words[word] + lift
        if lifted & np.uint64(0x8000800080008000):
            for i in range(4 * w, 4 * w + 32):
                found[n] = i
                n += bucket[i] >= lowest
    return n
