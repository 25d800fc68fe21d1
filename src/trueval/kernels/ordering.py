"""Compiled: sorting and selecting by score, then key, without allocating."""

from __future__ import annotations

import numpy as np

from trueval.kernels.jit import inner, within


@within
def count_better(scores, score):
    """How many scores are higher than this one."""
    better = np.int32(0)
    for j in range(scores.size):
        better += np.int32(scores[j] > score)
    return better


@within
def order_distinct(scores, items, ordered_scores, ordered_items):
    """Order a list by score (descending), unless scores are equal; returns whether that was done."""
    n = scores.size
    total = 0
    for j in range(n):
        place = count_better(scores, scores[j])
        ordered_scores[place], ordered_items[place] = scores[j], items[j]
        total += place
    if 2 * total != n * (n - 1):  # equal scores share a place
        return False
    for j in range(n):
        scores[j], items[j] = ordered_scores[j], ordered_items[j]
    return True


@within
def sort_places(scores, keys, places, size):
    """Shell sort of places by score (descending), then key."""
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap >= 1:
        for i in range(gap, size):
            s, key, place = scores[i], keys[i], places[i]
            j = i
            while j >= gap and (scores[j - gap] < s or (scores[j - gap] == s and keys[j - gap] > key)):
                scores[j], keys[j], places[j] = scores[j - gap], keys[j - gap], places[j - gap]
                j -= gap
            scores[j], keys[j], places[j] = s, key, place
        gap //= 3


@inner
def keep_best(scores, keys, places, size, want):
    """Quickselect: move the best `want` (by score, then key) to the front."""
    low, high = 0, size - 1
    while low < high:
        s, key = scores[(low + high) // 2], keys[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while scores[i] > s or (scores[i] == s and keys[i] < key):
                i += 1
            while scores[j] < s or (scores[j] == s and keys[j] > key):
                j -= 1
            if i <= j:
                scores[i], scores[j] = scores[j], scores[i]
                keys[i], keys[j] = keys[j], keys[i]
                places[i], places[j] = places[j], places[i]
                i += 1
                j -= 1
        if want - 1 <= j:
            high = j
        elif want - 1 >= i:
            low = i
        else:
            break
    return want
