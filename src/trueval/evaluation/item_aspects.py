"""Aspects of items from an item table: lists, or a matrix of 0 and 1."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.data.aspects import Aspects, aspect_column, aspect_lists
from trueval.data.ids import Ids
from trueval.errors import DataError, rows_found

# How the columns of a matrix of 0 and 1 begin.
WIDE = tuple(f"{word}{mark}" for word in ("aspect", "genre", "category", "tag") for mark in ("_", ":", "="))


def item_aspects(table: pl.DataFrame | None, items: Ids) -> Aspects | None:
    """Aspects from a column of lists (or "a|b"), a column of rows of a matrix, or 0/1 columns named `aspect_…`.

    >>> table = pl.DataFrame({"item": ["a", "b"], "aspects": ["x", "x|y"]})
    >>> item_aspects(table, Ids(pl.Series(["a", "b"]))).matrix().tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    >>> table = pl.DataFrame({"item": ["a", "b"], "genre_war": [0, 1], "genre_drama": [1, 1]})
    >>> item_aspects(table, Ids(pl.Series(["a", "b"]))).names
    ['drama', 'war']
    """
    if table is None:
        return None
    column = aspect_column(table.columns)
    wide = [name for name in table.columns if name.lower().startswith(WIDE)]
    if column is not None and not isinstance(table.schema[column], pl.Array):
        rows = pl.DataFrame({"item": table["item"], "aspect": aspect_lists(table[column])})
        rows = rows.explode("aspect").drop_nulls()
        codes = items.codes(rows["item"].cast(items.values.dtype))
        return Aspects.of(codes, rows["aspect"], n_items=len(items))
    if column is not None:
        flags = table[column].to_numpy()
        width = len(str(flags.shape[1] - 1))
        return _of_matrix(table["item"], flags, [f"{j:0{width}}" for j in range(flags.shape[1])], items)
    if wide:
        names = [name[min(name.find(mark) for mark in "_:=" if mark in name) + 1 :] for name in wide]
        return _of_matrix(table["item"], table.select(wide).to_numpy(), names, items)
    return None


def _of_matrix(item: pl.Series, flags: np.ndarray, names: list[str], items: Ids) -> Aspects:
    wrong = (flags != 0) & (flags != 1)
    if wrong.any():
        found = [f"item {item[int(r)]}, {names[c]}: {flags[r, c]}" for r, c in np.argwhere(wrong)[:5]]
        raise DataError(
            "a matrix of aspects must contain only 0 and 1",
            where="items",
            found=rows_found(found, int(wrong.sum())),
            do="write 1 where an item has an aspect and 0 where it does not",
        )
    row, column = np.nonzero(flags)
    codes = items.codes(item.cast(items.values.dtype))[row]
    return Aspects.of(codes, pl.Series(names, dtype=pl.String).gather(column), n_items=len(items))
