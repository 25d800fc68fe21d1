"""Predictions: one row per impression, with what was predicted and what happened."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trueval.data.calendar import showable
from trueval.data.column_roles import NO_ROLES, PREDICTION_ROLES, RANKING_ROLES, find_roles, renaming
from trueval.data.failures import empty
from trueval.data.frames import as_polars, is_table
from trueval.data.id_text import settled
from trueval.data.ids import Ids, as_text, check_id_type, plain
from trueval.data.read import locate
from trueval.data.role_names import ColumnMap
from trueval.data.table_columns import parse_columns
from trueval.data.tables import column_names, ids_are_text, read_table, stem
from trueval.errors import DataError, rows_found


@dataclass(frozen=True)
class Predictions:
    """A checked table of predictions (probabilities or scores), labels and, where known, weights and users.

    The arrays are sorted by prediction, label, user and weight: sums, ties and resamples then depend on the
    set of rows and never on their order. `frame` keeps the rows as they came, with roles as column names; `source`
    has the names and values of the table that was read.
    """

    frame: pl.DataFrame
    name: str
    value: np.ndarray  # ascending
    label: np.ndarray  # 0.0 or 1.0
    weight: np.ndarray | None = None
    user: np.ndarray | None = None  # codes
    users: Ids | None = None
    source: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)

    def __len__(self) -> int:
        return len(self.value)

    @cached_property
    def weights(self) -> np.ndarray:
        """The weights, 1 where there are none."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def first_of_ties(self) -> np.ndarray:
        """Where each run of equal predictions begins."""
        return np.flatnonzero(np.concatenate([[True], self.value[1:] != self.value[:-1]]))

    @property
    def are_probabilities(self) -> bool:
        """Whether every prediction lies in [0, 1]."""
        return bool(self.value[0] >= 0 and self.value[-1] <= 1)

    @property
    def positives(self) -> int:
        """Number of rows with label 1."""
        return int(self.label.sum())

    def with_values(self, value: np.ndarray) -> Predictions:
        """The same rows with other predictions in the same order (ties allowed; rounding is evened out)."""
        return replace(self, value=np.maximum.accumulate(value))


def read_predictions(source: Any, *, columns: ColumnMap | str | None = None, name: str | None = None) -> Predictions:
    """Read a table with a prediction and a label per row, perhaps user, item, time and weight.

    >>> data = read_predictions(pl.DataFrame({"p": [0.8, 0.2], "click": [1, 0], "uid": ["b", "a"]}))
    >>> data.value.tolist(), data.label.tolist(), data.user.tolist()
    ([0.2, 0.8], [0.0, 1.0], [0, 1])
    """
    if isinstance(source, Predictions):
        return source
    columns = parse_columns(columns) if isinstance(columns, str) else columns
    if is_table(source):
        where = label = name or "predictions"
        frame = as_polars(source, where=where)
        names = frame.columns
        found = find_roles(frame.columns, columns, roles=PREDICTION_ROLES, where=where)
        frame = frame.rename(renaming(frame.columns, found, PREDICTION_ROLES))
    else:
        path = locate(source)
        where, label = str(path), name or stem(path)
        frame, names = _read_file(path, columns)
    if not len(frame):
        raise empty(where)
    as_read = frame.rename(dict(zip(frame.columns, names)))
    return replace(_checked(frame, label, where), source=as_read)


def _read_file(path: Path, columns: ColumnMap | None) -> tuple[pl.DataFrame, list[str]]:
    """The table with its roles as names, and what its columns are called in the file."""
    frame = read_table(path, columns, roles=PREDICTION_ROLES, what="predictions")
    # Columns that were named for some role, whichever, tell a header from a first row.
    named = dict(zip(RANKING_ROLES, (columns or {}).values()))
    as_written = column_names(path, {"time": None, **named}, roles=NO_ROLES)
    return (settled(frame) if ids_are_text(path) else frame), as_written


def _checked(frame: pl.DataFrame, name: str, where: str) -> Predictions:
    ids = [role for role in ("user", "item") if role in frame.columns]
    for role in ids:
        _check_ids(frame, role, where)
    frame = frame.with_columns(plain(frame[role], where=f"{where}, column {role}") for role in ids)
    if "time" in frame.columns:
        as_text(frame["time"].head(1), what="times", where=f"{where}, column time")
    value, label = _numbers(frame, "prediction", where), _labels(frame, where)
    weight = _weights(frame, where) if "weight" in frame.columns else None
    users = Ids.of(frame["user"]) if "user" in ids else None
    user = users.codes(frame["user"]) if users else None
    order = _order(value, label, user, weight)
    frame = frame.with_columns(pl.Series("prediction", value), pl.Series("label", label.astype(np.int8)))
    return Predictions(
        frame,
        name,
        value[order],
        label[order],
        None if weight is None else weight[order],
        None if user is None else user[order],
        users,
    )


def _order(value: np.ndarray, label: np.ndarray, user: np.ndarray | None, weight: np.ndarray | None) -> np.ndarray:
    """An order of rows that leaves only rows without any difference exchangeable.

    One integer holds the place of the prediction among the distinct ones, the label and the user: sorting
    such keys is several times faster than sorting by three columns.
    """
    order = np.argsort(value)
    ahead = value[order]
    key = np.empty(len(value), np.int64)
    key[order] = np.cumsum(np.concatenate([[0], ahead[1:] != ahead[:-1]]))
    key = key * 2 + label.astype(np.int64)
    if user is not None:
        key = (key << 31) | user
    return np.argsort(key) if weight is None else np.lexsort((weight, key))


def _check_ids(frame: pl.DataFrame, role: str, where: str) -> None:
    check_id_type(frame, role, where=where)
    if frame[role].null_count():
        raise _bad_rows(
            frame, role, frame[role].is_null().to_numpy(), f"{role} ids are missing", where,
            f"fill or drop these rows, or declare that there is no {role} (--columns {role}=)",
        )  # fmt: skip


def _as_floats(column: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """A column as numbers, NaN where there is none, and which entries are something else than numbers.

    One odd entry makes a whole column of a text file text: the others are still numbers.
    """
    if not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.String, pl.Null)):
        return np.full(len(column), np.nan), np.ones(len(column), bool)
    numbers = column.cast(pl.Float64, strict=False)
    return numbers.fill_null(np.nan).to_numpy(), (numbers.is_null() & column.is_not_null()).to_numpy()


def _numbers(frame: pl.DataFrame, role: str, where: str) -> np.ndarray:
    numbers, odd = _as_floats(frame[role])
    if odd.any():
        do = f"write them as numbers, or name another column (--columns {role}=…)"
        raise _bad_rows(frame, role, odd, f"{role}s must be numbers", where, do)
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        do = "drop these rows, or correct the model that made them"
        raise _bad_rows(frame, role, wrong, f"{role}s must be finite numbers", where, do)
    return numbers


def _labels(frame: pl.DataFrame, where: str) -> np.ndarray:
    labels, _ = _as_floats(frame["label"])
    wrong = (labels != 0) & (labels != 1)
    if wrong.any():
        signs = set(np.unique(labels[~np.isnan(labels)]).tolist()) == {-1.0, 1.0}
        do = "write 0 where it is -1" if signs else "write 1 where it happened and 0 where it did not"
        raise _bad_rows(frame, "label", wrong, "labels must be 0 or 1", where, do)
    return labels


def _weights(frame: pl.DataFrame, where: str) -> np.ndarray:
    weights = _numbers(frame, "weight", where)
    if (weights < 0).any():
        raise _bad_rows(frame, "weight", weights < 0, "weights must not be negative", where, "correct these rows")
    if not weights.sum() > 0:
        raise DataError(
            "all weights are 0", where=f"{where}, column weight", do="leave the column out (--columns weight=)"
        )
    return weights


def check_probabilities(data: Predictions, *, do: str) -> None:
    """Refuse predictions outside [0, 1]."""
    if not data.are_probabilities:
        outside = ~data.frame["prediction"].is_between(0, 1).to_numpy()
        raise _bad_rows(
            data.frame, "prediction", outside, "predictions outside [0, 1] are not probabilities", data.name, do
        )


def _bad_rows(frame: pl.DataFrame, role: str, wrong: np.ndarray, what: str, where: str, do: str) -> DataError:
    at = np.flatnonzero(wrong)
    about = [name for name in ("user", "item") if name in frame.columns and name != role]
    wrong_rows = showable(frame.select(*about, role)[at[:5].tolist()])
    rows = [
        f"row {place + 1}: " + ", ".join([*(f"{name} {row[name]}" for name in about), f"{role} {row[role]!r}"])
        for place, row in zip(at, wrong_rows.iter_rows(named=True))
    ]
    return DataError(what, where=f"{where}, column {role}", found=rows_found(rows, len(at)), do=do)
