"""One side of an EM step of pLSA without a compiler: for small inputs, and as the oracle of the compiled one."""

from __future__ import annotations

import numpy as np

from trueval.kernels.plsa_lanes import LANES


def explain_rows(
    start: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    own: np.ndarray,
    other: np.ndarray,
    scale: np.ndarray,
    first: int,
    last: int,
    fit: np.ndarray,
) -> None:
    """See `topics.explain_rows`. Sums are taken one after the other, to the same bits."""
    for r in range(first, last):
        part = slice(start[r], start[r + 1])
        theirs = other[index[part]]
        lanes = np.zeros((len(theirs), LANES))
        for z in range(0, own.shape[1], LANES):
            lanes += own[r, z : z + LANES] * theirs[:, z : z + LANES]
        pairs = lanes[:, ::2] + lanes[:, 1::2]
        fours = pairs[:, ::2] + pairs[:, 1::2]
        fit[part] = np.maximum(fours[:, 0] + fours[:, 1], 1e-300)
        total = np.zeros(own.shape[1])
        if len(theirs):  # a running sum adds row after row; a plain sum would add in pairs
            total = np.cumsum((weight[part] / fit[part])[:, None] * theirs, axis=0)[-1]
        own[r] = own[r] * total / scale
