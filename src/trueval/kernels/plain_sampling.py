"""Samples of items without a compiler: for small inputs, and as the oracle of the compiled ones."""

from __future__ import annotations

import numpy as np

from trueval.kernels.hashing import item_key, mixed, user_key


def sample_units(
    candidates: np.ndarray,
    cumulative: np.ndarray,
    barred_start: np.ndarray,
    barred: np.ndarray,
    streams: np.ndarray,
    seed: int | np.uint64,
    size: int,
    n_items: int,
    first: int,
    last: int,
    out: np.ndarray,
    pool: np.ndarray,
) -> None:
    """See `sampling.sample_units`."""
    weight = np.diff(cumulative, prepend=0.0) if len(cumulative) else np.ones(len(candidates))
    for r in range(first, last):
        open_ = np.ones(n_items, bool)
        open_[barred[barred_start[r] : barred_start[r + 1]]] = False
        free = candidates[open_[candidates] & (weight > 0)]
        pool[r] = len(free)
        stream = user_key(seed, streams[r : r + 1])
        if len(free) >= 2 * size + 16:
            turns = np.arange(200 * size + 10000)
            u = (mixed(item_key(stream, turns)) >> np.uint64(11)) * 1.1102230246251565e-16
            if len(cumulative):
                places = np.searchsorted(cumulative, u * cumulative[-1], side="right")
                drawn = candidates[np.minimum(places, len(candidates) - 1)]
            else:
                drawn = candidates[(u * len(candidates)).astype(np.int64)]
            drawn = drawn[open_[drawn]]
            distinct = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
            if len(distinct) >= size:
                out[r] = distinct[:size]
                continue
        rate = weight[open_[candidates] & (weight > 0)]
        u = (item_key(stream, free) >> np.uint64(11)) * 1.1102230246251565e-16
        kept = free[np.argsort(-np.log1p(-u) / rate, kind="stable")][:size]
        out[r] = -1
        out[r, : len(kept)] = kept
