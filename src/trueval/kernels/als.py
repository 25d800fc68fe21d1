"""Compiled kernel of alternating least squares: one weighted ridge regression per row.

It has no plain form: fitting is never so little work that loading it would matter.
"""

from __future__ import annotations

import numpy as np

# numba calls the BLAS and LAPACK of SciPy. They are loaded here, so that a limit on their threads finds them.
import scipy.linalg.cython_blas
import scipy.linalg.cython_lapack  # noqa: F401
from numba import njit

from trueval.kernels.jit import INNER, kernel_with

# Rows of factors gathered for one matrix product: enough to be fast, few enough to stay in cache.
GATHERED = 128


@kernel_with(fastmath={"contract"}, error_model="numpy")
def solve_rows(begin, end, start, other, extra, target, factors, base, scale, ridge, out, fall):
    """Solve (scale·base + Σ_n extra_n f_n f_nᵀ + ridge·I) x = Σ_n target_n f_n for some rows.

    The f_n are the `factors` of a row's `other` side. `out` takes x and `fall` what the solution takes off the
    row's objective, xᵀ·(right side). A row with neither entries nor ridge has nothing to say: its x is 0.
    """
    width = factors.shape[1]
    matrix = np.empty((width, width))
    product = np.empty((width, width))
    right = np.empty(width)
    plain = np.empty((GATHERED, width))
    weighted = np.empty((GATHERED, width))
    for row in range(begin, end):
        if ridge[row] <= 0.0:
            out[row] = 0.0
            fall[row] = 0.0
            continue
        for x in range(width):
            for y in range(width):
                matrix[x, y] = scale[row] * base[x, y]
            matrix[x, x] += ridge[row]
            right[x] = 0.0
        for first in range(start[row], start[row + 1], GATHERED):
            number = min(GATHERED, start[row + 1] - first)
            for n in range(number):
                source, weight = other[first + n], extra[first + n]
                for x in range(width):
                    plain[n, x] = factors[source, x]
                    weighted[n, x] = weight * factors[source, x]
                goal = target[first + n]
                for x in range(width):
                    right[x] += goal * plain[n, x]
            np.dot(weighted[:number].T, plain[:number], product)
            for x in range(width):
                for y in range(width):
                    matrix[x, y] += product[x, y]
        fall[row] = _solve(np.linalg.cholesky(matrix), right, out[row])


@njit(**INNER, fastmath={"contract"}, error_model="numpy")
def _solve(lower, right, out):
    """x of L Lᵀ x = b into `out` (b is used up); returns bᵀx."""
    width = len(right)
    fall = 0.0
    for k in range(width):
        right[k] /= lower[k, k]
        fall += right[k] * right[k]
        for y in range(k + 1, width):
            right[y] -= lower[y, k] * right[k]
    for k in range(width - 1, -1, -1):
        out[k] = right[k] / lower[k, k]
        for y in range(k):
            right[y] -= lower[k, y] * out[k]
    return fall
