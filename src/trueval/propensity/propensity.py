"""One Propensity object for every source: given, popularity, display share, position, randomised slice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from trueval.arguments import checked
from trueval.data.frames import as_polars, is_table
from trueval.data.ids import check_same_kind, plain
from trueval.data.interactions import Interactions
from trueval.data.popularity import check_count_of, chosen
from trueval.data.role_names import looks_like
from trueval.errors import DataError, DefinitionError, rows_found
from trueval.propensity.clicks import checked_counts, click_rates

_UNSEEN = 0.5  # users or rows that an item without any counts as, as in novelty
_UNSURE = 0.2  # a standard error above this share of the propensity is reported


@dataclass(frozen=True)
class Propensity:
    """A table of chances `p` with the columns it is looked up by: user, item, position, or some of them.

    Made by `Propensity.column`, `.popularity`, `.display_share`, `.position` or `.randomised`, or from a table of
    your own; given to `evaluate(…, propensity=…)`, `evaluate_run` and `ope`. `of(rows)` looks up the chances of rows.

    Attributes
    ----------
    table : DataFrame
        The keys, and `p`: above 0 and at most 1.
    source : text
        Where the chances come from, for messages and manifests.
    unseen : number or None
        The chance of what is not in the table, where there is one.
    errors : DataFrame or None
        Standard errors of chances that were estimated from clicks.
    notes : tuple of text
        What a reader should know.
    relative : bool
        Whether chances are known up to a factor only: those by popularity, display share and position.

    Examples
    --------
    >>> import trueval as tv
    >>> p = tv.Propensity.display_share(pl.DataFrame({"item": ["A"] * 8 + ["B"] * 2}))
    >>> p.of(pl.DataFrame({"item": ["A", "A", "B"]})).to_list()
    [0.8, 0.8, 0.2]
    >>> clicked = pl.DataFrame({"user": [1, 2, 3], "item": ["A", "A", "B"]})
    >>> lists = pl.DataFrame({"user": [1, 2, 3], "item": ["A", "A", "A"], "rank": [1, 1, 1]})
    >>> found = tv.evaluate_run(lists, clicked, metrics="snips(recall)@1", propensity=p, interval="none")
    >>> round(found["run", "snips(recall)@1"].value, 3)  # clicks on A weigh 1/0.8 each, the one on B weighs 1/0.2
    0.333
    """

    table: pl.DataFrame
    source: str
    unseen: float | None = None
    errors: pl.DataFrame | None = None
    notes: tuple[str, ...] = ()
    relative: bool = False

    @property
    def keys(self) -> list[str]:
        """Columns by which a propensity is looked up."""
        return [column for column in self.table.columns if column != "p"]

    @staticmethod
    def column(log: Any, name: str) -> Propensity:
        """Given: a column of the test log holds the chance of each of its rows."""
        frame = _frame(log)
        where = log.name if isinstance(log, Interactions) else "test"
        if name not in frame.columns:
            raise DataError(
                f"there is no propensity column {name!r}",
                where=where,
                found="columns " + ", ".join(frame.columns),
                do="name a column of the test log",
            )
        if not frame.schema[name].is_numeric():
            raise DataError(
                "propensities must be numbers", where=f"{where}, column {name}", found=f"type {frame.schema[name]}",
                do="write each chance as a number above 0 and at most 1",
            )  # fmt: skip
        return given(frame.select("user", "item", p=pl.col(name).cast(pl.Float64)), f"column {name}")

    @staticmethod
    @checked
    def popularity(train: Any, *, gamma: float, count: str | None = None) -> Propensity:
        """Popularity power law: p ∝ n^((gamma+1)/2), n the item's popularity, 1 for the most popular item.

        Popularity is the number of train users of the item or, with count="rows", of its rows; without `count`, what
        the log counts. Items unseen in train count as half of one. There is no neutral gamma, so there is no default:
        -1 weights nothing, 1 weights by 1/n.

        >>> p = Propensity.popularity(pl.DataFrame({"user": [1, 2, 3, 1], "item": ["a", "a", "a", "b"]}), gamma=1)
        >>> p.of(pl.DataFrame({"item": ["a", "b", "new"]})).round(3).to_list()
        [1.0, 0.333, 0.167]
        """
        counted = train.count if count is None and isinstance(train, Interactions) else count or "users"
        frame = _frame(train)
        if check_count_of(counted, where="popularity") == "users":
            frame = _once(frame)
        counts = frame.group_by("item").agg(p=pl.len().cast(pl.Float64))
        power = (gamma + 1) / 2
        most = float(counts["p"].max() or 0.0)  # type: ignore[arg-type]
        found = given(counts.with_columns(p=(pl.col("p") / most) ** power), f"popularity, gamma={gamma:g}")
        source = f"{found.source} (items unseen in train count as {_UNSEEN:g} {counted})"
        return replace(found, source=source, unseen=(_UNSEEN / most) ** power, relative=True)

    @staticmethod
    def display_share(displays: Any) -> Propensity:
        """Share of all displays that were of the item; `displays` has a row per display, or a `count`."""
        frame = _frame(displays)
        amount = pl.len()
        if "count" in frame.columns:
            frame, amount = checked_counts(frame, where="display share"), pl.col("count").sum()
        counts = frame.group_by("item").agg(p=amount.cast(pl.Float64))
        shares = given(counts.with_columns(p=pl.col("p") / pl.col("p").sum()), "display share")
        return replace(shares, relative=True)

    @staticmethod
    @checked
    def position(clicks: Any, *, steps: int = 200) -> Propensity:
        """Position-based click model: P(click) = θ(position) · relevance(item), θ = 1 at the best position.

        `clicks` has a row for each item shown: item, position, click (0 or 1). Only items shown at several positions
        determine θ; where they leave positions unlinked or without a click, the fit is refused.

        >>> slots = {"item": [0] * 8 + [1] * 8, "position": ([1] * 4 + [2] * 4) * 2}
        >>> p = Propensity.position(pl.DataFrame({**slots, "click": [1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0]}))
        >>> p.table["p"].round(3).to_list(), p.errors["error"].round(2).to_list()
        ([1.0, 0.5], [0.0, 0.27])
        """
        from trueval.propensity.position_model import fit_positions

        fitted = fit_positions(_frame(clicks), steps=steps)
        notes = [] if fitted.converged else [f"the position-based model had not converged after {steps:,} steps"]
        return _with_errors(fitted.table, "position-based model", notes)

    @staticmethod
    def randomised(clicks: Any) -> Propensity:
        """Positions from a slice in which items were shown in random order: click rates relative to the best.

        >>> p = Propensity.randomised(pl.DataFrame({"position": [1, 1, 2, 2], "click": [1, 1, 1, 0]}))
        >>> p.table["p"].to_list()
        [1.0, 0.5]
        """
        return _with_errors(click_rates(_frame(clicks), where="randomised slice"), "randomised slice", [])

    @staticmethod
    def read(
        source: Any, *, train: Interactions | None, test: Interactions, columns: Mapping[str, Any] | None = None
    ) -> Propensity:
        """Propensities from a table, a file or a named source: see `trueval.propensity.sources` for the forms.

        >>> log = Interactions.of(pl.DataFrame({"user": [1, 2], "item": ["a", "a"], "seen": [0.5, 0.2]}))
        >>> Propensity.read("column:seen", train=None, test=log).of(log.frame).to_list()
        [0.5, 0.2]
        """
        from trueval.propensity.sources import read_propensity

        return read_propensity(source, train=train, test=test, columns=columns)

    def of(self, rows: pl.DataFrame) -> pl.Series:
        """The propensity of some rows; rows without one are an error."""
        rows = _with_position(rows) if "position" in self.keys else rows
        missing = [key for key in self.keys if key not in rows.columns]
        if missing:
            raise DataError(
                f"propensities by {', '.join(self.keys)} need the column {missing[0]}",
                where="test",
                found="columns " + ", ".join(rows.columns),
                do=f"add the column {missing[0]} to the test log",
            )
        for key in self.keys:
            check_same_kind(self.table[key], rows[key], role=key, where=(self.source, "test"))
        found = rows.select(self.keys).join(self.table, on=self.keys, how="left", maintain_order="left")["p"]
        if found.null_count() and self.unseen is not None:
            return found.fill_null(self.unseen)
        if found.null_count():
            examples = rows.filter(found.is_null()).select(self.keys).head(5).rows()
            raise DataError(
                "some rows have no propensity",
                where=self.source,
                found=rows_found([", ".join(map(str, row)) for row in examples], found.null_count()),
                do="give every relevant test row a propensity",
            )
        return found

    def unseen_in(self, rows: pl.DataFrame) -> list[str]:
        """A note on rows that are not in the table and take the chance of unseen ones."""
        rows = _with_position(rows) if "position" in self.keys else rows
        new = rows.select(self.keys).join(self.table, on=self.keys, how="anti")
        if self.unseen is None or not len(new):
            return []
        items = new.n_unique()
        unseen = f"{items:,} item{'s' * (items > 1)} unseen in train"
        return [f"{len(new):,} of {len(rows):,} relevant test rows belong to {unseen}: their p is {self.unseen:.3g}"]


def read_gamma(text: str, *, where: str) -> float:
    """The exponent of a popularity power law.

    >>> read_gamma("0.5", where="popularity:0.5")
    0.5
    """
    try:
        gamma = float(text)
    except ValueError:
        gamma = np.nan
    if not -1 <= gamma < np.inf:
        raise DefinitionError("gamma must be a number of at least -1", where=where, found=repr(text), do="popularity:1")
    return gamma


def _with_errors(table: pl.DataFrame, source: str, notes: list[str]) -> Propensity:
    """Chances estimated from clicks, with a note where a standard error is large."""
    unsure = table.filter(pl.col("error") > _UNSURE * pl.col("p"))
    if len(unsure):
        listed = [f"position {at}: {p:.2g} ({error:.2g})" for at, p, error in unsure.head(5).rows()]
        more = ", …" if len(unsure) > 5 else ""
        few = f"{source}: too few clicks for some propensities (in brackets their standard errors)"
        notes = [*notes, f"{few}: {', '.join(listed)}{more}"]
    found = given(table.drop("error"), source)
    return replace(found, errors=table.drop("p"), notes=tuple(notes), relative=True)


def _with_position(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose position is called so, where one column of theirs looks like it."""
    like = [name for name in rows.columns if looks_like(name, "position")]
    return rows.rename({like[0]: "position"}) if len(like) == 1 else rows


def _once(frame: pl.DataFrame) -> pl.DataFrame:
    """Each user and item once."""
    if "user" not in frame.columns:
        raise DataError(
            "popularity by users needs a user column",
            where="train",
            found="columns " + ", ".join(frame.columns),
            do='add it, or use count="rows"',
        )
    return chosen(frame, "users")


def _frame(source: Any) -> pl.DataFrame:
    frame = (
        source.frame
        if isinstance(source, Interactions)
        else as_polars(source, where="log")
        if is_table(source)
        else None
    )
    if frame is None:
        from trueval.data.read import read

        frame = read(source).frame
    ids = [role for role in ("user", "item") if role in frame.columns]
    return frame.with_columns(plain(frame[role], where="log").alias(role) for role in ids)


def given(table: pl.DataFrame, source: str) -> Propensity:
    """Chances as they are given; what is not a probability of being seen is refused.

    >>> given(pl.DataFrame({"item": ["a"], "p": [0.5]}), "table").keys
    ['item']
    """
    keys = [column for column in table.columns if column != "p"]
    table = table.unique(maintain_order=True)
    wrong = ~(table["p"].is_finite() & (table["p"] > 0) & (table["p"] <= 1)).fill_null(False)
    if wrong.any():
        examples = table.filter(wrong).head(5).rows(named=True)
        lines = [", ".join(f"{k} {row[k]}" for k in keys) + f": p = {row['p']}" for row in examples]
        raise DataError(
            "propensities must be above 0 and at most 1",
            where=source,
            found=rows_found(lines, int(wrong.sum())),
            do="drop the rows of items that could not be seen",
        )
    if table.select(keys).is_duplicated().any():
        raise DefinitionError("two propensities for the same row", where=source, found=", ".join(keys))
    return Propensity(table, source)
