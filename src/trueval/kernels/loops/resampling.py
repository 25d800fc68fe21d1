"""Compiled: how often each user of a block is drawn, in many resamples."""

from __future__ import annotations

from numba import uint64

from trueval.kernels.draws import mixed
from trueval.kernels.jit import loop


@loop
def count_draws(key, first, number, counts):
    """Count `number[r]` draws of resample `first + r` in row r of `counts`, whose width is a power of two.

    Each resample has its own stream of 64-bit words, and each word holds four draws: 16 bits, cut to the width.
    A power of two divides the words evenly, so no draw is ever rejected and every user is equally likely.
    """
    mask = uint64(counts.shape[1] - 1)
    step = uint64(0x9E3779B97F4A7C15)
    for r in range(counts.shape[0]):
        row = counts[r]
        row[:] = 0
        state = mixed(uint64(key) + step * uint64(first + r + 1))
        for _ in range(number[r] // 4):
            state += step
            word = mixed(state)
            row[word & mask] += 1
            row[(word >> uint64(16)) & mask] += 1
            row[(word >> uint64(32)) & mask] += 1
            row[(word >> uint64(48)) & mask] += 1
        state += step
        word = mixed(state)
        for _ in range(number[r] % 4):
            row[word & mask] += 1
            word >>= uint64(16)
