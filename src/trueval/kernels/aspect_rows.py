"""What the kernels of aspect metrics read: plain columns, so that both forms of the kernels take the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Gains that differ by less than this part are equal: so much more than what rounding may do to them, and so much
# less than what tells two gains apart, that equals are those of exact arithmetic.
EQUAL = 1e-12
MORE, LESS = 1.0 + EQUAL, 1.0 - EQUAL
NEAR_ONE = 1e-14  # what is lost, besides, in differences of numbers near 1


class ItemAspects(NamedTuple):
    """Item i has the set s = `of_item[i]`: aspects `aspect[start[s]]` to `aspect[start[s+1]-1]`, of `number` in all."""

    of_item: np.ndarray
    start: np.ndarray
    aspect: np.ndarray
    number: int


class Owned(NamedTuple):
    """Rows of unit u: those of `owner[u]` (its user, or the unit itself), from `start[owner]` on."""

    owner: np.ndarray
    start: np.ndarray
    item: np.ndarray
    value: np.ndarray


class RankedRows(NamedTuple):
    """Judged items of unit u, best rank first and those without a rank (0) behind.

    `gain` is what an item is worth to an aspect that nothing has satisfied yet, `fade` how much of the interest
    in its aspects it takes away.
    """

    start: np.ndarray
    item: np.ndarray
    rank: np.ndarray
    gain: np.ndarray
    fade: np.ndarray


class Rated(NamedTuple):
    """Judged items of unit u: what each gains, and whether it is among the targets."""

    start: np.ndarray
    item: np.ndarray
    gain: np.ndarray
    target: np.ndarray


class AspectLists(NamedTuple):
    """Items shown to unit u, best first; `counts` says which rows may count."""

    start: np.ndarray
    item: np.ndarray
    counts: np.ndarray


class Pool(NamedTuple):
    """Targets of unit u that may be unrated, alike in their aspects group by group.

    No set has more than `widest` aspects. Groups `first[u]` to `last[u]-1` are the unit's; group g has the items
    `item[start[g]]` to `item[start[g+1]-1]`, ascending, with the aspects of set `set[g]`, which is `node[g]` of a tree
    (see `data.aspects.AspectSets`).
    """

    first: np.ndarray
    last: np.ndarray
    set: np.ndarray
    start: np.ndarray
    item: np.ndarray
    node: np.ndarray
    parent: np.ndarray
    added: np.ndarray
    widest: int
