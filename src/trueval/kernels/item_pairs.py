"""Compiled: in how many pairs of items popularity, average rating and the two optimal rankings agree."""

from __future__ import annotations

import numpy as np

from trueval.kernels.jit import inner, kernel


@inner
def _sign(one, other):
    return int(one > other) - int(one < other)


@inner
def _cell(popularity, average, likes, dislikes):
    """Row and column of a pair, as one number, from the signs of what its first item has more of than the second."""
    column = 2
    if likes != 0 and dislikes != 0:
        column = 0 if likes == dislikes else 1
    row = 4
    if popularity * average > 0:
        row = 0 if dislikes == popularity else 1
    elif popularity * average < 0:
        row = 2 if likes == popularity else 3
    return 3 * row + column


@kernel
def count_pairs(popularity, average, likes, dislikes, first, last, counts):
    """Add the pairs of items `first` to `last` with all later ones to `counts`, five rows by three columns.

    The columns are ranks, equal where the numbers behind them are. Rows: popularity and average are aligned and
    `dislikes` follows popularity, or not; they are opposed and `likes` follows popularity, or not; one of them is
    equal. Columns: `likes` and `dislikes` have the same order (the optimal rankings disagree), the opposite one, or one
    of them is equal.
    """
    size = len(popularity)
    found = np.zeros(81, np.int64)  # by four signs: without branches, which could not be predicted
    for i in range(first, last):
        p, a, n, d = popularity[i], average[i], likes[i], dislikes[i]
        for j in range(i + 1, size):
            signs = 27 * _sign(p, popularity[j]) + 9 * _sign(a, average[j]) + 3 * _sign(n, likes[j])
            found[40 + signs + _sign(d, dislikes[j])] += 1
    for place in range(81):
        cell = _cell(place // 27 - 1, place // 9 % 3 - 1, place // 3 % 3 - 1, place % 3 - 1)
        counts[cell // 3, cell % 3] += found[place]


@kernel
def count_drawn(popularity, average, likes, dislikes, one, other, counts):
    """Add the pairs of the items `one` with the items `other` to `counts`; see `count_pairs`."""
    for place in range(len(one)):
        i, j = one[place], other[place]
        cell = _cell(
            _sign(popularity[i], popularity[j]),
            _sign(average[i], average[j]),
            _sign(likes[i], likes[j]),
            _sign(dislikes[i], dislikes[j]),
        )
        counts[cell // 3, cell % 3] += 1
