"""Compiled: lists found among the rows of a file in order."""

from __future__ import annotations

import numpy as np

from trueval.kernels.jit import loop


@loop
def list_heads(left, right, longest, score, goes_on, before, heads):
    """The rows at which lists begin: where the key of the user (both halves) is another than in the row before.

    `goes_on` tells whether the first row belongs to the list of the row before it, whose score was `before`. Returns
    how many there are, -1 where scores do not fall or are not finite, -2 where a text is longer than `longest`, and
    therefore not its own key.
    """
    number = 0
    for j in range(left.size):
        if (left[j] & np.uint64(0xFFFFFFFF)) > longest:
            return -2
        new = not goes_on if j == 0 else left[j] != left[j - 1] or right[j] != right[j - 1]
        last = before if j == 0 else score[j - 1]
        if not np.isfinite(score[j]) or (not new and not score[j] < last):
            return -1
        heads[number] = j  # kept where it is new
        number += new
    return number


@loop
def keep_first(codes, bounds, number, before, depth, last_list, out):
    """The first `depth` codes of each list, one list after the other; lists of rows lie between `bounds`.

    The first list has `number`, and had `before` rows already; `last_list` is, by code, the last list that had it.
    Returns how many were kept, or -1 where a list has a code twice.
    """
    at, doubled = 0, False
    for u in range(bounds.size - 1):
        for j in range(bounds[u], bounds[u + 1]):
            doubled |= last_list[codes[j]] == number
            last_list[codes[j]] = number
        for j in range(bounds[u], min(bounds[u + 1], bounds[u] + depth - before)):
            out[at] = codes[j]
            at += 1
        number += 1
        before = 0
    return -1 if doubled else at
