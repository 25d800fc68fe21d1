"""The order of `library_order`, interpreted instead of compiled: for small inputs, and as its oracle."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np


@cache
def _sort() -> Any:
    from numba.misc.quicksort import make_py_quicksort

    return make_py_quicksort(is_argsort=True).run_quicksort


def order_twice(start: np.ndarray, key: np.ndarray, item: np.ndarray, least: int) -> None:
    """See `library_order.order_twice`."""
    for first, last in pairwise(start):
        if last - first >= least:
            for _ in range(2):
                order = _sort()(-key[first:last])
                key[first:last] = key[first:last][order]
                item[first:last] = item[first:last][order]
