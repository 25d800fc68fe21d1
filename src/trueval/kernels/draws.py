"""Compiled: random streams by hashing, so that nothing depends on the order in which work is done."""

from __future__ import annotations

from numba import uint64

from trueval.kernels.jit import within


@within
def mixed(state):
    """Splitmix64's finisher: every bit of the state reaches every bit of the result."""
    z = (state ^ (state >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))


@within
def user_key(seed, user):
    """A user's own random stream."""
    return mixed(uint64(seed) + uint64(0x9E3779B97F4A7C15) * uint64(user + 1))


@within
def item_key(stream, item):
    """An item's place among equals, in a user's stream."""
    return mixed(stream + uint64(0x9E3779B97F4A7C15) * uint64(item + 1))


@within
def tie_key(stream, item, place, given):
    """Who comes first among equal scores: a seeded draw, or the place in the input."""
    return uint64(place) if given else item_key(stream, item)
