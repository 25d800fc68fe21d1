"""One side of an EM step of pLSA: each row on its own, so any number of threads gives the same bits."""

from __future__ import annotations

import numpy as np

from trueval.kernels.jit import kernel
from trueval.kernels.plsa_lanes import LANES


@kernel
def explain_rows(start, index, weight, own, other, scale, first, last, fit):
    """Update rows `first` to `last` of one side's factors with the other side's held fixed.

    own[r] ← own[r] · Σ (weight / fit) · other[index] / scale over the entries of r, where fit = own[r] · other[index]
    is kept for each entry.
    """
    width = own.shape[1]
    total, lane = np.empty(width), np.empty(LANES)
    for r in range(first, last):
        mine = own[r]
        total[:] = 0.0
        for x in range(start[r], start[r + 1]):
            theirs = other[index[x]]
            for j in range(LANES):
                lane[j] = 0.0
            for block in range(width // LANES):
                for j in range(LANES):
                    lane[j] += mine[block * LANES + j] * theirs[block * LANES + j]
            dot = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]))
            dot = max(dot, 1e-300)
            fit[x] = dot
            ratio = weight[x] / dot
            for z in range(width):
                total[z] += ratio * theirs[z]
        for z in range(width):
            mine[z] = mine[z] * total[z] / scale[z]
