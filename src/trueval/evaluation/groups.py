"""Groups of users and of items: a column of a side table, or a stratum that trueval makes itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from trueval.data.ids import Ids, check_same_kind, plain
from trueval.data.judgements import Judged
from trueval.errors import DataError, DefinitionError, rows_found, suggest
from trueval.evaluation.strata import STRATA, Stratum
from trueval.metrics.metric_inputs import Inputs

# More groups than this are hardly groups, and a gap between so many says little.
MOST_GROUPS = 100
By = str | Sequence[str] | None


@dataclass(frozen=True, slots=True)
class Groups:
    """Members of each group, as codes of users or items; an id may be in several groups, or in none."""

    name: str
    kind: str  # "user" or "item"
    labels: tuple[str, ...]
    start: np.ndarray = field(repr=False)
    member: np.ndarray = field(repr=False)  # of group g: start[g] to start[g+1], ascending
    offered: np.ndarray = field(repr=False)  # codes that may be judged: users evaluated, items recommendable
    about: str = ""

    @staticmethod
    def of(name: str, kind: str, labels: Sequence[str], code: np.ndarray, group: np.ndarray, *, offered: np.ndarray,
           about: str = "") -> Groups:  # fmt: skip
        """Groups from pairs of a code and the number of its group; groups without a member are left out."""
        sizes = np.bincount(group, minlength=len(labels))
        some = [g for g in range(len(labels)) if sizes[g]]
        start = np.concatenate([[0], np.cumsum(sizes[some])])
        member = code[np.lexsort((code, group))]
        return Groups(name, kind, tuple(labels[g] for g in some), start, member, offered, about)

    def __len__(self) -> int:
        return len(self.labels)

    def members(self, group: int) -> np.ndarray:
        """Codes of one group."""
        return self.member[self.start[group] : self.start[group + 1]]

    def mask(self, group: int, size: int) -> np.ndarray:
        """Whether each of `size` codes is in a group."""
        inside = np.zeros(size, bool)
        inside[self.members(group)] = True
        return inside

    @property
    def group(self) -> np.ndarray:
        """Group of each member."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @property
    def without(self) -> int:
        """Number of offered ids that are in no group."""
        return int((~np.isin(self.offered, self.member)).sum())


@dataclass(frozen=True, slots=True)
class Known:
    """What groups can be made from: ids, side tables, the train log."""

    users: Ids
    items: Ids
    evaluated: np.ndarray  # codes of the users that are evaluated
    recommendable: np.ndarray  # codes of the items that may be recommended
    inputs: Inputs
    user_tables: Sequence[pl.DataFrame | None] = ()  # the first that has the column is used
    item_tables: Sequence[pl.DataFrame | None] = ()


def names_of(by: By) -> list[str]:
    """Columns to group by: one, several, or several in one text.

    >>> names_of("gender, age")
    ['gender', 'age']
    """
    names = [part.strip() for part in by.split(",")] if isinstance(by, str) else list(by or ())
    for name in names:
        if not isinstance(name, str) or not name:
            raise DefinitionError("by takes names of columns", found=repr(by), do='for example by="gender"')
        if names.count(name) > 1:
            raise DefinitionError(f"the same column twice: {name}", where="by", do="name each column once")
    return names


def evaluated_users(judged: Judged, unit_user: np.ndarray, population: str) -> np.ndarray:
    """Codes of the users in a population, from the judgements of each unit."""
    if population == "all":
        return np.unique(unit_user)
    rows = judged.rows.where(judged.relevant) if population == "relevant" else judged.rows
    return np.unique(unit_user[rows.counts > 0])


def find_groups(by: By, known: Known) -> list[Groups]:
    """The groups of each name: a stratum (activity, taste, popularity), or a column of a table.

    `user:name` and `item:name` say which table, where both have the column or a stratum is called so.
    """
    return [_find(name, known) for name in names_of(by)]


def _find(name: str, known: Known) -> Groups:
    kind, colon, column = name.partition(":")
    if not colon or kind not in ("user", "item"):
        kind, column = "", name
    if not kind and name in STRATA:
        return _of_stratum(name, STRATA[name], known)
    tables = {
        k: [table for table in given if table is not None]
        for k, given in (("user", known.user_tables), ("item", known.item_tables))
        if kind in ("", k)
    }
    having = {k: [table for table in given if column in _columns(table)] for k, given in tables.items()}
    having = {k: given for k, given in having.items() if given}
    if len(having) > 1:
        raise DefinitionError(
            f"both users and items have a column {column!r}", where="by", do=f"write user:{column} or item:{column}"
        )
    for own, given in having.items():
        return _of_column(name, own, given[0], column, known)
    raise _unknown(name, column, tables)


def _columns(table: pl.DataFrame) -> list[str]:
    return [column for column in table.columns if column not in ("user", "item")]


def _unknown(name: str, column: str, tables: dict[str, list[pl.DataFrame]]) -> DefinitionError:
    columns = {c for given in tables.values() for table in given for c in _columns(table)}
    missing = [k for k, given in tables.items() if not given]
    how = [f"{k}s=… (--{k}s FILE) for columns of {k}s" for k in missing]
    return DefinitionError(
        f"there is no column {column!r} to group by",
        where=f"by {name}",
        found="; ".join([*(f"no table of {k}s" for k in missing), suggest(column, {*columns, *STRATA})]),
        do="pass " + ", ".join(how) if how else "name a column of these tables",
    )


def _of_stratum(name: str, stratum: Stratum, known: Known) -> Groups:
    for need in stratum.needs:
        known.inputs.supply(need, metric=f"grouping by {name}")
    offered = known.evaluated if stratum.kind == "user" else known.recommendable
    cut = stratum.cut(known.inputs, offered)
    inside = cut.group >= 0
    return Groups.of(
        name, stratum.kind, cut.labels, offered[inside], cut.group[inside], offered=offered, about=cut.about
    )  # fmt: skip


def _of_column(name: str, kind: str, table: pl.DataFrame, column: str, known: Known) -> Groups:
    ids, offered = (known.users, known.evaluated) if kind == "user" else (known.items, known.recommendable)
    key = plain(table[kind], where=f"table of {kind}s")
    check_same_kind(key, ids.values, role=kind, where=(f"table of {kind}s", "the test set"))
    if kind == "user" and key.is_duplicated().any():
        twice = key.filter(key.is_duplicated())
        raise DataError(
            "the table of users has the same user twice",
            where=f"by {name}",
            found=rows_found(twice.unique().sort().head(5).to_list(), len(twice)),
            do="keep one row per user, several groups as a|b",
        )
    pairs = pl.DataFrame({"code": ids.codes(key), "value": _listed(table[column], f"table of {kind}s")})
    pairs = pairs.explode("value").drop_nulls().unique()
    pairs = pairs.filter(pl.col("code").is_in(pl.Series(offered, dtype=pl.Int32).implode()))
    if not len(pairs):
        raise DataError(
            f"no {kind} of the evaluation has a value of {column!r}",
            where=f"by {name}",
            found=f"{len(table):,} rows, {table[column].null_count():,} of them without a value",
            do=f"check that the table has the same {kind} ids",
        )
    values = pairs["value"].unique().sort()
    if len(values) > MOST_GROUPS:
        raise DefinitionError(
            f"{column!r} has {len(values):,} different values",
            where=f"by {name}",
            found=", ".join(map(_text, values.head(5))) + "…",
            do=f"combine them into at most {MOST_GROUPS} groups, in a new column",
        )
    numbered = pairs.join(pl.DataFrame({"value": values}).with_row_index("group"), on="value")
    code, group = numbered["code"].to_numpy(), numbered["group"].to_numpy().astype(np.int64)
    return Groups.of(name, kind, [_text(value) for value in values], code, group, offered=offered)


def _listed(column: pl.Series, where: str) -> pl.Series:
    """The values of each row as a list: `a|b` and lists are several, whatever is empty is none."""
    kind = column.dtype
    if kind in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        column = column.str.split("|")
    elif kind.is_float():
        column = column.fill_nan(None)
    elif isinstance(kind, pl.Struct | pl.Object | pl.Binary):
        raise DataError("groups must be text or numbers", where=f"{where}, column {column.name}", found=f"type {kind}")
    if column.dtype.base_type() not in (pl.List, pl.Array):
        column = column.reshape((-1, 1))
    column = column.cast(pl.List(column.dtype.inner))  # type: ignore[attr-defined]
    if column.dtype == pl.List(pl.String):
        column = column.list.eval(pl.element().str.strip_chars())
        column = column.list.eval(pl.when(pl.element() != "").then(pl.element()))
    return column


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
