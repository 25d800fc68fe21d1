"""Propensities from a table, a file, or a named source with its log.

FILE                  a table of p with user, item or position (or several of them)
column:NAME           a column of the test log
popularity:GAMMA      a power law of the item's rows in the train log
display_share:FILE    a log of displays (a row for each, or item and count)
position_model:FILE   a log of item, position and click
randomised:FILE       position and click of a slice shown in random order
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from trueval.data.column_roles import NO_ROLES, TableRoles, find_roles, renaming
from trueval.data.delimited import shape
from trueval.data.failures import empty
from trueval.data.frames import as_polars, is_table
from trueval.data.id_text import settled
from trueval.data.ids import plain
from trueval.data.interactions import Interactions
from trueval.data.read import locate
from trueval.data.role_names import ColumnMap
from trueval.data.table_columns import columns_of
from trueval.data.tables import column_names, ids_are_text, read_table, table_suffix
from trueval.errors import DataError, DefinitionError, suggest
from trueval.propensity.propensity import Propensity, given, read_gamma

FORMS = (
    "FILE (p by user, item or position), column:NAME (of the test log), popularity:GAMMA, display_share:FILE, "
    "position_model:FILE, randomised:FILE"
)
_FROM_LOG = {"display_share": "displays.csv", "position_model": "clicks.csv", "randomised": "slice.csv"}
_KINDS = ("column", "popularity", *_FROM_LOG)


def _table(*, needs: tuple[str, ...] = (), may_have: tuple[str, ...] = ()) -> TableRoles:
    return TableRoles(needs=needs, may_have=may_have, own_name_wins=True, given_by="name")


_ROLES = {
    "table": _table(may_have=("user", "item", "position", "p")),
    "display_share": _table(needs=("item",), may_have=("count",)),
    "position_model": _table(needs=("item", "position", "click")),
    "randomised": _table(needs=("position", "click")),
}

_NUMBERS = "write each chance as a number above 0 and at most 1"

Columns = ColumnMap | None


def read_propensity(
    source: Any, *, train: Interactions | None, test: Interactions, columns: Columns = None
) -> Propensity:
    """Propensities from any source; `columns` are those named for other tables, used where a table has them.

    >>> log = Interactions.of(pl.DataFrame({"user": [1, 2], "item": ["a", "a"]}))
    >>> read_propensity("popularity:1", train=log, test=log).of(log.frame).to_list()
    [1.0, 1.0]
    >>> read_propensity(pl.DataFrame({"item": ["a"], "p": [0.5]}), train=None, test=log).of(log.frame).to_list()
    [0.5, 0.5]
    """
    if isinstance(source, Propensity):
        return source
    if is_table(source):
        return _given(as_polars(source, where="propensities"), "table", columns)
    kind, _, detail = str(source).partition(":")
    kind = "randomised" if kind == "randomized" else kind
    if isinstance(source, str) and kind in _KINDS:
        return _by_name(source, kind, detail, train=train, test=test, columns=columns)
    _check_there(source, kind)
    return _given(_read_file(source, "table", columns), Path(source).name, None)


def reads_test(source: Any) -> bool:
    """Whether propensities are a column of the test log, and so of its rows alone.

    >>> reads_test("column:p"), reads_test("popularity:1")
    (True, False)
    """
    return isinstance(source, str) and source.startswith("column:") and source != "column:"


def _by_name(
    source: str, kind: str, detail: str, *, train: Interactions | None, test: Interactions, columns: Columns
) -> Propensity:
    if kind == "popularity":
        if train is None:
            raise DefinitionError(
                "popularity is counted in the train log",
                where=f"propensity {source}",
                found="no train log",
                do="pass train=… (--train FILE)",
            )
        return Propensity.popularity(train, gamma=read_gamma(detail, where=source))
    if not detail:
        example = f"{kind}:{'p' if kind == 'column' else _FROM_LOG[kind]}"
        what = f"{kind} needs the name of a {'column' if kind == 'column' else 'file'}"
        raise DefinitionError(what, where="propensity", found=repr(source), do=f"write {example}")
    if kind == "column":
        return Propensity.column(test, detail)
    frame = _read_file(detail, kind, columns)
    if kind == "display_share":
        return Propensity.display_share(frame)
    return Propensity.position(frame) if kind == "position_model" else Propensity.randomised(frame)


def _given(frame: pl.DataFrame, name: str, columns: Columns) -> Propensity:
    """A table of p with the columns it is looked up by."""
    frame = with_roles(frame, "table", columns, where=name)
    keys = [key for key in ("user", "item", "position") if key in frame.columns]
    if not keys or "p" not in frame.columns:
        raise DataError(
            "a table of propensities needs p and user, item or position",
            where=name,
            found="columns " + ", ".join(frame.columns),
            do=f"name its columns so, or give another source: {FORMS}",
        )
    if not frame.schema["p"].is_numeric():
        raise DataError(
            "propensities must be numbers", where=f"{name}, column p", found=f"type {frame.schema['p']}", do=_NUMBERS
        )
    ids = [plain(frame[key], where=name).alias(key) for key in keys if key != "position"]
    return given(frame.with_columns(ids).select(*keys, pl.col("p").cast(pl.Float64)), name)


def with_roles(frame: pl.DataFrame, kind: str, columns: Columns, *, where: str) -> pl.DataFrame:
    """A table with the columns of its kind under the names of their roles.

    >>> displays = pl.DataFrame({"sku": [1], "slot": [2], "clicked": [0]})
    >>> with_roles(displays, "position_model", None, where="log").columns
    ['item', 'position', 'click']
    """
    found = _find(frame.columns, kind, columns, where=where)
    return frame.rename(renaming(frame.columns, found, _ROLES[kind]))


def _find(names: Sequence[str], kind: str, columns: Columns, *, where: str) -> dict[str, str]:
    """The column of each role; the rank of other tables is the position here."""
    named = columns_of(columns, "propensity", side=True).of(names)
    given = {"position" if role == "rank" else role: name for role, name in named.items() if name not in (None, "")}
    roles = _ROLES[kind]
    return find_roles(names, {role: name for role, name in given.items() if role in roles}, roles=roles, where=where)


def beside(source: str, base: Path) -> str:
    """A source as it is written in a file of the folder `base`, which its own path is relative to.

    >>> beside("popularity:0.5", Path("study")), beside("column:p", Path("study"))
    ('popularity:0.5', 'column:p')
    """
    kind, colon, detail = source.partition(":")
    if kind in (*_FROM_LOG, "randomized") and detail:
        return f"{kind}{colon}{locate(base / Path(detail).expanduser())}"
    if kind in (*_KINDS, "randomized"):
        return source
    path = base / Path(source).expanduser()
    _check_there(path, kind, written=source)
    return str(path)


def _check_there(source: Any, kind: str, *, written: str | None = None) -> None:
    """Refuse what is neither the name of a source nor a file."""
    try:
        found = isinstance(source, str | Path) and locate(source).exists()
    except DataError:
        found = False
    if not found:
        close = suggest(kind, _KINDS)
        hint = f"{close} " if close.startswith("did you mean") else ""
        raise DefinitionError(
            "propensities cannot be read from this",
            where="propensity",
            found=f"{written or source!r}: neither a source nor a file",
            do=f"{hint}give {FORMS}",
        )


def _read_file(source: str | Path, kind: str, columns: Columns) -> pl.DataFrame:
    """A file with the roles of its kind as names; ids of text formats become integers where none changes by it."""
    path = locate(source)
    names = _names(path)
    found = _find(names, kind, columns, where=str(path))
    ids = {role: name for role, name in found.items() if role in ("user", "item")}
    sought = ids or {"rank": names[0]}  # a reader of text wants some role; this one changes no type
    frame = read_table(path, {"time": None, **sought}, roles=TableRoles(needs=tuple(sought)))
    if not len(frame):
        raise empty(str(path))
    frame = settled(frame, tuple(ids)) if ids_are_text(path) else frame
    # Ids came back under their roles; all columns kept their places, and are named as in the file again.
    return frame.rename(dict(zip(frame.columns, names))).rename(renaming(names, found, _ROLES[kind]))


def _names(path: Path) -> list[str]:
    """The columns of a file; a text file may have a single one, as a list of displays may be."""
    if table_suffix(path) in (".csv", ".tsv", ".txt"):
        return list(shape(path, {"time": None}, suffix=table_suffix(path), lone=True).names)
    return column_names(path, {"time": None}, roles=NO_ROLES)
