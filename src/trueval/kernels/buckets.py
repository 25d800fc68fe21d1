"""Compiled: quantising a row of scores into buckets by a monotone map, and counting them."""

from __future__ import annotations

import numpy as np
from numba import njit

BUCKETS = 2048


@njit(nogil=True, cache=True, fastmath={"reassoc"})
def all_finite(row):
    """Whether no score is NaN or infinite (0·x is NaN for those)."""
    total = row[0] * 0
    for j in range(row.size):
        total += row[j] * 0
    return total == 0


@njit(nogil=True, cache=True)
def spread(row):
    """Least and greatest of a sample of the scores; what lies outside is put into the end buckets."""
    step = max(1, row.size // 1024)
    low = row[0]
    high = row[0]
    for j in range(0, row.size, step):
        low = min(low, row[j])
        high = max(high, row[j])
    return low, high


@njit(nogil=True, cache=True, fastmath={"nnan"})
def quantise(row, low, scale, bucket):
    """Bucket of every score; rounding and clamping keep the map monotone, so order between buckets is exact."""
    for j in range(row.size):
        place = (row[j] - low) * scale
        place = max(place, np.float32(0))
        place = min(place, np.float32(BUCKETS - 1))
        bucket[j] = np.uint16(np.int32(place))


@njit(nogil=True, cache=True)
def count(bucket, size, counts):
    """Histogram of buckets in two halves, so that neighbours rarely wait for each other."""
    left, right = counts[0], counts[1]
    half = size // 2
    for j in range(half):
        left[bucket[j]] += 1
        right[bucket[half + j]] += 1
    if size % 2:
        left[bucket[size - 1]] += 1


@njit(nogil=True, cache=True)
def flagged(bucket, size, flag, candidate):
    """Places whose bucket is flagged. Most are not, so eight are asked at once."""
    n = 0
    whole = size - size % 8
    for j in range(0, whole, 8):
        if (
            flag[bucket[j]] | flag[bucket[j + 1]] | flag[bucket[j + 2]] | flag[bucket[j + 3]]
            | flag[bucket[j + 4]] | flag[bucket[j + 5]] | flag[bucket[j + 6]] | flag[bucket[j + 7]]
        ):  # fmt: skip
            for i in range(j, j + 8):
                candidate[n] = i
                n += flag[bucket[i]] != 0
    for i in range(whole, size):
        candidate[n] = i
        n += flag[bucket[i]] != 0
    return n


@njit(nogil=True, cache=True)
def bucketise(row, excluded, depth, bucket, counts, flag, higher):
    """Fill buckets and their counts, flag the buckets of the list; returns targets and list candidates."""
    size = row.size
    low, high = spread(row)
    scale = row.dtype.type(0)
    if high > low and (high - low) * 2 < np.inf:
        scale = row.dtype.type(BUCKETS / np.float64(high - low))
    counts[:] = 0
    if 0 < scale < np.inf:
        quantise(row, low, scale, bucket)
    else:  # no spread, or one beyond what a number holds: 0 · inf has no place in any bucket
        bucket[:size] = 0
    count(bucket, size, counts)
    targets = size
    for j in excluded:
        if bucket[j] != BUCKETS:
            counts[0, bucket[j]] -= 1
            bucket[j] = BUCKETS
            targets -= 1
    want = min(depth + 1, targets)
    running = 0
    for b in range(BUCKETS - 1, -1, -1):
        higher[b] = running
        flag[b] = 2 if running < want else 0
        running += counts[0, b] + counts[1, b]
    flag[BUCKETS] = 0
    return targets
