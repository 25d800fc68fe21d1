"""Interactions: who did what with which item, when and how much they liked it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from trueval.data.exported_tables import frame_html
from trueval.data.failures import empty
from trueval.data.ids import as_text, plain
from trueval.data.missing_ids import check_ids
from trueval.data.popularity import check_count_of
from trueval.data.times import read_times
from trueval.errors import DataError, rows_found
from trueval.forks import needs_threads
from trueval.kernels import blocks, in_order

ROLES = ("user", "item", "value", "time")


@dataclass(frozen=True)
class Interactions:
    """A log with the columns `user`, `item` and, where known, `value` and `time`.

    Made by `read`, or by `Interactions.of` from a table whose columns have these names. Main methods: `has`, `keep`,
    `fingerprint`; `len(log)` is the number of rows.

    Attributes
    ----------
    frame : DataFrame
        The rows. Further columns travel along untouched.
    name : text
        What messages call the log.
    users, items : DataFrame or None
        Side tables keyed by `user` and `item` (demographics, genres).
    count : {"users", "rows"}
        What popularity counts in it (see `read`).
    n_users, n_items : int
        Number of distinct users and items.

    Examples
    --------
    >>> log = Interactions.of(pl.DataFrame({"user": [1, 1], "item": ["a", "b"], "value": [5, 3]}))
    >>> len(log), log.has("time")
    (2, False)
    """

    frame: pl.DataFrame
    name: str = "log"
    users: pl.DataFrame | None = field(default=None, repr=False)
    items: pl.DataFrame | None = field(default=None, repr=False)
    count: str = "users"

    @staticmethod
    @needs_threads
    def of(
        frame: pl.DataFrame,
        *,
        name: str = "log",
        users: pl.DataFrame | None = None,
        items: pl.DataFrame | None = None,
        count: str = "users",
    ) -> Interactions:
        """Check a table whose columns already carry the role names, and bring ids and values to one type.

        Duplicate rows are kept: the split and the evaluation decide what they mean.

        Parameters
        ----------
        frame : DataFrame
            With the columns `user`, `item` and, where known, `value` and `time`.
        name : text, default "log"
            What messages call the log.
        users, items : DataFrame, optional
            Side tables, one row per user or item.
        count : {"users", "rows"}, default "users"
            What popularity counts.

        Returns
        -------
        Interactions
            The log.

        Raises
        ------
        TruevalError
            For missing columns and ids, values that are not finite numbers, and an empty table.
        """
        check_count_of(count, where=name)
        for role in ("user", "item"):
            if role not in frame.columns:
                raise DataError(
                    f"there is no {role} column",
                    where=name,
                    found="columns " + ", ".join(frame.columns),
                    do=f"name it with columns={{'{role}': …}} (--columns {role}=…)",
                )
        if not len(frame):
            raise empty(name)
        frame = frame.with_columns(plain(frame[role], where=f"{name}, column {role}") for role in ("user", "item"))
        check_ids(frame, name)
        if "value" in frame.columns:
            frame = frame.with_columns(_values(frame, name))
        if "time" in frame.columns:
            as_text(frame["time"].head(1), what="times", where=f"{name}, column time")
            frame = frame.with_columns(read_times(frame["time"], where=f"{name}, column time"))
        order = [role for role in ROLES if role in frame.columns]
        rows = frame.select(*order, pl.exclude(order))
        return Interactions(rows, name, _side(users, "user"), _side(items, "item"), count)

    def __len__(self) -> int:
        return len(self.frame)

    def _repr_html_(self) -> str:
        counts = f"{len(self):,} rows, {self.n_users:,} users, {self.n_items:,} items"
        return frame_html(f"{self.name}: {counts}", self.frame, rows=5)

    def has(self, column: str) -> bool:
        """Whether the log has a column.

        Parameters
        ----------
        column : text
            Its name.

        Returns
        -------
        bool
            Whether it is there.
        """
        return column in self.frame.columns

    def keep(self, frame: pl.DataFrame, *, name: str | None = None) -> Interactions:
        """The same log with other rows (side tables are kept whole).

        Parameters
        ----------
        frame : DataFrame
            The rows.
        name : text, optional
            A new name. Default: the old one.

        Returns
        -------
        Interactions
            The new log.
        """
        return replace(self, frame=frame, name=name or self.name)

    @property
    def n_users(self) -> int:
        """Number of distinct users."""
        return self.frame["user"].n_unique()

    @property
    def n_items(self) -> int:
        """Number of distinct items."""
        return self.frame["item"].n_unique()

    def fingerprint(self) -> str:
        """A short digest of the set of rows, whatever their order, and of what popularity counts in them."""
        columns = [role for role in ROLES if self.has(role)]
        rows, sums, xor = self.frame.select(columns), 0, 0

        def digested(part: slice) -> tuple[int, int]:
            hashes = rows[part].hash_rows(seed=0).to_numpy()
            return int(hashes.sum(dtype=np.uint64)), int(np.bitwise_xor.reduce(hashes))

        for part_sum, part_xor in in_order(digested, blocks(len(rows), 1 << 18)):
            sums, xor = (sums + part_sum) % 2**64, xor ^ part_xor
        mixed = sums, xor
        counted = "" if self.count == "users" else self.count
        digest = hashlib.sha256(f"{columns}{len(rows)}{mixed}{counted}".encode())
        return digest.hexdigest()[:16]


def _values(frame: pl.DataFrame, name: str) -> pl.Series:
    raw = frame["value"]
    if raw.dtype.is_nested() or raw.dtype.is_temporal() or raw.dtype in (pl.Binary, pl.Object):  # a date is no rating
        raise DataError(
            "values must be finite numbers",
            where=f"{name}, column value",
            found=f"type {raw.dtype}",
            do="write one number per row, or name another column (--columns value=…)",
        )
    if isinstance(raw.dtype, pl.Categorical | pl.Enum):
        raw = raw.cast(pl.String)
    if not (raw.dtype.is_numeric() or raw.dtype == pl.Boolean):
        value = raw.cast(pl.Float64, strict=False)
    else:
        value = raw.cast(pl.Float64)
    bad = ~value.is_finite().fill_null(False)
    if bad.any():
        rows = frame.select("user", "item", pl.lit(raw).alias("value")).filter(bad)
        raise DataError(
            "values must be finite numbers",
            where=f"{name}, column value",
            found=rows_found([f"user {u}, item {i}: {v!r}" for u, i, v in rows.head(5).rows()], int(bad.sum())),
            do="drop or correct these rows",
        )
    return value.alias("value")


def _side(table: pl.DataFrame | None, key: str) -> pl.DataFrame | None:
    if table is None:
        return None
    table = table.with_columns(plain(table[key], where=f"{key} table"))
    doubled = table[key].is_duplicated()
    if doubled.any():
        raise DataError(
            f"the table of {key}s has the same {key} twice",
            where=f"{key} table",
            found=rows_found(
                table.filter(doubled)[key].unique(maintain_order=True).head(5).to_list(), int(doubled.sum())
            ),
            do=f"keep one row per {key}",
        )
    return table
