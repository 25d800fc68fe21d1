"""Propensities from what a person writes: a table, a file, or a source by name with its log.

FILE                  a table of p with user, item or position (or several of them)
column:NAME           a column of the test log
popularity:GAMMA      a power law of the item's rows in the train log
display_share:FILE    a log of displays (a row for each, or item and count)
position_model:FILE   a log of item, position and click
randomised:FILE       position and click of a slice shown in random order
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from trueval.data.columns import looks_like
from trueval.data.delimited import shape
from trueval.data.failures import empty, reading
from trueval.data.frames import as_polars, is_table
from trueval.data.id_text import settled
from trueval.data.ids import plain
from trueval.data.interactions import Interactions
from trueval.data.read import locate
from trueval.data.tables import ids_are_text, scan_table, table_suffix
from trueval.errors import DataError, DefinitionError, suggest
from trueval.propensity.propensity import Propensity, given, read_gamma

FORMS = (
    "FILE (p by user, item or position), column:NAME (of the test log), popularity:GAMMA, display_share:FILE, "
    "position_model:FILE, randomised:FILE"
)
_FROM_LOG = {"display_share": "displays.csv", "position_model": "clicks.csv", "randomised": "slice.csv"}
_KINDS = ("column", "popularity", *_FROM_LOG)
_NAMES = {
    "position": "position pos slot rank",
    "click": "click clicks clicked reward label converted",
    "count": "count n displays impressions views",
    "p": "p propensity propensity_score pscore probability prob chance",
}
_ROLES = {
    "table": ("user", "item", "position", "p"),
    "display_share": ("item", "count"),
    "position_model": ("item", "position", "click"),
    "randomised": ("position", "click"),
}

_NUMBERS = "write each chance as a number above 0 and at most 1"

Columns = Mapping[str, Any] | None


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
    return _given(_read_file(source, "table", columns), Path(source).name, columns)


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

    >>> shown = pl.DataFrame({"sku": [1], "slot": [2], "clicked": [0]})
    >>> with_roles(shown, "position_model", None, where="log").columns
    ['item', 'position', 'click']
    """
    found: dict[str, str] = {}
    for role in _ROLES[kind]:
        named = (columns or {}).get("rank" if role == "position" else role)
        free = [name for name in frame.columns if name not in found]
        like = [name for name in free if name == named] or [name for name in free if name == role]
        like = like or [name for name in free if is_like(name, role)]
        if len(like) > 1:
            raise DataError(
                f"more than one column looks like the {role}",
                where=where,
                found=", ".join(like),
                do=f"call the one that is meant {role}",
            )
        found |= dict.fromkeys(like, role)
    aside = {name: f"source_{name}" for name in frame.columns if name in found.values() and name not in found}
    return frame.rename(aside | found)


def is_like(name: str, role: str) -> bool:
    """Whether a column name is a common one for a role.

    >>> is_like("Slot", "position"), is_like("sku", "item"), is_like("genre", "click")
    (True, True, False)
    """
    if role in ("user", "item"):
        return looks_like(name, role)
    return re.sub(r"[\W_]+", "", name).lower() in {word.replace("_", "") for word in _NAMES[role].split()}


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
    with reading(path, what="a table"):
        names = _names(path)
        labels = with_roles(pl.DataFrame(schema=dict.fromkeys(names, pl.Null)), kind, columns, where=str(path)).columns
        ids = {role: name for name, role in zip(names, labels) if role in ("user", "item")}
        if not ids and kind == "display_share":
            raise DataError(
                "there is no item column", where=str(path), found="columns " + ", ".join(names), do="name it item"
            )
        sought = ids or {"rank": names[0]}  # a reader of text wants some role; this one changes no type
        frame = scan_table(path, {"time": None, **sought}, roles=tuple(sought)).collect()
    if not len(frame):
        raise empty(str(path))
    frame = settled(frame, tuple(ids)) if ids_are_text(path) else frame
    # Ids came back under their roles; all columns kept their places, and are named as in the file again.
    return with_roles(frame.rename(dict(zip(frame.columns, names))), kind, columns, where=str(path))


def _names(path: Path) -> list[str]:
    """The columns of a file; a text file may have a single one, as a list of displays may be."""
    if table_suffix(path) in (".csv", ".tsv", ".txt"):
        return list(shape(path, {"time": None}, suffix=table_suffix(path), lone=True).names)
    return scan_table(path, {"time": None}, roles=()).collect_schema().names()
