"""Compiled: the best items and the exact ranks of judged items in rows of scores.

A row's scores are quantised into buckets by a monotone map and counted. The counts give the bucket of
the list's last item and, for every judged item, the number of targets in better buckets; only the few
scores in a bucket that holds a judged item or the end of the list are looked at again. So both the list
and the ranks are exact, for a cost close to two reads of the row.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from trueval.kernels.buckets import BUCKETS, all_finite, bucketise, flagged
from trueval.kernels.draws import tie_key, user_key
from trueval.kernels.ordering import keep_best, sort_places


@njit(nogil=True, cache=True)
def meet(
    row,
    items,
    bucket,
    candidate,
    n_candidates,
    stream,
    given,
    flag,
    first,
    j_score,
    j_key,
    equal_end,
    above,
    before,
    tied,
):
    """Count candidates against the judged items of their own bucket (sorted, best first).

    `above[p]`, `before[p]`: how many come strictly above, or above or earlier among equals, for judged
    item p and those behind it in its bucket. `tied[p]`: how many equal p, kept at the first of its equals.
    """
    for c in range(n_candidates):
        j = candidate[c]
        b = bucket[j]
        if not flag[b] & 1:
            continue
        score = row[j]
        p, last = first[b, 0], first[b, 1]
        if last - p > 8:
            end = last
            while p < end:
                mid = (p + end) // 2
                if j_score[mid] > score:
                    p = mid + 1
                else:
                    end = mid
        else:
            while p < last and j_score[p] > score:
                p += 1
        if p == last:
            continue
        if j_score[p] != score:
            above[p] += 1
            before[p] += 1
            continue
        tied[p] += 1
        end = equal_end[p]
        if end < last:
            above[end] += 1
        key = tie_key(stream, items[j], j, given)
        while p < end:
            mid = (p + end) // 2
            if j_key[mid] <= key:
                p = mid + 1
            else:
                end = mid
        if p < last:
            before[p] += 1


@njit(nogil=True, cache=True)
def rank_judged(
    row, items, judged, stream, given, bucket, candidate, flag, higher, first, out_rank, out_above, out_tied
):
    """Exact ranks of the judged items; flags and collects the candidates, whose number it returns."""
    n = judged.size
    j_score = np.empty(n, row.dtype)
    j_key = np.empty(n, np.uint64)
    j_place = np.empty(n, np.int64)
    ranked = 0
    for i in range(n):
        j = judged[i]
        out_rank[i] = 0
        out_above[i] = 0
        out_tied[i] = 0
        if j >= 0 and bucket[j] != BUCKETS:
            j_score[ranked] = row[j]
            j_key[ranked] = tie_key(stream, items[j], j, given)
            j_place[ranked] = i
            ranked += 1
            flag[bucket[j]] |= 1
    sort_places(j_score, j_key, j_place, ranked)
    for p in range(ranked):
        b = bucket[judged[j_place[p]]]
        if p == 0 or b != bucket[judged[j_place[p - 1]]]:
            first[b, 0] = p
        first[b, 1] = p + 1
    equal_end = np.empty(ranked, np.int64)
    for p in range(ranked - 1, -1, -1):
        equal_end[p] = equal_end[p + 1] if p + 1 < ranked and j_score[p + 1] == j_score[p] else p + 1
    above = np.zeros(ranked, np.int32)
    before = np.zeros(ranked, np.int32)
    tied = np.zeros(ranked, np.int32)
    n_candidates = flagged(bucket, row.size, flag, candidate)
    meet(
        row,
        items,
        bucket,
        candidate,
        n_candidates,
        stream,
        given,
        flag,
        first,
        j_score,
        j_key,
        equal_end,
        above,
        before,
        tied,
    )
    more_above = more_before = same = 0
    for p in range(ranked):
        b = bucket[judged[j_place[p]]]
        if p == first[b, 0]:
            more_above = more_before = 0
        more_above += above[p]
        more_before += before[p]
        if p == 0 or j_score[p] != j_score[p - 1]:
            same = tied[p]
        i = j_place[p]
        out_above[i] = higher[b] + more_above
        out_rank[i] = 1 + higher[b] + more_before
        out_tied[i] = same
    return n_candidates


@njit(nogil=True, cache=True)
def fill_list(
    row,
    items,
    candidate,
    n_candidates,
    stream,
    given,
    bucket,
    flag,
    targets,
    depth,
    c_score,
    c_key,
    c_place,
    out,
    splits,
):
    """The best items in order; `splits[k-1]` counts lists whose cut at k falls between equal scores."""
    want = min(depth + 1, targets)
    found = 0
    for c in range(n_candidates):
        j = candidate[c]
        if flag[bucket[j]] & 2:
            c_score[found] = row[j]
            c_key[found] = tie_key(stream, items[j], j, given)
            c_place[found] = j
            found += 1
    if found > want + 2048:
        found = keep_best(c_score, c_key, c_place, found, want)
    sort_places(c_score, c_key, c_place, found)
    for r in range(depth):
        out[r] = items[c_place[r]] if r < targets else -1
        if r + 1 < want and c_score[r] == c_score[r + 1]:
            splits[r] += 1


@njit(nogil=True, cache=True)
def rank_row(row, items, excluded, judged, stream, given, depth, out_top, out_rank, out_above, out_tied, splits, work):
    """Rank one row of scores; returns the number of targets. See `rank_rows` for the arguments."""
    bucket, candidate, counts, flag, higher, first, c_score, c_key, c_place = work
    targets = bucketise(row, excluded, depth, bucket, counts, flag, higher)
    n = rank_judged(
        row,
        items,
        judged,
        stream,
        given,
        bucket,
        candidate,
        flag,
        higher,
        first,
        out_rank,
        out_above,
        out_tied,
    )
    fill_list(
        row,
        items,
        candidate,
        n,
        stream,
        given,
        bucket,
        flag,
        targets,
        depth,
        c_score,
        c_key,
        c_place,
        out_top,
        splits,
    )
    return targets


@njit(nogil=True, cache=True)
def workspace(size, kind):
    """Memory that one worker uses again for every row."""
    return (
        np.empty(size, np.uint16),
        np.empty(size + 8, np.int32),
        np.zeros((2, BUCKETS + 1), np.int32),
        np.zeros(BUCKETS + 1, np.uint8),
        np.zeros(BUCKETS, np.int32),
        np.zeros((BUCKETS, 2), np.int32),
        np.empty(size, kind.dtype),
        np.empty(size, np.uint64),
        np.empty(size, np.int64),
    )


@njit(nogil=True, cache=True)
def rank_rows(
    scores, items, excluded_start, excluded, judged_start, judged, users, seed, given, depth,
    top, targets, rank, above, tied, splits,
):  # fmt: skip
    """Rank every row of a block of scores; returns the first row with a non-finite score, or -1."""
    work = workspace(scores.shape[1], scores)
    for r in range(scores.shape[0]):
        row = scores[r]
        if not all_finite(row):
            return r
        e = excluded[excluded_start[r] : excluded_start[r + 1]]
        a, b = judged_start[r], judged_start[r + 1]
        stream = user_key(seed, users[r])
        targets[r] = rank_row(
            row, items, e, judged[a:b], stream, given, depth,
            top[r], rank[a:b], above[a:b], tied[a:b], splits, work,
        )  # fmt: skip
    return -1


@njit(nogil=True, cache=True)
def rank_targets(
    scores, rows, target_start, target, judged_start, judged, users, seed, given, depth,
    top, rank, above, tied, splits,
):  # fmt: skip
    """Rank each unit's own (sampled) targets; `judged` are places among the unit's targets.

    Returns the first unit with a non-finite score, or -1.
    """
    most = 0
    for r in range(rows.size):
        most = max(most, target_start[r + 1] - target_start[r])
    gathered = np.empty(most, scores.dtype)
    work = workspace(most, scores)
    nothing = np.empty(0, np.int32)
    for r in range(rows.size):
        items = target[target_start[r] : target_start[r + 1]]
        for j in range(items.size):
            gathered[j] = scores[rows[r], items[j]]
        row = gathered[: items.size]
        if items.size and not all_finite(row):
            return r
        a, b = judged_start[r], judged_start[r + 1]
        stream = user_key(seed, users[r])
        if items.size:
            rank_row(
                row, items, nothing, judged[a:b], stream, given, depth,
                top[r], rank[a:b], above[a:b], tied[a:b], splits, work,
            )  # fmt: skip
    return -1
