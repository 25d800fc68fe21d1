"""Interactions from anything that holds them: a table in memory, a file, a folder, a known name."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from trueval.arguments import checked
from trueval.data.archives import ARCHIVES, OF_SYSTEMS, unpack
from trueval.data.column_roles import LOG_ROLES, find_roles, renaming
from trueval.data.datasets import CATALOGUE, data_home
from trueval.data.failures import reading
from trueval.data.frames import as_polars, is_table
from trueval.data.id_text import settled
from trueval.data.ids import check_id_type
from trueval.data.interactions import Interactions
from trueval.data.layouts import LAYOUTS, layout_of, log_layout
from trueval.data.places import check_not_special, describe_absence, entries, path_exists, usable_path
from trueval.data.popularity import check_count_of
from trueval.data.role_names import ColumnMap
from trueval.data.table_columns import columns_of, parse_columns, read_columns
from trueval.data.table_size import check_fits
from trueval.data.tables import ids_are_text, read_table, stem
from trueval.data.writing import writing
from trueval.errors import DataError, DefinitionError, TruevalError, suggest

_WITH_BOTH = tuple(layout.name for layout in LAYOUTS if layout.unbiased)


@checked
def read(
    source: Any, *, columns: ColumnMap | str | None = None, name: str | None = None, count: str | None = None
) -> Interactions:
    """Read a log.

    All rows are kept, also several of one user and item. Systems learn each pair once, with the mean of its values, and
    evaluations say how many pairs have several rows.

    Parameters
    ----------
    source : table, file, folder, name of a data set, or log
        A table (polars, pandas, Arrow), a file, a folder of a known data set or of parquet parts, the folder of a Delta
        or Iceberg table (extras `delta` and `iceberg`), the name of a data set that `trueval data get` has fetched, or
        a log already.
    columns : mapping or text, optional
        Names or positions of the column roles user, item, value and time, where they do not have common names:
        {"user": "uid", "item": 2} or "user=uid,item=2". None (in text: "value=") says that there is no such column.
    name : text, optional
        What to call the log in messages. Default: the name of the file or folder, or "log".
    count : {"users", "rows"}, optional
        What popularity counts, wherever systems, designs and metrics need it: the users who have an item, or its rows
        (a user who has it ten times counts ten). Default: "users", or what a log already counts.

    Returns
    -------
    Interactions
        The log, with the columns `user`, `item` and, where known, `value` and `time`.

    Raises
    ------
    TruevalError
        For files that cannot be read, and columns whose roles cannot be determined.

    Examples
    --------
    >>> log = read(pl.DataFrame({"uid": ["a", "b"], "movieId": [1, 2], "rating": [5, 3]}))
    >>> log.frame.columns
    ['user', 'item', 'value']
    """
    if isinstance(columns, str):
        columns = parse_columns(columns)
    if count is not None:
        return replace(read(source, columns=columns, name=name), count=check_count_of(count, where="read"))
    if isinstance(source, Interactions):
        return _again(source, columns, name)
    if is_table(source):
        label = name or "log"
        return _named_roles(as_polars(source, where=label), columns, label)
    path = locate(source)
    label = name or (path.name if path.is_dir() else stem(path))
    with _opened(path) as inside:
        return _read_folder(inside, columns, label) if inside.is_dir() else _read_file(inside, columns, label)


def read_pair(
    log: Any, unbiased: Any = None, *, columns: ColumnMap | str | None = None
) -> tuple[Interactions, Interactions]:
    """A biased log and ratings without selection bias: two sources, or one that holds both (as Coat or CM100k).

    Of a data set that holds both, the log is its biased part and `unbiased` its unbiased one, wherever it is given.

    >>> read_pair(pl.DataFrame({"user": [1], "item": [1]}))
    Traceback (most recent call last):
    trueval.errors.DefinitionError: the split unbiased needs a second table
    ...
    """
    named = read_columns(columns, log=log, mar=unbiased)
    own, other = columns_of(named, "log") or None, columns_of(named, "mar") or None
    whole = _read_both(log)
    if unbiased is None and whole is None:
        raise DefinitionError(
            "the split unbiased needs a second table",
            where="split unbiased",
            found="no mar",
            do="add mar=… (--mar), or give the folder of " + ", ".join(_WITH_BOTH),
        )
    biased = read(log, columns=own) if whole is None else whole[0]
    if unbiased is None:
        assert whole is not None
        return biased, whole[1]
    both = _read_both(unbiased)
    return biased, read(unbiased, columns=other) if both is None else both[1]


def _read_both(source: Any) -> tuple[Interactions, Interactions] | None:
    """Both parts of a data set that has them."""
    if not isinstance(source, str | Path):
        return None
    path = locate(source)
    with _opened(path) as inside:
        match = layout_of(inside)
        if match is None or match[0].unbiased is None:
            return None
        with reading(path, what=match[0].name):
            return match[0].unbiased(match[1], path.name if path.is_dir() else stem(path))


@contextmanager
def _opened(path: Path) -> Iterator[Path]:
    """A path as it is; an archive unpacked for the while, as its folder or its only file."""
    if path.is_dir() or not path.name.lower().endswith(ARCHIVES):
        yield path
        return
    place = _place_to_unpack(path)
    folder = Path(place.name) / "content"
    try:
        unpack(path, folder, file_name=path.name)
        files = [entry for entry in folder.iterdir() if entry.name not in OF_SYSTEMS]
        yield files[0] if len(files) == 1 and files[0].is_file() else folder
    except TruevalError as error:
        # Messages name the archive: nobody knows the folder, which is gone by then.
        where, found, do = (part.replace(str(folder), str(path)) for part in (error.where, error.found, error.do))
        raise type(error)(error.what, where=where, found=found, do=do) from error
    finally:
        place.cleanup()


def _place_to_unpack(path: Path) -> tempfile.TemporaryDirectory[str]:
    do = "free space, or set TMPDIR to a folder that can be written"
    with writing(path, what="the archive could not be unpacked", do=do):
        return tempfile.TemporaryDirectory(prefix="trueval-", ignore_cleanup_errors=True)


def locate(source: Any) -> Path:
    """The path of a file, a folder, or a data set in the data home.

    >>> locate(3)
    Traceback (most recent call last):
    trueval.errors.DataError: a log cannot be read from this object
      where: source
      found: int
      do:    give a DataFrame, an Arrow table, a path or the name of a data set
    """
    if not isinstance(source, str | Path):
        raise DataError(
            "a log cannot be read from this object",
            where="source",
            found=type(source).__name__,
            do="give a DataFrame, an Arrow table, a path or the name of a data set",
        )
    path = usable_path(source)
    if path_exists(path):
        check_not_special(path)
        return path
    kept = data_home() / str(source)
    if path.name == str(source) and path_exists(kept):
        return kept
    raise _missing(path, str(source))


def _missing(path: Path, source: str) -> DataError:
    if source in CATALOGUE:
        return DataError(
            "the data set has not been fetched",
            where=source,
            found=f"no folder {path} and no {data_home() / source}",
            do=f"trueval data get {source}",
        )
    siblings = [entry.name for entry in entries(path.parent) if entry.name != path.name]
    known = siblings if path.suffix else [*siblings, *CATALOGUE]
    hint = suggest(path.name, known)
    do = hint if hint.startswith("did") else "check the path; known data sets: trueval data list"
    return DataError("there is no such file or data set", where=source, found=describe_absence(path), do=do)


def _again(log: Interactions, columns: ColumnMap | None, name: str | None) -> Interactions:
    if columns is None and name in (None, log.name):
        return log
    frame = _renamed(log.frame, columns, log.name) if columns else log.frame
    return Interactions.of(frame, name=name or log.name, users=log.users, items=log.items, count=log.count)


def _renamed(frame: pl.DataFrame, columns: ColumnMap | None, where: str) -> pl.DataFrame:
    found = find_roles(frame.columns, columns, roles=LOG_ROLES, where=where)
    return frame.rename(renaming(frame.columns, found, LOG_ROLES))


def _named_roles(frame: pl.DataFrame, columns: ColumnMap | None, name: str) -> Interactions:
    return _checked(_renamed(frame, columns, name), name)


def _checked(frame: pl.DataFrame, name: str) -> Interactions:
    for role in ("user", "item"):
        check_id_type(frame, role, where=name)
    with reading(name, what="a log"):
        return Interactions.of(frame, name=name)


def _read_folder(folder: Path, columns: ColumnMap | None, name: str) -> Interactions:
    match = layout_of(folder)
    if match is not None:
        with reading(folder, what=match[0].name):
            log = match[0].read(match[1], name)
        return _again(log, columns, name)
    return _read_file(folder, columns, name)


def _read_file(path: Path, columns: ColumnMap | None, name: str) -> Interactions:
    # The columns of a known file are known, unless others are named; some may still be declared absent.
    layout = log_layout(path) if all(column in (None, "") for column in (columns or {}).values()) else None
    if layout is not None and layout.read_log is not None:
        with reading(path, what=layout.name):
            log = layout.read_log(path, name)
        return _again(log, columns, name)
    check_fits(path, row_bytes=8, do="keep only the columns that are needed, or fewer rows; write it as parquet")
    frame = read_table(path, columns, roles=LOG_ROLES)
    return _checked(settled(frame) if ids_are_text(path) else frame, name)
