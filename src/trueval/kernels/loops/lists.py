"""Compiled: grouping rows by user, ordering lists, and joining lists with judgements."""

from __future__ import annotations

import numpy as np

from trueval.kernels.draws import tie_key, user_key
from trueval.kernels.jit import loop
from trueval.kernels.loops import COUNTED, LANES
from trueval.kernels.ordering import order_distinct, sort_places


@loop
def grouped_starts(codes, start):
    """Fill `start` where codes never fall and none is negative; otherwise leave it empty and say so."""
    last = 0
    for j in range(codes.size):
        code = codes[j]
        if code < last:
            start[:] = 0
            return 0
        last = code
        start[code + 1] += 1
    for u in range(1, start.size):
        start[u] += start[u - 1]
    return 1


@loop
def falls(start, score, first, last):
    """Whether the scores of lists first to last are finite and strictly falling."""
    for u in range(first, last):
        for j in range(start[u], start[u + 1]):
            if not np.isfinite(score[j]) or (j > start[u] and score[j - 1] <= score[j]):
                return 0
    return 1


@loop
def count_blocks(codes, shift, counts):
    """How many rows fall into each block of 2^shift codes. Codes below 0 fall into none."""
    for j in range(codes.size):
        if codes[j] >= 0:
            counts[codes[j] >> shift] += 1


@loop
def part_rows(codes, item, score, shift, place, out_code, out_item, out_score):
    """Rows (with scores, unless there are none) by block, in their order; `place` is where a block's next row goes."""
    scored = score.size > 0
    for j in range(codes.size):
        if codes[j] >= 0:
            at = place[codes[j] >> shift]
            place[codes[j] >> shift] += 1
            out_code[at] = codes[j]
            out_item[at] = item[j]
            if scored:
                out_score[at] = score[j]


@loop
def group_block(codes, item, score, first, start, place, out_item, out_score):
    """Rows of one block by code, in their order, from 0 on; `start` of the codes from `first` on is where they begin.

    `place` is room for as many codes.
    """
    scored = score.size > 0
    place[:] = 0
    for j in range(codes.size):
        place[codes[j] - first] += 1
    total = 0
    for u in range(place.size):
        start[u] = total
        total += place[u]
        place[u] = start[u]
    for j in range(codes.size):
        at = place[codes[j] - first]
        place[codes[j] - first] += 1
        out_item[at] = item[j]
        if scored:
            out_score[at] = score[j]


@loop
def move_lists(begin, start, item, score, first, last, out_item, out_score):
    """Lists first to last from where they begin among the rows to where they start; scores, unless there are none."""
    scored = score.size > 0
    for u in range(first, last):
        a = begin[u]
        for at in range(start[u], start[u + 1]):
            out_item[at] = item[a + at - start[u]]
            if scored:
                out_score[at] = score[a + at - start[u]]


@loop
def take(values, places, out):
    """`values[places]`, with places of 32 bits as they are: NumPy would copy them to 64 bits first."""
    for j in range(places.size):
        out[j] = values[places[j]]


@loop
def order_lists(start, score, item, users, seed, given, first, last, ordered_score, ordered_item, keys, places):
    """Sort lists first to last by score, equal scores by a seeded draw (or as given), in place.

    Returns the first list with a score that is not finite, or -1. The last four arguments are room to work in:
    `keys` and `places` for the longest list, the others for `COUNTED`.
    """
    for u in range(first, last):
        a, b = start[u], start[u + 1]
        tidy = True
        for j in range(a, b):
            if not np.isfinite(score[j]):
                return u
            if j > a and score[j - 1] <= score[j]:
                tidy = False
        if tidy or (b - a <= COUNTED and order_distinct(score[a:b], item[a:b], ordered_score, ordered_item)):
            continue
        stream = user_key(seed, users[u])
        for j in range(a, b):
            places[j - a] = item[j]
            keys[j - a] = tie_key(stream, item[j], j - a, given)
        sort_places(score[a:b], keys, places, b - a)
        for j in range(a, b):
            item[j] = places[j - a]
    return -1


@loop
def join_lists(
    list_start, list_item, list_score, judged_start, judged_item, first, last, order, rank, above, tied, nobody, state
):
    """Ranks of judged items in the lists of units first to last; an item below 0 is nobody's.

    Judged rows come out in list order, those not in the list (rank 0) behind, in their own order: `order` says which
    row came to which place. Returns a unit whose list has an item twice, or -1.

    Room to work in, by item: `state` is the last unit that was shown the item, or `nobody`, which is no unit; while a
    unit is at work, its judged items that were not shown yet have -1, -2, … by their rows.
    """
    doubled = -1
    scored = list_score.size > 0
    for u in range(first, last):
        a, b = judged_start[u], judged_start[u + 1]
        for j in range(a, b):
            if judged_item[j] >= 0:
                state[judged_item[j]] = a - j - 1
        place = a
        begin, end = list_start[u], list_start[u + 1]
        block = begin  # first of the equal scores around the place
        for r in range(begin, end):
            if scored and list_score[r] != list_score[block]:
                block = r
            i = list_item[r]
            if i < 0:
                continue
            before = state[i]
            state[i] = u
            if before == u and doubled < 0:
                doubled = u
            if before < 0:
                order[place] = a - before - 1
                rank[place] = r - begin + 1
                if scored:
                    above[place] = block - begin
                    stop = r + 1
                    while stop < end and list_score[stop] == list_score[r]:
                        stop += 1
                    tied[place] = stop - block
                else:
                    above[place] = r - begin
                    tied[place] = 1
                place += 1
        for j in range(a, b):
            i = judged_item[j]
            if i < 0 or state[i] < 0:
                if i >= 0:
                    state[i] = nobody
                order[place] = j
                place += 1
    return doubled


@loop
def count_splits(start, score, splits):
    """For each k the number of lists whose cut at k falls between equal scores."""
    for u in range(start.size - 1):
        for j in range(start[u], start[u + 1] - 1):
            if score[j] == score[j + 1]:
                splits[j - start[u]] += 1


@loop
def sort_up(start, values, places, first, last, own, rank, own_places):
    """Sort segments first to last in ascending order, in place; places go with them, where there are any.

    Places must ascend within a segment; equal values keep their order. The last three are room to work in: for
    `COUNTED`, and `LANES` more.
    """
    carried = places.size > 0
    for u in range(first, last):
        begin, size = start[u], start[u + 1] - start[u]
        if size <= COUNTED:  # by counting how many are smaller, in lanes that are all full, whatever the last ones hold
            full = (size + LANES - 1) // LANES * LANES
            for i in range(size):
                own[i] = values[begin + i]
                if carried:
                    own_places[i] = places[begin + i]
            for i in range(full):
                rank[i] = 0
            for j in range(size):
                value = own[j]
                for i in range(full):
                    rank[i] += np.int32(value < own[i])
            total = 0
            for i in range(size):
                total += rank[i]
            if 2 * total == size * (size - 1):  # equal values share a rank
                for i in range(size):
                    values[begin + rank[i]] = own[i]
                    if carried:
                        places[begin + rank[i]] = own_places[i]
                continue
        gap = 1
        while gap < size // 3:
            gap = 3 * gap + 1
        while gap >= 1:
            for i in range(begin + gap, begin + size):
                value = values[i]
                place = places[i] if carried else 0
                j = i
                while j >= begin + gap and (
                    values[j - gap] > value or (carried and values[j - gap] == value and places[j - gap] > place)
                ):
                    values[j] = values[j - gap]
                    if carried:
                        places[j] = places[j - gap]
                    j -= gap
                values[j] = value
                if carried:
                    places[j] = place
            gap //= 3


@loop
def sort_down(start, values):
    """Sort each segment in descending order, in place (shell sort)."""
    for u in range(start.size - 1):
        first, size = start[u], start[u + 1] - start[u]
        gap = 1
        while gap < size // 3:
            gap = 3 * gap + 1
        while gap >= 1:
            for i in range(first + gap, first + size):
                value = values[i]
                j = i
                while j >= first + gap and values[j - gap] < value:
                    values[j] = values[j - gap]
                    j -= gap
                values[j] = value
            gap //= 3
