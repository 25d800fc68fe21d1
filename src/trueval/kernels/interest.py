"""Compiled: the interest of a user in aspects, and what a set of aspects gains from it and leaves of it.

A set is aspect[low] to aspect[high - 1]. Places are made unsigned: for others the compiler asks every time whether
they count from the end.
"""

from __future__ import annotations

import numpy as np

from trueval.kernels.jit import inner


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
    """1 - Π over the aspects of (1 - gain · interest left): the chance that any of them pleases.

    Added up from small parts: the difference of two numbers near 1 would keep few digits of a small chance.
    """
    any_ = 0.0
    for x in range(np.uint32(low), np.uint32(high)):
        any_ += gain * left[np.uint32(aspect[x])] * (1.0 - any_)
    return any_


@inner
def fade_by(aspect, low, high, fade, left):
    """What an item leaves of the interest in its aspects."""
    for x in range(np.uint32(low), np.uint32(high)):
        left[np.uint32(aspect[x])] *= 1.0 - fade
