"""Compiled: the loops by which a world is fitted to a log (topics of what is met, factors of ratings)."""

from __future__ import annotations

import numpy as np
from numba import uint64

from trueval.kernels.draws import mixed
from trueval.kernels.jit import kernel


@kernel
def pair_affinities(user, item, own, other, out):
    """Σ over topics of own[user] · other[item], for each pair; added in the order of the topics."""
    width = own.shape[1]
    for r in range(len(user)):
        mine, theirs, total = own[user[r]], other[item[r]], 0.0
        for z in range(width):
            total += mine[z] * theirs[z]
        out[r] = total


@kernel
def allocate_visits(user, item, own, other, number, keys, by_user, by_item):
    """Give each of the visits of a pair to a topic, drawn ∝ own[user] · other[item], and count them by owner."""
    width = own.shape[1]
    reached = np.empty(width)
    for r in range(len(user)):
        mine, theirs, total = own[user[r]], other[item[r]], 0.0
        for z in range(width):
            total += mine[z] * theirs[z]
            reached[z] = total
        for visit in range(number[r]):
            key = mixed(keys[r] + uint64(0x9E3779B97F4A7C15) * uint64(visit + 1))
            aim = float(key >> uint64(11)) * 2.0**-53 * total
            z = 0
            while z < width - 1 and reached[z] <= aim:
                z += 1
            by_user[user[r], z] += 1
            by_item[item[r], z] += 1


@kernel
def add_products(user, item, own, other, sign, rest):
    """rest += sign · own[user] · other[item], for each row."""
    for r in range(len(user)):
        rest[r] += sign * (own[user[r]] * other[item[r]])


@kernel
def sum_by_owner(owner, partner, factor, rest, squares, products):
    """Σ factor² and Σ factor · rest of every owner, over its rows; factor is that of the partner."""
    for r in range(len(owner)):
        value = factor[partner[r]]
        squares[owner[r]] += value * value
        products[owner[r]] += value * rest[r]
