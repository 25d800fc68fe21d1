"""Item features from an item table: aspects (genres) as a 0/1 matrix."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.data.ids import Ids

_NAMES = ("aspects", "genres", "genre", "categories", "tags")


def item_features(table: pl.DataFrame | None, items: Ids) -> np.ndarray | None:
    """One row per item, one column per aspect; None where the table has no aspects.

    >>> table = pl.DataFrame({"item": ["a", "b"], "aspects": [["x"], ["x", "y"]]})
    >>> item_features(table, Ids(pl.Series(["a", "b"]))).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    column = next((name for name in _NAMES if table is not None and name in table.columns), None)
    if table is None or column is None:
        return None
    aspects = table[column].str.split("|") if table[column].dtype == pl.String else table[column]
    rows = pl.DataFrame({"item": table["item"], "aspect": aspects}).explode("aspect").drop_nulls()
    codes = items.codes(rows["item"].cast(items.values.dtype))
    names = rows["aspect"].unique().sort()
    features = np.zeros((len(items), len(names)))
    known = codes >= 0
    features[codes[known], Ids(names).codes(rows["aspect"])[known]] = 1.0
    return features
