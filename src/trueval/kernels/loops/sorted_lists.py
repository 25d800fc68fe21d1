"""Compiled: lists found among the rows of a file in order."""

from __future__ import annotations

import numpy as np

from trueval.kernels.jit import loop, within


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
        end = bounds[u] + depth - before
        for j in range(bounds[u], end if end < bounds[u + 1] else bounds[u + 1]):
            out[at] = codes[j]
            at += 1
        number += 1
        before = 0
    return -1 if doubled else at


@loop
def keep_marked(values, bounds, number, before, depth, low, words, table, list_of, out):
    """The same of whole numbers as they are: each is marked, in the bits of `words` from `low` on.

    `table` has the numbers of one list at places by their hash, and `list_of` the list for which each was put there; a
    power of two, so many that most places are free.
    """
    at, doubled = 0, False
    last = np.uint64(table.size - 1)
    for u in range(bounds.size - 1):
        for j in range(bounds[u], bounds[u + 1]):
            value = values[j]
            place = np.uint64(value - low)
            word, bit = place >> np.uint64(6), np.uint64(1) << (place & np.uint64(63))
            if not words[word] & bit:  # what is marked is left alone: as a rule it is
                words[word] |= bit
            slot = ((np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)) & last
            while list_of[slot] == number and table[slot] != value:
                slot = (slot + np.uint64(1)) & last
            doubled |= list_of[slot] == number
            table[slot], list_of[slot] = value, number
        end = bounds[u] + depth - before
        for j in range(bounds[u], end if end < bounds[u + 1] else bounds[u + 1]):
            out[at] = values[j]
            at += 1
        number += 1
        before = 0
    return -1 if doubled else at


@within
def ones(word):
    """How many bits of a word are set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int32((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@loop
def rank_marked(values, low, words, upto, out):
    """Which of the marked numbers each of the values is; `upto` counts those in a word and in all before it."""
    for j in range(values.size):
        place = np.uint64(values[j] - low)
        word, bit = place >> np.uint64(6), place & np.uint64(63)
        out[j] = upto[word] - ones(words[word] >> bit)
