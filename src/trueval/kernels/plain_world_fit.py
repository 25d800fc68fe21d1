"""Fitting a world to a log without a compiler: for small inputs, and as the oracle of the compiled loops."""

from __future__ import annotations

import numpy as np

from trueval.kernels.hashing import item_key

_AT_ONCE = 2_000_000  # pairs × topics


def pair_affinities(user: np.ndarray, item: np.ndarray, own: np.ndarray, other: np.ndarray, out: np.ndarray) -> None:
    """See `world_fit.pair_affinities`."""
    for part in _parts(len(user), own.shape[1]):
        out[part] = np.cumsum(own[user[part]] * other[item[part]], axis=1)[:, -1]


def allocate_visits(
    user: np.ndarray, item: np.ndarray, own: np.ndarray, other: np.ndarray, number: np.ndarray, keys: np.ndarray,
    by_user: np.ndarray, by_item: np.ndarray,
) -> None:  # fmt: skip
    """See `world_fit.allocate_visits`."""
    for part in _parts(len(user), own.shape[1]):
        reached = np.cumsum(own[user[part]] * other[item[part]], axis=1)
        row = np.repeat(np.arange(len(reached)), number[part])
        ends = np.cumsum(number[part])
        visit = np.arange(len(row)) - np.repeat(ends - number[part], number[part])
        coin = (item_key(keys[part][row], visit) >> np.uint64(11)) * 2.0**-53
        topic = (reached[row, :-1] <= (coin * reached[row, -1])[:, None]).sum(axis=1)
        np.add.at(by_user, (user[part][row], topic), 1)
        np.add.at(by_item, (item[part][row], topic), 1)


def add_products(
    user: np.ndarray, item: np.ndarray, own: np.ndarray, other: np.ndarray, sign: float, rest: np.ndarray
) -> None:
    """See `world_fit.add_products`."""
    rest += sign * (own[user] * other[item])


def sum_by_owner(
    owner: np.ndarray, partner: np.ndarray, factor: np.ndarray, rest: np.ndarray, squares: np.ndarray,
    products: np.ndarray,
) -> None:  # fmt: skip
    """See `world_fit.sum_by_owner`. Row is added after row, to the same bits."""
    value = factor[partner]
    squares += np.bincount(owner, value * value, minlength=len(squares))
    products += np.bincount(owner, value * rest, minlength=len(products))


def _parts(rows: int, width: int) -> list[slice]:
    size = max(1, _AT_ONCE // width)
    return [slice(begin, begin + size) for begin in range(0, rows, size)]
