"""The arrays that a column is made of: what several workers can look at without joining them first."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.kernels import blocks, in_order


def pieces(column: pl.Series) -> list[tuple[pl.Series, slice]]:
    """The arrays a column is made of, cut for the workers, and the rows they hold.

    To join them first would copy everything; and what is worked out for a piece finds memory that is warm.
    """
    found, at = [], 0
    for chunk in column.get_chunks():
        cuts = blocks(len(chunk), 1 << 20)
        found += [(chunk[cut], slice(at + cut.start, at + cut.stop)) for cut in cuts]
        at += len(chunk)
    return found


def in_one_array(column: pl.Series) -> np.ndarray:
    """The numbers of a column without nulls as one array; all workers copy, where there are several pieces.

    >>> in_one_array(pl.concat([pl.Series([0.5]), pl.Series([1.5])])).tolist()
    [0.5, 1.5]
    """
    if column.n_chunks() == 1:
        return column.to_numpy()
    parts = pieces(column)
    out = np.empty(len(column), parts[0][0].to_numpy().dtype)
    for _ in in_order(lambda part: np.copyto(out[part[1]], part[0].to_numpy()), parts):
        pass
    return out
