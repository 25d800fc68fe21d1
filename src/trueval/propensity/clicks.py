"""Clicks by item and position: counted, checked, and whether positions can be compared by them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trueval.errors import DataError, rows_found

if TYPE_CHECKING:  # every evaluation comes by here, and few need it
    from scipy import sparse

WHERE = "position-based model"
_SLICE = "or measure on a slice shown in random order (randomised:FILE, Propensity.randomised)"


def checked_clicks(frame: pl.DataFrame, *, needs: tuple[str, ...], where: str) -> pl.DataFrame:
    """The columns needed, click as 0 or 1; missing values and other numbers are refused.

    >>> log = pl.DataFrame({"position": [1, 2], "click": [True, False]})
    >>> checked_clicks(log, needs=("position",), where="log").rows()
    [(1, 1), (2, 0)]
    """
    for column in (*needs, "click"):
        if column not in frame.columns:
            raise DataError(
                f"there is no column {column}",
                where=where,
                found="columns " + ", ".join(frame.columns),
                do=f"give a log with the columns {', '.join((*needs, 'click'))}",
            )
    if not len(frame):
        raise DataError("there are no clicks", where=where, found="0 rows", do="check the log")
    click = frame["click"].cast(pl.Float64, strict=False)
    wrong = (~click.is_in([0.0, 1.0])).fill_null(True)
    for column in needs:
        wrong |= frame[column].is_null()
        if frame[column].dtype.is_float():
            wrong |= frame[column].is_nan().fill_null(True)
    if wrong.any():
        examples = frame.filter(wrong).select(*needs, "click").head(5).rows(named=True)
        lines = [", ".join(f"{name} {value}" for name, value in row.items()) for row in examples]
        raise DataError(
            f"every row needs {' and '.join(needs)}, and a click that is 0 or 1",
            where=where,
            found=rows_found(lines, int(wrong.sum())),
            do="write 0 where something was shown and not clicked, and leave out rows that were not shown",
        )
    return frame.select(*needs, click.cast(pl.Int64))


def checked_counts(frame: pl.DataFrame, *, where: str) -> pl.DataFrame:
    """A table whose column `count` holds numbers of displays: finite, not negative, none missing.

    >>> checked_counts(pl.DataFrame({"item": ["a"], "count": [3]}), where="displays")["count"].to_list()
    [3.0]
    """
    if frame["count"].dtype.is_temporal():  # polars would count the days since 1970
        raise DataError(
            "display counts must be numbers of at least 0", where=where, found=f"type {frame['count'].dtype}",
            do="write how often each item was shown",
        )  # fmt: skip
    count = frame["count"].cast(pl.Float64, strict=False)
    wrong = ~(count.is_finite() & (count >= 0)).fill_null(False)
    if wrong.any():
        examples = frame.filter(wrong).head(5)
        names = [name for name in ("item", "count") if name in frame.columns]
        raise DataError(
            "display counts must be numbers of at least 0",
            where=where,
            found=rows_found([", ".join(map(str, row)) for row in examples.select(names).rows()], int(wrong.sum())),
            do="write how often each item was shown",
        )
    return frame.with_columns(count)


def click_rates(frame: pl.DataFrame, *, where: str) -> pl.DataFrame:
    """Click rate of each position relative to the best (p), with its standard error.

    >>> clicks = pl.DataFrame({"position": [1] * 100 + [2] * 100, "click": [1] * 50 + [0] * 50 + [1] * 25 + [0] * 75})
    >>> click_rates(clicks, where="slice").with_columns(pl.col("error").round(3)).rows()
    [(1, 1.0, 0.0), (2, 0.5, 0.1)]
    """
    rows = checked_clicks(frame, needs=("position",), where=where)
    rates = rows.group_by("position").agg(n=pl.len(), c=pl.col("click").sum()).sort("position")
    n, c = (rates[name].to_numpy().astype(np.float64) for name in ("n", "c"))
    check_clicked(rates["position"], n, c, where=where)
    rate, best = c / n, int(np.argmax(c / n))
    # Variance of the log of the rate. Where everything was clicked half a row is taken as not clicked: an error of 0
    # would say that the rate is known.
    spread = np.where(c < n, n - c, 0.5) / n / c
    error = np.where(np.arange(len(rate)) == best, 0.0, rate / rate[best] * np.sqrt(spread + spread[best]))
    return rates.select("position", p=pl.Series(rate / rate[best]), error=pl.Series(error))


@dataclass(frozen=True)
class Cells:
    """Rows alike in item and position as one cell: n rows, c of them clicked."""

    positions: pl.Series  # ascending
    item: np.ndarray  # ascending
    place: np.ndarray  # among the positions
    n: np.ndarray
    c: np.ndarray

    @staticmethod
    def of(clicks: pl.DataFrame) -> Cells:
        """Cells of rows with item, position and click."""
        rows = checked_clicks(clicks, needs=("item", "position"), where=WHERE)
        cells = rows.group_by("item", "position").agg(n=pl.len(), c=pl.col("click").sum()).sort("item", "position")
        positions = cells["position"].unique().sort()
        place = positions.search_sorted(cells["position"]).to_numpy().astype(np.int64)
        item = cells["item"].rank("dense").to_numpy().astype(np.int64) - 1
        n, c = (cells[name].to_numpy().astype(np.float64) for name in ("n", "c"))
        return Cells(positions, item, place, n, c)

    def where(self, kept: np.ndarray) -> Cells:
        """Some of the cells, items numbered anew."""
        item = np.unique(self.item[kept], return_inverse=True)[1]
        return replace(self, item=item, place=self.place[kept], n=self.n[kept], c=self.c[kept])

    def telling(self) -> Cells:
        """The cells of items shown at several positions and clicked: others say nothing about positions."""
        return self.where((np.bincount(self.item)[self.item] > 1) & (np.bincount(self.item, self.c)[self.item] > 0))

    def matrix(self, values: np.ndarray) -> sparse.csr_array:
        """A value for each cell, in rows of items and columns of positions."""
        begins = np.concatenate([[0], np.cumsum(np.bincount(self.item))])
        from scipy import sparse

        return sparse.csr_array((values, self.place, begins), shape=(len(begins) - 1, len(self.positions)))


def check_linked(cells: Cells) -> None:
    """Refuse rows from which θ cannot be estimated: positions without a click, or that no item links."""
    from scipy.sparse.csgraph import connected_components

    check_clicked(cells.positions, np.bincount(cells.place, cells.n), np.bincount(cells.place, cells.c), where=WHERE)
    if len(cells.positions) < 2:
        return
    if not (np.bincount(cells.item) > 1).any():
        raise DataError(
            "no item was shown at two positions, so the effects of positions and of items cannot be separated",
            where=WHERE,
            found=f"{cells.item.max() + 1:,} items, each at one position of {len(cells.positions):,}",
            do=f"use a log in which items change their position, {_SLICE}",
        )
    displayed = cells.matrix(np.ones(len(cells.item)))
    part = connected_components(displayed.T @ displayed, directed=False)[1]
    _check_one(cells, part, "no item was shown in two of these sets")
    telling = cells.telling()
    # an edge from q to p: an item shown at both was clicked at p
    displayed, clicked = telling.matrix(np.ones(len(telling.item))), telling.matrix((telling.c > 0).astype(np.float64))
    _check_one(
        cells,
        connected_components(displayed.T @ clicked, directed=True, connection="strong")[1],
        "none of the items shown in two of these sets was clicked in one of them",
    )


def _check_one(cells: Cells, part: np.ndarray, why: str) -> None:
    """Refuse positions that fall into several parts."""
    if part.max() == 0:
        return
    parts = sorted((cells.positions.filter(part == at).to_list() for at in range(part.max() + 1)), key=str)
    lines = [", ".join(map(str, own[:10])) + (", …" if len(own) > 10 else "") for own in parts]
    raise DataError(
        f"positions cannot be compared with each other: {why}",
        where=WHERE,
        found="\n".join(f"positions {text}" for text in lines[:5]) + ("\n…" if len(lines) > 5 else ""),
        do=f"fit each of these sets by itself, use more data, {_SLICE}",
    )


def check_clicked(positions: pl.Series, n: np.ndarray, c: np.ndarray, *, where: str) -> None:
    """Refuse positions without a click: how likely they are to be looked at could be anything near 0."""
    if (c > 0).all():
        return
    empty = list(zip(positions.filter(c == 0), n[c == 0].astype(int)))
    listed = ", ".join(f"position {p} ({rows:,} rows)" for p, rows in empty[:5]) + (", …" if len(empty) > 5 else "")
    raise DataError(
        "some positions have no click" if (c > 0).any() else "no click at any position",
        where=where,
        found=listed,
        do="use more data, or leave the rows of these positions out",
    )
