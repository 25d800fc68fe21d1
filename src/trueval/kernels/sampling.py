"""Compiled: seeded samples of non-relevant targets, one stream per unit."""

from __future__ import annotations

import numpy as np
from numba import uint64

from trueval.kernels.draws import item_key, mixed, user_key
from trueval.kernels.jit import inner, kernel
from trueval.kernels.ordering import sort_places


@inner
def unit_interval(bits):
    """The upper 53 bits as a number in [0, 1)."""
    return np.float64(bits >> uint64(11)) * 1.1102230246251565e-16


@inner
def draw(stream, turn, cumulative, n_candidates):
    """Place of the turn-th draw: uniform, or by cumulative weight where there is one."""
    u = unit_interval(mixed(item_key(stream, turn)))
    if cumulative.size == 0:
        return np.int64(u * n_candidates)
    wanted = u * cumulative[-1]
    low, high = 0, n_candidates - 1
    while low < high:  # the first place whose cumulative weight is above, or the last
        middle = (low + high) // 2
        if cumulative[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def sample_units(candidates, cumulative, barred_start, barred, streams, seed, size, n_items, first, last, out, pool):
    """`size` distinct candidates for each unit, none of them barred, in the order drawn.

    Rejected draws are simply drawn again: without replacement, with probabilities proportional to the
    weights of what is left. Where rejection would be slow (a pool hardly larger than the sample) every
    candidate of the pool is ordered by its own exponential draw instead, which has the same law.
    `pool` receives the number of candidates of positive weight each unit could have drawn; a unit with
    fewer than `size` gets all of them, padded with -1.
    """
    closed = np.full(n_items, -1, np.int64)
    place_of = np.full(n_items, -1, np.int64)
    for c in range(candidates.size):
        place_of[candidates[c]] = c
    weighted = cumulative.size > 0
    open_all = candidates.size
    if weighted:
        open_all = 0
        for c in range(candidates.size):
            open_all += weight_at(cumulative, c) > 0
    for r in range(first, last):
        available = open_all
        for j in range(barred_start[r], barred_start[r + 1]):
            i = barred[j]
            c = place_of[i]
            if closed[i] != r and c >= 0 and (not weighted or weight_at(cumulative, c) > 0):
                available -= 1
            closed[i] = r
        pool[r] = available
        stream = user_key(seed, streams[r])
        row = out[r]
        if available < 2 * size + 16:
            order_pool(candidates, cumulative, closed, r, stream, available, row)
            continue
        taken = 0
        turn = 0
        while taken < size and turn < 200 * size + 10000:
            i = candidates[draw(stream, turn, cumulative, candidates.size)]
            turn += 1
            if closed[i] != r:
                closed[i] = r
                row[taken] = i
                taken += 1
        if taken < size:  # weights so uneven that rejection would not end soon
            for j in range(taken):
                closed[row[j]] = -1
            order_pool(candidates, cumulative, closed, r, stream, available, row)


@inner
def weight_at(cumulative, c):
    """Weight of candidate c."""
    return cumulative[c] - (cumulative[c - 1] if c > 0 else 0.0)


@inner
def order_pool(candidates, cumulative, closed, r, stream, available, row):
    """The first items of the whole pool ordered by exponential arrival times with the weights as rates."""
    early = np.empty(available, np.float64)  # minus the arrival time: earlier is better
    key = np.empty(available, np.uint64)
    item = np.empty(available, np.int64)
    n = 0
    for c in range(candidates.size):
        rate = 1.0 if cumulative.size == 0 else weight_at(cumulative, c)
        if closed[candidates[c]] != r and rate > 0:
            u = unit_interval(item_key(stream, candidates[c]))
            early[n] = np.log1p(-u) / rate
            key[n] = uint64(candidates[c])
            item[n] = candidates[c]
            n += 1
    sort_places(early, key, item, n)
    for j in range(row.size):
        row[j] = item[j] if j < n else -1
