"""Rows of one id that stand together, as in most files of recommendations: found without coding every row."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.data.column_pieces import pieces
from trueval.data.ids import WIDE, Ids
from trueval.kernels import in_order


def stands_together(column: pl.Series) -> bool:
    """Whether most of the first rows have the id of the row before."""
    sample = column[:_SAMPLE]
    return 2 * len(_changes(sample)) <= len(sample) + 2


def first_rows(column: pl.Series) -> np.ndarray:
    """Rows whose id differs from that of the row before.

    >>> first_rows(pl.Series(["b", "b", "a", "b"])).tolist()
    [0, 2, 3]
    """
    parts = pieces(column)
    found = [rows + part.start for rows, (_, part) in zip(in_order(_changes, [piece for piece, _ in parts]), parts)]
    for rows, (_, part) in zip(found[1:], parts[1:]):
        if column[part.start] == column[part.start - 1]:
            rows[0] = -1  # goes on from the piece before
    every = np.concatenate([np.empty(0, np.int64), *found])
    return every[every >= 0]


def users_together(column: pl.Series, users: Ids) -> tuple[np.ndarray, np.ndarray] | None:
    """Codes of a column without nulls, one for all rows of a user, and where these begin (one more: the end).

    None where the rows of a user do not stand together, and where so few do that nothing is gained.

    >>> users_together(pl.Series(["b", "b", "z", "a"]), Ids(pl.Series(["a", "b"])))
    (array([ 1, -1,  0], dtype=int32), array([0, 2, 3, 4]))
    >>> users_together(pl.Series(["b", "b", "a", "a", "b"]), Ids(pl.Series(["a", "b"])))
    """
    if not stands_together(column):
        return None
    rows = first_rows(column)
    codes = users.codes(column.gather(pl.Series(rows, dtype=pl.UInt32)))
    known = codes[codes >= 0]
    if np.bincount(known, minlength=1).max() > 1:
        return None
    return codes, np.append(rows, len(column))


_SAMPLE = 10_000


def _changes(piece: pl.Series) -> np.ndarray:
    """Rows of one array that differ from the one before, the first among them."""
    return np.flatnonzero(is_first(piece))


def is_first(piece: pl.Series) -> np.ndarray:
    """Whether each row of one array differs from the one before; the first does.

    >>> is_first(pl.Series(["b", "b", "a"])).tolist()
    [True, False, True]
    """
    first = np.ones(len(piece), bool)
    if piece.dtype.is_integer() and piece.dtype not in WIDE and not piece.null_count():
        values = piece.to_numpy()
        np.not_equal(values[1:], values[:-1], out=first[1:])
    else:
        first[1:] = (piece[1:] != piece[:-1]).fill_null(True).to_numpy()
    return first
