"""Compiled: the interest of a user in aspects, and what a set of aspects gains from it and leaves of it.

A set is aspect[low] to aspect[high - 1]. Places are made unsigned: for others the compiler asks every time whether
they count from the end.
"""

from __future__ import annotations

import numpy as np

from trueval.kernels.jit import inner, within

CHUNK = 6  # aspects; most items have fewer, so that one chunk does


@inner
def weigh(profile, unit, of_item, begin, aspect, weight):
    """Interest of a unit in each aspect: its share of the profile's values; uniform without any.

    Without a profile at all every aspect weighs 1.
    """
    if profile.owner.size == 0:
        weight[:] = 1.0
        return
    weight[:] = 0.0
    own, item, value = profile.owner[unit], profile.item, profile.value
    for j in range(profile.start[own], profile.start[own + 1]):
        s = of_item[item[j]]
        for x in range(begin[s], begin[s + 1]):
            weight[aspect[x]] += value[j]
    total = 0.0
    for a in range(weight.size):
        total += weight[a]
    for a in range(weight.size):
        weight[a] = weight[a] / total if total > 0 else 1.0 / weight.size


@inner
def added_gain(aspect, low, high, gain, left):
    """Σ over the aspects of gain · interest left."""
    total = 0.0
    for x in range(np.uint32(low), np.uint32(high)):
        total += gain * left[np.uint32(aspect[x])]
    return total


@inner
def either_gain(aspect, low, high, gain, left):
    """1 - Π over the aspects of (1 - gain · interest left): the chance that any of them pleases."""
    none = 1.0
    for x in range(np.uint32(low), np.uint32(high)):
        none *= 1.0 - gain * left[np.uint32(aspect[x])]
    return 1.0 - none


@inner
def fade_by(aspect, low, high, fade, left):
    """What an item leaves of the interest in its aspects."""
    for x in range(np.uint32(low), np.uint32(high)):
        left[np.uint32(aspect[x])] *= 1.0 - fade


@inner
def in_chunks(begin, aspect, number):
    """Sets of aspects filled up to whole chunks, which need no asking where a set ends; set s begins at edge[s].

    What fills them up are aspects beyond the last one, in which nobody has any interest: they change no gain by a bit.
    They are not the same all over a chunk, since the processor waits for what it has changed itself.
    """
    edge = np.zeros(begin.size, np.int32)
    for s in range(begin.size - 1):
        edge[s + 1] = edge[s] + (begin[s + 1] - begin[s] + CHUNK - 1) // CHUNK * CHUNK
    chunked = np.empty(edge[edge.size - 1], np.int32)
    for x in range(chunked.size):
        chunked[x] = number + x % CHUNK
    for s in range(begin.size - 1):
        for x in range(begin[s], begin[s + 1]):
            chunked[edge[s] + x - begin[s]] = aspect[x]
    return edge, chunked


@within
def chunked_gain(chunked, low, high, gain, left):
    """`either_gain` of a set in chunks."""
    none = 1.0
    x = np.uint64(low)
    while x < np.uint64(high):
        for y in range(CHUNK):
            none *= 1.0 - gain * left[np.uint64(chunked[x + np.uint64(y)])]
        x += np.uint64(CHUNK)
    return 1.0 - none


@within
def chunked_fade(chunked, low, high, fade, left):
    """`fade_by` of a set in chunks."""
    x = np.uint64(low)
    while x < np.uint64(high):
        for y in range(CHUNK):
            left[np.uint64(chunked[x + np.uint64(y)])] *= 1.0 - fade
        x += np.uint64(CHUNK)
