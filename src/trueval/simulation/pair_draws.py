"""Chance by hashing: the draws of a pair depend on the seed, the user and the item, and on nothing else."""

from __future__ import annotations

import numpy as np

from trueval.kernels.hashing import item_key, mixed, user_key
from trueval.kernels.seeds import derive


def pair_coins(seed: int, purpose: str, users: np.ndarray, items: np.ndarray) -> np.ndarray:
    """A number in [0, 1) for every pair; users and items may be of any shapes that fit together.

    >>> pair_coins(0, "rating", np.array([0, 1]), np.array([5, 5])).round(3).tolist()
    [0.03, 0.525]
    """
    return as_coins(pair_keys(derive(seed, f"world {purpose}"), users, items))


def pair_keys(seed: np.uint64, users: np.ndarray, items: np.ndarray) -> np.ndarray:
    """64 random bits of every pair."""
    users = np.asarray(users)
    streams = user_key(seed, users.ravel()).reshape(users.shape)
    return item_key(streams, items)


def as_coins(keys: np.ndarray) -> np.ndarray:
    """The upper 53 of 64 bits as numbers in [0, 1).

    >>> as_coins(np.array([0, 2**63], np.uint64)).tolist()
    [0.0, 0.5]
    """
    return (keys >> np.uint64(11)) * 2.0**-53


def coins(seed: int, purpose: str, number: int) -> np.ndarray:
    """Numbers in [0, 1), one for each place: those of the first ones stay the same when there are more.

    >>> bool((coins(1, "a", 3) == coins(1, "a", 9)[:3]).all())
    True
    """
    return as_coins(user_key(derive(seed, f"world {purpose}"), np.arange(number)))


def shuffled(seed: int, purpose: str, owner: np.ndarray, place: np.ndarray, size: int) -> np.ndarray:
    """Where each owner's own permutation of 0 … size-1 takes a place, without a table of it.

    A Feistel network on the next even power of two that is large enough; what falls outside goes round again.

    >>> sorted(shuffled(3, "users", np.zeros(10, int), np.arange(10), 10).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    half = np.uint64(max(3, (max(size - 1, 1).bit_length() + 1) // 2))  # smaller ones mix badly
    low = np.uint64((1 << int(half)) - 1)
    owner, place = np.broadcast_arrays(owner, place)
    keys = user_key(derive(seed, f"world shuffled {purpose}"), owner.ravel())
    found = place.ravel().astype(np.uint64)
    outside = np.arange(len(found))
    while len(outside):
        found[outside] = _network(found[outside], keys[outside], half, low)
        outside = outside[found[outside] >= size]
    return found.astype(np.int64).reshape(place.shape)


def _network(numbers: np.ndarray, keys: np.ndarray, half: np.uint64, low: np.uint64) -> np.ndarray:
    left, right = numbers >> half, numbers & low
    for turn in range(8):
        scrambled = mixed(keys ^ mixed(right + np.uint64(turn << 40) + np.uint64(1)))
        left, right = right, left ^ (scrambled & low)
    return (left << half) | right
