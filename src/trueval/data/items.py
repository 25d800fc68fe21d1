"""Tables about items: the catalogue, with whatever is known of each item."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from trueval.data.aspects import aspect_column, aspect_lists
from trueval.data.column_roles import TableRoles, find_roles, renaming
from trueval.data.failures import empty
from trueval.data.frames import as_polars, is_table
from trueval.data.id_text import settled
from trueval.data.ids import plain
from trueval.data.layouts import layout_of
from trueval.data.missing_ids import check_ids
from trueval.data.read import locate, read
from trueval.data.role_names import ColumnMap
from trueval.data.table_columns import columns_of
from trueval.data.tables import ids_are_text, read_table
from trueval.errors import DataError

_ROLES = TableRoles(needs=("item",), own_name_wins=True, table="items")


def read_items(source: Any, *, columns: ColumnMap | None = None) -> pl.DataFrame:
    """A table with one row per item: ids alone (a list, an array), a table, a file, or a data-set folder.

    A table with a `user` column as well lists candidates user by user, and keeps all its rows. One row per item and
    aspect is fine too: aspects are then gathered. `columns` may speak of several tables: of this one as items.item.

    >>> read_items(["b", "a", "b"])["item"].to_list()
    ['a', 'b']
    """
    named = columns_of(columns, "items", side=True)
    if isinstance(source, pl.Series | list | tuple | np.ndarray):
        ids = plain(pl.Series("item", source), where="items")
        return ids.unique().sort().to_frame()
    if is_table(source):
        frame = as_polars(source, where="items")
        found = find_roles(frame.columns, named, roles=_ROLES, where="items")
        frame = frame.rename(renaming(frame.columns, found, _ROLES))
    else:
        path = locate(source)
        if path.is_dir() and layout_of(path) is not None:
            return _of_data_set(source)
        frame = read_table(path, named, roles=_ROLES)
        frame = settled(frame) if ids_are_text(path) else frame
    if not len(frame):
        raise empty("items" if is_table(source) else str(source))
    check_ids(frame, "items", roles=["item"])
    frame = frame.with_columns(plain(frame["item"], where="items").alias("item"))
    return frame if "user" in frame.columns else _gathered(frame)


def _gathered(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per item, with all the aspects that its rows name.

    >>> _gathered(pl.DataFrame({"item": [1, 1, 2], "aspect": ["war", "drama", "war"]})).rows()
    [(1, ['war', 'drama']), (2, ['war'])]
    """
    column = aspect_column(frame.columns)
    if column is None or isinstance(frame.schema[column], pl.Array) or not frame["item"].is_duplicated().any():
        return frame.unique("item", maintain_order=True)
    rows = frame.with_columns(aspect_lists(frame[column]).alias(column))
    together = rows.group_by("item", maintain_order=True).agg(
        pl.exclude("item", column).first(), pl.col(column).explode().drop_nulls().unique(maintain_order=True)
    )
    return together.select(frame.columns)


def _of_data_set(source: Any) -> pl.DataFrame:
    table = read(source).items
    if table is None:
        raise DataError("this data set has no table of items", where=str(source), do="give a file with an item column")
    return table
