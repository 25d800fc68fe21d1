"""Draws of users without a compiler: for small inputs, and as the oracle of the compiled ones."""

from __future__ import annotations

import numpy as np

from trueval.kernels.hashing import STEP, mixed


def count_draws(key: np.uint64, first: int, number: np.ndarray, counts: np.ndarray) -> None:
    """See `resampling.count_draws`."""
    rows, width = counts.shape
    streams = mixed(np.full(rows, key, np.uint64) + STEP * np.arange(first + 1, first + rows + 1, dtype=np.uint64))
    most = int(number.max(initial=0))
    turns = np.arange(1, most // 4 + 2, dtype=np.uint64)
    words = mixed(streams[:, None] + STEP * turns)
    draws = np.stack([words >> np.uint64(16 * j) for j in range(4)], axis=-1).reshape(rows, -1) & np.uint64(width - 1)
    taken = np.arange(draws.shape[1]) < number[:, None]
    place = (draws.astype(np.int64) + width * np.arange(rows)[:, None])[taken]
    counts[:] = np.bincount(place, minlength=rows * width).reshape(rows, width)
