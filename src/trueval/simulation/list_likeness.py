"""How alike the lists of different users are, and who gets the places in them."""

from __future__ import annotations

import numpy as np

from trueval.kernels.seeds import derive
from trueval.statistics.inequality import gini_index

_PAIRS = 20_000  # pairs of users whose lists are compared one by one


def mean_overlap(user: np.ndarray, item: np.ndarray) -> float:
    """The mean over all pairs of users of the items that both lists have, over the mean length of a list: exact.

    Each item in c lists is shared by c (c − 1) / 2 pairs, so no pair has to be looked at.

    >>> mean_overlap(np.array([0, 0, 1, 1]), np.array([5, 6, 5, 7]))
    0.5
    """
    users, counts = len(np.unique(user)), np.unique(item, return_counts=True)[1].astype(float)
    if users < 2:
        return np.nan
    return float((counts * (counts - 1)).sum() / (users * (users - 1)) / (len(item) / users))


def mean_jaccard(user: np.ndarray, item: np.ndarray, *, seed: int = 0) -> float:
    """The mean Jaccard index |A ∩ B| / |A ∪ B| of the lists of two users: of all pairs, or of 20,000 drawn ones.

    >>> round(mean_jaccard(np.array([0, 0, 1, 1]), np.array([5, 6, 5, 7])), 4)
    0.3333
    """
    from scipy.sparse import csr_array

    owners, row = np.unique(user, return_inverse=True)
    things, column = np.unique(item, return_inverse=True)
    number = len(owners)
    if number < 2:
        return np.nan
    table = csr_array((np.ones(len(row)), (row, column)), shape=(number, len(things)))
    table.data[:] = 1.0  # the same item twice in a list counts once
    if number * (number - 1) // 2 <= _PAIRS:
        one, other = np.triu_indices(number, 1)
    else:
        rng = np.random.default_rng(int(derive(seed, "pairs of users")))
        one = rng.integers(0, number, _PAIRS)
        other = (one + rng.integers(1, number, _PAIRS)) % number
    length = np.asarray(table.sum(axis=1)).ravel()
    both = np.asarray(table[one].multiply(table[other]).sum(axis=1)).ravel()
    return float((both / (length[one] + length[other] - both)).mean())


def equal_gini(counts: np.ndarray, rows: int, *, seed: int = 0) -> float:
    """The Gini coefficient of as many rows as asked for, drawn from the counts: fewer rows alone are less even.

    >>> equal_gini(np.array([5, 5]), 10)
    0.0
    """
    if rows >= counts.sum():
        return gini_index(counts)
    rng = np.random.default_rng(int(derive(seed, "equal rows")))
    return gini_index(rng.multivariate_hypergeometric(counts.astype(np.int64), rows, method="marginals"))
