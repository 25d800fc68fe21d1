"""Random streams by hashing in NumPy: the same draws as `draws.py` makes inside compiled kernels, to the last bit."""

from __future__ import annotations

import numpy as np

# The distance between states of splitmix64: 2^64 over the golden ratio.
STEP = np.uint64(0x9E3779B97F4A7C15)


def mixed(state: np.ndarray) -> np.ndarray:
    """Splitmix64's finisher: every bit of the state reaches every bit of the result."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def user_key(seed: int | np.uint64, users: np.ndarray) -> np.ndarray:
    """Each user's own random stream.

    >>> user_key(0, np.array([0, 1])).tolist()
    [16294208416658607535, 7960286522194355700]
    """
    start = np.full(1, seed, np.uint64)
    return mixed(start + STEP * (np.atleast_1d(users).astype(np.uint64) + np.uint64(1)))


def item_key(stream: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Each item's place among equals, in a user's stream."""
    return mixed(stream + STEP * (np.asarray(items).astype(np.uint64) + np.uint64(1)))
