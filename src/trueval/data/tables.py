"""Files of any known format as lazy tables whose columns carry the role names."""

from __future__ import annotations

import glob
import gzip
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from trueval.data.column_roles import TableRoles, find_roles, renaming
from trueval.data.delimited import scan_delimited
from trueval.data.failures import FAILURES, empty, reading
from trueval.data.logged_tables import check_parts_alone, check_whole, is_iceberg_metadata, scan_iceberg, scan_logged
from trueval.data.places import entries
from trueval.data.role_names import ColumnMap, looks_like
from trueval.data.size_limits import most_bytes, too_large
from trueval.data.text_lines import first_lines, numbers_where_possible, split_lines
from trueval.errors import DataError

_TEXT = (".csv", ".tsv", ".txt", ".dat", ".data", ".base", ".test")
_PARQUET, _JSON = (".parquet", ".pq"), (".jsonl", ".ndjson")
_TREC = {
    ".qrels": ("user", "iteration", "item", "value"),
    ".run": ("user", "q0", "item", "rank", "score", "tag"),
}
SUFFIXES = (*_TEXT, *_PARQUET, *_JSON, ".inter", *_TREC)
_COMPRESSED = (".gz", ".zst")
_MANY_OTHERS = 20_000  # a folder with so many files of other kinds holds no table


def table_suffix(path: Path) -> str:
    """The suffix that says the format, below a compression suffix.

    >>> table_suffix(Path("recs.csv.gz"))
    '.csv'
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def ids_are_text(path: Path) -> bool:
    """Whether a format has no types, so that 7 and "7" look the same in it.

    >>> ids_are_text(Path("log.csv.gz")), ids_are_text(Path("log.parquet"))
    (True, False)
    """
    return not path.is_dir() and table_suffix(path) in (*_TEXT, ".inter", *_TREC)


def stem(path: Path) -> str:
    """The name of a table: its file name without format and compression; other dots are part of the name.

    >>> stem(Path("runs/bpr.v2.csv.gz")), stem(Path("runs/bpr.v2"))
    ('bpr.v2', 'bpr.v2')
    """
    name = path.name
    for known in ((*_COMPRESSED, ".zip"), (*SUFFIXES, ".ascii")):
        name = next((name[: -len(suffix)] for suffix in known if name.lower().endswith(suffix)), name)
    return name or path.name


def scan_table(path: Path, columns: ColumnMap | None = None, *, roles: TableRoles, exact: bool = False) -> pl.LazyFrame:
    """One file, a folder of parquet parts or a table with a log, with its roles renamed and its other columns kept.

    Ids of text formats are strings here (see `id_text`); `exact` is explained in `scan_delimited`.
    """
    if path.is_dir():
        return _renamed(scan_parts(path), columns, roles, str(path))
    if is_iceberg_metadata(path):
        return _renamed(scan_iceberg(path), columns, roles, str(path))
    suffix = table_suffix(path)
    if suffix in _TEXT:
        return scan_delimited(path, columns, roles=roles, suffix=suffix, exact=exact)
    if suffix in _PARQUET:
        return _renamed(_scan_parquet(path), columns, roles, str(path))
    if suffix in _JSON:
        return _renamed(_scan_json(path), columns, roles, str(path))
    if suffix == ".inter":
        return _renamed(scan_atomic(path, columns), columns, roles, str(path))
    if suffix in _TREC:
        return _renamed(_trec(path, _TREC[suffix]), columns, roles, str(path))
    raise DataError(
        "unknown file format",
        where=str(path),
        found=f"suffix {path.suffix!r}",
        do="use " + " ".join(sorted(SUFFIXES)) + " (also .gz, .zst)",
    )


def read_table(
    path: Path, columns: ColumnMap | None = None, *, roles: TableRoles, what: str = "a table"
) -> pl.DataFrame:
    """All rows of `scan_table`: whatever fails is an error that names the file."""
    with reading(path, what=what):
        try:
            return scan_table(path, columns, roles=roles).collect()
        except pl.exceptions.ComputeError:
            # A later row does not fit the types of the first ones: look at all rows before deciding.
            return scan_table(path, columns, roles=roles, exact=True).collect()


def column_names(path: Path, columns: ColumnMap | None = None, *, roles: TableRoles) -> list[str]:
    """The columns of `scan_table`."""
    with reading(path, what="a table"):
        return scan_table(path, columns, roles=roles).collect_schema().names()


def read_parquet(path: Path, *, what: str = "parquet", do: str = "check the file, or export it again") -> pl.DataFrame:
    """One parquet file, whatever characters its name has."""
    with reading(path, what=what, do=do):
        return pl.read_parquet(path, glob=False, hive_partitioning=False)


def _renamed(frame: pl.LazyFrame, columns: ColumnMap | None, roles: TableRoles, where: str) -> pl.LazyFrame:
    with reading(where, what="a table"):
        names = frame.collect_schema().names()
    if not names:
        raise empty(where)
    return frame.rename(renaming(names, find_roles(names, columns, roles=roles, where=where), roles))


def scan_parts(folder: Path) -> pl.LazyFrame:
    """A folder of parquet part files, as Spark and other engines write them, or a table with a log."""
    with reading(folder, what="a folder"):
        os.listdir(folder)  # one without permission is not an empty one
    if (logged := scan_logged(folder)) is not None:
        return logged
    parts = parquet_parts(folder)
    if not parts:
        raise DataError(
            "the folder contains no known table",
            where=str(folder),
            found=", ".join(entry.name for entry in entries(folder)[:8]) or "an empty folder",
            do="give a file, a folder of .parquet parts, or the folder of a known data set",
        )
    named = sorted({"train.parquet", "test.parquet"} & {part.name for part in parts})
    if named:
        raise DataError(
            "the folder contains a split, not the parts of one table",
            where=str(folder),
            found=", ".join(named),
            do=f"give one of its files, e.g. {folder / named[0]}",
        )
    with reading(folder, what="parquet parts"):
        return pl.scan_parquet(parts, hive_partitioning=any("=" in part.parent.name for part in parts), glob=False)


def parquet_parts(folder: Path) -> list[Path]:
    """Part files below a folder; names that begin with . or _ belong to the engine that wrote them.

    A table with a log inside the folder is refused: not all of its parts count.
    """
    parts, others = [], 0
    for place, folders, files in os.walk(folder):
        if Path(place) != folder:
            check_parts_alone(Path(place), folders, files)
        folders[:] = [name for name in folders if name[0] not in "._"]
        found = [name for name in files if name.endswith(".parquet") and name[0] not in "._"]
        parts += [path for name in found if (path := Path(place, name)).is_file()]
        others += len(files) - len(found)
        if others > _MANY_OTHERS + len(parts):  # somebody's home, or the whole machine
            raise DataError(
                "the folder holds too many other files to be a table",
                where=str(folder),
                found=f"over {_MANY_OTHERS:,} files of other kinds",
                do="give a file, or a folder of .parquet parts alone",
            )
    return sorted(parts)


def _scan_parquet(path: Path) -> pl.LazyFrame:
    source: Any = path
    with reading(path, what="parquet"):
        if path.stat().st_size == 0:
            raise empty(path)
        check_whole(path)
        if path.suffix in _COMPRESSED:
            source = io.BytesIO(_unpacked(path))
        return pl.scan_parquet(source, glob=False)


def _unpacked(path: Path) -> bytes:
    if path.suffix == ".gz":
        return _gunzipped(path)
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14
    except ImportError:
        raise DataError(
            "parquet inside zstd needs Python 3.14",
            where=str(path),
            found="a .parquet.zst file",
            do="unpack it first (parquet is already compressed inside)",
        ) from None
    return bytes(zstd.decompress(path.read_bytes()))


def _gunzipped(path: Path) -> bytes:
    packed, pieces, total = path.stat().st_size, [], 0
    with gzip.open(path) as opened:
        while piece := opened.read(1 << 24):
            pieces.append(piece)
            total += len(piece)
            if total > most_bytes(packed):
                raise too_large(path, packed)
    return b"".join(pieces)


def _scan_json(path: Path) -> pl.LazyFrame:
    with reading(path, what="one JSON object per line"):
        if path.stat().st_size == 0:
            raise empty(path)
        # This reader takes *, ? and [ in a name for a pattern, whatever is asked.
        name = glob.escape(str(path)) if glob.has_magic(str(path)) else path
        return pl.scan_ndjson(name, infer_schema_length=None)


def scan_atomic(path: Path, columns: ColumnMap | None = None) -> pl.LazyFrame:
    """A RecBole atomic file: tab separated, header `name:type`; sequences become lists.

    `token` columns stay text, for they are ids or words; so do times, which may have more digits than a float.
    """
    header = [field.strip().partition(":") for field in first_lines(path)[0].split("\t")]
    names = [name for name, _, _ in header]
    kinds = {name: kind or "token" for name, _, kind in header}
    unknown = [f"{name}:{kind}" for name, kind in kinds.items() if kind not in _ATOMIC]
    if unknown:
        raise DataError(
            "unknown column type in the header",
            where=str(path),
            found=", ".join(unknown),
            do="types are " + ", ".join(_ATOMIC),
        )
    asked = (columns or {}).get("time")
    times = [name for place, name in enumerate(names) if looks_like(name, "time") or asked in (name, place)]
    with reading(path, what="a RecBole atomic file"):
        frame = pl.scan_csv(
            path,
            separator="\t",
            quote_char=None,
            with_column_names=lambda _: names,
            schema_overrides={name: pl.String if name in times else _ATOMIC[kind] for name, kind in kinds.items()},
            glob=False,
        )
    lists = [pl.col(name).str.split(" ") for name, kind in kinds.items() if kind.endswith("_seq")]
    return frame.with_columns(lists)


_ATOMIC = {"token": pl.String, "float": pl.Float64, "token_seq": pl.String, "float_seq": pl.String}


def _trec(path: Path, names: Sequence[str]) -> pl.LazyFrame:
    """Fields between single blanks or tabs go through the csv reader, which is fast; others line by line."""
    lines = first_lines(path)
    types = {name: pl.Float64 if name in ("value", "score") else pl.String for name in names}
    for separator in (" ", "\t"):
        if all(len(line.split(separator)) == len(names) for line in lines):
            try:
                frame = pl.read_csv(
                    path, separator=separator, has_header=False, schema=types, quote_char=None, glob=False
                )
            except FAILURES:
                break
            if not any(column.null_count() for column in frame):
                return numbers_where_possible(frame, leave=("user", "item")).lazy()
    return numbers_where_possible(split_lines(path, names, separator=" "), leave=("user", "item")).lazy()
