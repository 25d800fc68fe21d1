"""Compiled: whole numbers as ids, coded and marked."""

from __future__ import annotations

import numpy as np

from trueval.kernels.jit import loop


@loop
def look_up(values, low, table, out):
    """Codes of integer ids through a table that starts at id `low`; -1 outside."""
    size = np.uint64(table.size)
    for j in range(values.size):
        place = np.uint64(values[j] - low)
        out[j] = table[place] if place < size else -1


@loop
def mark_present(values, low, present):
    """Mark which ids of a span occur. What is marked is left alone, or the cores would take it from each other."""
    for j in range(values.size):
        if not present[values[j] - low]:
            present[values[j] - low] = 1


@loop
def mark_bits(values, low, words):
    """Mark which ids from `low` on occur, by a bit each: so few bytes stay in the cache."""
    for j in range(values.size):
        place = np.uint64(values[j] - low)
        word, bit = place >> np.uint64(6), np.uint64(1) << (place & np.uint64(63))
        if not words[word] & bit:
            words[word] |= bit


@loop
def marked_ids(words, low, out):
    """The ids from `low` on whose bits are marked, ascending."""
    at = 0
    for w in range(words.size):
        rest = words[w]
        value = low + 64 * w
        while rest:
            if rest & np.uint64(1):
                out[at] = value
                at += 1
            rest >>= np.uint64(1)
            value += 1
