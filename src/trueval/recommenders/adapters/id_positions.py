"""Where a model keeps our users and items: its own number for each of our codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from trueval.data.ids import Ids, check_same_kind, plain
from trueval.data.missing_ids import ids_missing
from trueval.errors import DataError

NOWHERE = -1


def find_places(ours: Ids, theirs: Any, *, role: str, where: str) -> np.ndarray:
    """The model's number of each of our ids, -1 where it has none; `theirs` are its ids in its own order.

    >>> find_places(Ids.of(pl.Series(["a", "b", "c"])), ["c", "a", "z"], role="item", where="the model").tolist()
    [1, -1, 0]
    """
    series = id_series(theirs, role=role, where=where)
    check_same_kind(ours.values, series, role=role, where=("the log", where))
    if series.n_unique() != len(series):
        twice = series.filter(series.is_duplicated())[0]
        raise DataError(
            f"the same {role} id occurs twice", where=where, found=repr(twice), do="give every row an id of its own"
        )
    codes = ours.codes(series)
    places = np.full(len(ours), NOWHERE, np.int64)
    inside = codes >= 0
    places[codes[inside]] = np.flatnonzero(inside)
    return places


def id_series(ids: Any, *, role: str, where: str) -> pl.Series:
    """Ids of any kind of list as one column of integers or strings."""
    if not isinstance(ids, pl.Series):
        values = ids.tolist() if hasattr(ids, "tolist") else list(ids) if isinstance(ids, Iterable) else [ids]
        try:
            ids = pl.Series(values)
        except TypeError as error:
            raise DataError(
                f"{role} ids must all be integers or all be strings", where=where, found=str(error).split("\n")[0]
            ) from error
    if ids.null_count():
        do = f"give an id for every {role} of the model"
        raise ids_missing(role, where=where, found=f"{ids.null_count():,} nulls", do=do)
    return plain(ids, where=where) if len(ids) else ids


def check_length(ids: Any, number: int, *, role: str, where: str) -> None:
    """Refuse a list of ids that is not as long as the model has rows."""
    if ids is not None and len(ids) != number:
        raise DataError(
            f"the list of {role}s does not fit the model",
            where=where,
            found=f"{len(ids):,} ids for {number:,} {role}s",
            do=f"give the {role} ids in the order of the model's rows",
        )


def format_ids(ids: Ids, codes: np.ndarray, role: str) -> str:
    """Some ids by name, the first few of many.

    >>> format_ids(Ids.of(pl.Series([7, 8])), np.array([1]), "user")
    'user 8'
    """
    listed = ", ".join(repr(one) for one in ids.decode(codes[:3]))
    more = f" and {len(codes) - 3:,} more" if len(codes) > 3 else ""
    return f"{role}{'s' if len(codes) > 1 else ''} {listed}{more}"
