"""Compiled: the interest of a user in aspects, and what an item gains from it and leaves of it."""

from __future__ import annotations

from numba import njit


@njit(nogil=True, cache=True)
def weigh(profile, unit, begin, aspect, weight):
    """Interest of a unit in each aspect: its share of the profile's values; uniform without any.

    Without a profile at all every aspect weighs 1.
    """
    if profile.owner.size == 0:
        weight[:] = 1.0
        return
    weight[:] = 0.0
    own, item, value = profile.owner[unit], profile.item, profile.value
    for j in range(profile.start[own], profile.start[own + 1]):
        for x in range(begin[item[j]], begin[item[j] + 1]):
            weight[aspect[x]] += value[j]
    total = 0.0
    for a in range(weight.size):
        total += weight[a]
    for a in range(weight.size):
        weight[a] = weight[a] / total if total > 0 else 1.0 / weight.size


@njit(nogil=True, cache=True)
def added_gain(begin, aspect, item, gain, left):
    """Σ over the item's aspects of gain · interest left."""
    total = 0.0
    for x in range(begin[item], begin[item + 1]):
        total += gain * left[aspect[x]]
    return total


@njit(nogil=True, cache=True)
def either_gain(begin, aspect, item, gain, left):
    """1 - Π over the item's aspects of (1 - gain · interest left): the chance that any of them pleases."""
    none = 1.0
    for x in range(begin[item], begin[item + 1]):
        none *= 1.0 - gain * left[aspect[x]]
    return 1.0 - none


@njit(nogil=True, cache=True)
def fade_by(begin, aspect, item, fade, left):
    """What an item leaves of the interest in its aspects."""
    for x in range(begin[item], begin[item + 1]):
        left[aspect[x]] *= 1.0 - fade
