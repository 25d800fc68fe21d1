"""Compiled: the best items and the exact ranks of judged items in rows of scores.

A row's scores are quantised into buckets by a monotone map and counted. The counts give the bucket of
the list's last item and, for every judged item, the number of targets in better buckets; only the few
scores in a bucket that holds a judged item or the end of the list are looked at again. So both the list
and the ranks are exact, for a cost close to two reads of the row.
"""

from __future__ import annotations

import numpy as np

from trueval.kernels.buckets import BUCKETS, MARK, add_up, at_least, bucketise, count, end_of_list, filled_up
from trueval.kernels.draws import tie_key, user_key
from trueval.kernels.jit import inlined, inner, kernel
from trueval.kernels.ordering import keep_best, order_distinct, sort_places

SHORT = 256  # up to here a list is ordered faster by comparing each of its scores with all others


@inner
def meet(row, items, bucket, marked, stream, given, first, own, j_score, j_key, equal_end, above, before, tied):
    """Count the places of marked buckets against the judged items of their own bucket (sorted, best first).

    `above[p]`, `before[p]`: how many come strictly above, or above or earlier among equals, for judged
    item p and those behind it in its bucket. `tied[p]`: how many equal p, kept at the first of its equals.
    """
    for c in range(marked.size):
        j = marked[c]
        score, b = row[np.uint64(j)], bucket[np.uint64(j)]
        p, last = np.int64(first[b, 0]), np.int64(first[b, 1])
        at = np.uint64(p)  # without a sign: a place without a look whether it is below 0
        itself = own[at] == j
        if (last - p == 1) & (itself | (j_score[at] != score)):
            # nearly always; one question, and added without any: whatever may go either way is guessed wrong
            better = np.int32(score > j_score[at])
            above[at] += better
            before[at] += better
            tied[at] += np.int32(itself)
            continue
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


@inner
def sort_judged(row, items, judged, stream, given, bucket, order, score, key, own, best_score, best_place):
    """Which judged item comes first, second and so on, with scores, keys and places; those that are no targets behind.

    Returns how many are targets.
    """
    n = judged.size
    ranked = np.int64(0)  # a plain 0 would be compiled twice: as this number, and as any
    for i in range(n):
        j = judged[i]
        if j >= 0 and bucket[j] != 0:
            score[ranked] = row[j]
            order[ranked] = i
            ranked += 1
    distinct = ranked <= SHORT and order_distinct(score[:ranked], order[:ranked], best_score, best_place)
    for p in range(ranked):
        key[p] = tie_key(stream, items[judged[order[p]]], judged[order[p]], given)
    if not distinct:
        sort_places(score, key, order, ranked)
    for p in range(ranked):
        own[p] = judged[order[p]]
    behind = ranked
    for i in range(n):
        j = judged[i]
        if j < 0 or bucket[j] == 0:
            order[behind] = i
            score[behind] = row[j] if j >= 0 else np.nan
            behind += 1
    return ranked


@inner
def rank_judged(row, following, items, judged, stream, given, bucket, work, out):
    """Counts the buckets, and gives exact ranks to the judged items."""
    _, found, groups, counts, first, score, key, equal_end, own, best_score, best_place = work
    order, rank, above, tied, out_score = out
    ranked = sort_judged(row, items, judged, stream, given, bucket, order, score, key, own, best_score, best_place)
    for p in range(judged.size):  # to assign slices would take seconds to compile
        out_score[p] = score[p]
        rank[p] = above[p] = tied[p] = 0
    for i in range(counts.size):
        counts[i] = 0
    for p in range(ranked):
        b = bucket[own[p]]
        if counts[b] == 0:
            first[b, 0] = p
        first[b, 1] = p + 1
        counts[b] = MARK
    for p in range(ranked - 1, -1, -1):
        equal_end[p] = equal_end[p + 1] if p + 1 < ranked and score[p + 1] == score[p] else p + 1
    n = count(bucket, counts, groups, found, following)
    for p in range(ranked):
        counts[bucket[own[p]]] &= ~MARK
    meet(row, items, bucket, found[:n], stream, given, first, own, score, key, equal_end, above, rank, tied)
    more_above = more_before = np.int32(0)  # in better buckets, and in its own before the judged item
    better, last = np.int32(0), np.int64(BUCKETS)  # in buckets better than the last
    for p in range(ranked):
        b = np.int64(bucket[own[p]])
        if b < last:
            better += add_up(counts, b + 1, last + 1)
            more_above = more_before = better
            last = b
        more_above += above[p]
        more_before += rank[p]
        above[p] = more_above
        rank[p] = 1 + more_before
        if p > 0 and score[p] == score[p - 1]:
            tied[p] = tied[p - 1]


@inner
def fill_list(row, items, stream, given, bucket, targets, depth, work, out, splits):
    """The best items in order; `splits[k-1]` counts lists whose cut at k falls between equal scores."""
    _, found, groups, counts, first, score, key, place, _, best_score, best_place = work
    want = min(depth + 1, targets)
    lowest = end_of_list(counts, want)
    n = at_least(bucket, lowest, groups, found)
    if n <= SHORT:  # distinct scores, as nearly always, need neither keys nor a sort
        for c in range(n):
            score[c], place[c] = row[found[c]], found[c]
        if order_distinct(score[:n], place[:n], best_score, best_place):
            for r in range(depth):
                out[r] = items[place[r]] if r < targets else -1
            return
    begin = np.int32(0)
    for b in range(BUCKETS, lowest - 1, -1):  # where each bucket of the list begins
        first[b, 0] = begin
        begin += counts[b]
    for c in range(n):
        j = found[c]
        at = first[bucket[j], 0]
        first[bucket[j], 0] += 1
        score[at] = row[j]
        key[at] = tie_key(stream, items[j], j, given)
        place[at] = j
    if n > want + 2048:
        n = keep_best(score, key, place, n, want)
    sort_places(score, key, place, n)
    for r in range(depth):
        out[r] = items[place[r]] if r < targets else -1
        if r + 1 < want and score[r] == score[r + 1]:
            splits[r] += 1


@inlined
def rank_row(row, following, items, excluded, judged, stream, given, depth, out_top, out, splits, work):
    """Rank one row of scores; returns the number of targets, -1 for a score that is not finite. See `rank_rows`.

    `following` is the row that will be ranked next.
    """
    bucket = work[0][: filled_up(row.size)]
    targets = bucketise(row, excluded, bucket)
    if targets >= 0:
        rank_judged(row, following, items, judged, stream, given, bucket, work, out)
        fill_list(row, items, stream, given, bucket, targets, depth, work, out_top, splits)
    return targets


@inlined
def part(out, first, last):
    """A unit's own part of what is said of judged items."""
    order, rank, above, tied, score = out
    return order[first:last], rank[first:last], above[first:last], tied[first:last], score[first:last]


@kernel
def rank_every_row(
    scores, items, excluded_start, excluded, judged_start, judged, users, seed, given, depth, top, targets, out, splits,
    work,
):  # fmt: skip
    """The loop of `rank_rows`."""
    for r in range(scores.shape[0]):
        e = excluded[excluded_start[r] : excluded_start[r + 1]]
        a, b = judged_start[r], judged_start[r + 1]
        stream = user_key(seed, users[r])
        following = scores[min(r + 1, scores.shape[0] - 1)]
        targets[r] = rank_row(
            scores[r], following, items, e, judged[a:b], stream, given, depth, top[r], part(out, a, b), splits, work
        )
        if targets[r] < 0:
            return r
    return -1


@kernel
def rank_every_unit(
    scores, rows, target_start, target, judged_start, judged, users, seed, given, depth, top, out, splits, work,
    gathered,
):  # fmt: skip
    """The loop of `rank_targets`."""
    for r in range(rows.size):
        items = target[target_start[r] : target_start[r + 1]]
        for j in range(items.size):
            gathered[j] = scores[rows[r], items[j]]
        row = gathered[: items.size]
        a, b = judged_start[r], judged_start[r + 1]
        stream = user_key(seed, users[r])
        if items.size == 0:
            for place in range(depth):
                top[r, place] = -1
            for p in range(a, b):
                out[0][p] = p - a
            continue
        own, none = part(out, a, b), items[:0]
        if rank_row(row, row, items, none, judged[a:b], stream, given, depth, top[r], own, splits, work) < 0:
            return r
    return -1


def workspace(size, judged, kind):
    """Memory that is used again for every row: of at most so many targets, and so many judged items."""
    most = max(size, judged)
    return (
        np.empty(filled_up(size), np.uint16),
        np.empty(size + 32, np.int32),
        np.empty(filled_up(size) // 4, np.int32),
        np.zeros(BUCKETS + 2, np.int32),
        np.zeros((BUCKETS + 1, 2), np.int32),
        np.empty(most, kind),
        np.empty(most, np.uint64),
        np.empty(most, np.int32),
        np.empty(judged, np.int32),
        np.empty(SHORT, kind),
        np.empty(SHORT, np.int32),
    )


def rank_rows(
    scores, items, excluded_start, excluded, judged_start, judged, users, seed, given, depth, top, targets, out, splits
):
    """Rank every row of a block of scores; returns the first row with a non-finite score, or -1.

    `out` says of a row's judged items, best first and those that are no targets behind: which one it is (its
    place among the row's judged items), its rank, how many score higher, how many the same, and its score.
    """
    work = workspace(scores.shape[1], len(judged), scores.dtype)
    return rank_every_row(
        scores, items, excluded_start, excluded, judged_start, judged, users, seed, given, depth, top, targets, out,
        splits, work,
    )  # fmt: skip


def rank_targets(scores, rows, target_start, target, judged_start, judged, users, seed, given, depth, top, out, splits):
    """Rank each unit's own (sampled) targets; `judged` are places among the unit's targets, `out` as in `rank_rows`.

    Returns the first unit with a non-finite score, or -1.
    """
    most = int(np.diff(target_start).max(initial=0))
    work, gathered = workspace(most, len(judged), scores.dtype), np.empty(most, scores.dtype)
    return rank_every_unit(
        scores, rows, target_start, target, judged_start, judged, users, seed, given, depth, top, out, splits,
        work, gathered,
    )  # fmt: skip


@kernel
def follow(start, order, given, out):
    """Rows of some units, start[u] to start[u + 1], in the order that `out` of `rank_rows` says for these units."""
    for u in range(start.size - 1):
        for p in range(start[u], start[u + 1]):
            out[p] = given[start[u] + order[p - start[0]]]
