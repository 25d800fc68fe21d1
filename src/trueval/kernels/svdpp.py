"""Compiled kernel of SVD++: stochastic gradient descent, user by user."""

from __future__ import annotations

import numpy as np

from trueval.kernels.jit import kernel_with


@kernel_with(fastmath={"contract", "reassoc"}, error_model="numpy")
def train_users(order, start, item, value, mean, rate, ridge, user_bias, item_bias, p, q, y):
    """One pass over the ratings of some users, in their order; returns the sum of squared errors met on the way.

    Every rating of a user moves all y_j of the user's items in the same way: shrink by 1 − rate·ridge, add one
    vector. So z = |N|^-½ Σ_j y_j and the sum of what was added are carried along, and each y_j is touched once
    per user: the same steps as one update of all y_j per rating, at the price of one.
    """
    width = p.shape[1]
    z, added = np.empty(width), np.empty(width)
    keep = 1.0 - rate * ridge
    squares = 0.0
    for u in order:
        first, last = start[u], start[u + 1]
        if first == last:
            continue
        norm = np.sqrt(last - first)
        z[:] = 0.0
        added[:] = 0.0
        for n in range(first, last):
            z += y[item[n]]
        z /= norm
        for n in range(first, last):
            i = item[n]
            guess = mean + user_bias[u] + item_bias[i]
            for f in range(width):
                guess += q[i, f] * (p[u, f] + z[f])
            error = value[n] - guess
            squares += error * error
            user_bias[u] += rate * (error - ridge * user_bias[u])
            item_bias[i] += rate * (error - ridge * item_bias[i])
            for f in range(width):
                move = rate * error * q[i, f]
                q[i, f] = keep * q[i, f] + rate * error * (p[u, f] + z[f])
                p[u, f] = keep * p[u, f] + move
                z[f] = keep * z[f] + move
                added[f] = keep * added[f] + move / norm
        shrink = keep ** (last - first)
        for n in range(first, last):
            for f in range(width):
                y[item[n], f] = shrink * y[item[n], f] + added[f]
    return squares
