"""Many ids found among others, by their keys, in compiled kernels."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.data.column_pieces import pieces
from trueval.data.id_keys import is_short, keys
from trueval.kernels import SMALL, choose, in_order

Codes = np.ndarray  # int32, -1 where an id is unknown

_MANY = 20_000  # ids that are worth it, once the kernels are loaded


def by_hash(column: pl.Series) -> bool:
    """Whether a column is large enough for the compiled kernels, which know no nulls, or are loaded anyway."""
    return len(column) > _MANY and not column.null_count() and hasattr(choose("lists", len(column)), "look_up_keys")


class KeyTable:
    """Distinct ids in a table from which compiled kernels tell the place of any id among them.

    >>> KeyTable(pl.Series(["b", "a"])).look_up(pl.Series(["a", "b", "z"])).tolist()
    [1, 0, -1]
    """

    def __init__(self, known: pl.Series) -> None:
        self.short, size = is_short(known), 1 << max(10, (2 * len(known)).bit_length())
        self.table = choose("lists", SMALL + 1).hash_table(*keys(known, short=self.short), size)

    def look_up(self, column: pl.Series) -> Codes:
        """Places of ids among those known, -1 for others."""
        kernel, out = choose("lists", SMALL + 1).look_up_keys, np.empty(len(column), np.int32)

        def fill(piece: tuple[pl.Series, slice]) -> None:
            kernel(*keys(piece[0], short=self.short), *self.table, out[piece[1]])

        for _ in in_order(fill, pieces(column)):
            pass
        return out


def distinct(column: pl.Series) -> pl.Series:
    """Each id once, in any order."""
    if not by_hash(column):
        return column.unique()
    kernel = choose("lists", len(column)).first_rows

    def first(piece: pl.Series) -> pl.Series:
        return piece.gather(pl.Series(kernel(*keys(piece, short=is_short(piece))), dtype=pl.UInt32))

    found = list(in_order(first, [piece for piece, _ in pieces(column)]))
    return found[0] if len(found) == 1 else first(pl.concat(found, rechunk=True))
