"""Folders with a log that says which of their rows count: tables of Delta and Iceberg are read, others refused.

Rows that were overwritten or deleted stay in the files of such a folder, so its files are not the rows of the table.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from trueval.data.failures import FAILURES, first_line
from trueval.data.places import entries
from trueval.errors import DataError

DELTA, ICEBERG = "a Delta table", "an Iceberg table"
_DELTA_LOG, _HUDI_LOG = "_delta_log", ".hoodie"
# What tells such a table where folders cannot be listed.
LOG_FILES = {f"{_DELTA_LOG}/*.json": DELTA, "metadata/*.metadata.json": ICEBERG, f"{_HUDI_LOG}/*": "a Hudi table"}
_PAIMON = {"manifest", "schema", "snapshot"}
_HIVE = re.compile(r"(delete_)?delta_\d{7,}_\d{7,}(_\d+)?|base_\d{7,}(_v\d+)?")
# Of a table, in the order of versions: 00003-….metadata.json or v3.metadata.json.
_METADATA = re.compile(r"(?:v(\d+)|(\d+)-[0-9a-fA-F-]{36})(\.gz)?\.metadata\.json(\.gz)?")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
# Entries of logs are numbered, or lists of files.
_ENTRY = re.compile(r"\d+(\.\w+)*|.*\.(json|avro|manifest|txn)")
_NUMBERED = re.compile(r"\d{4,}(\.\w+)*")
_NO_LOGS = ("_temporary", "_impala_insert_staging")  # what is written there was never finished
_PARTS = "write its current rows as parquet into another folder, with what wrote the table, and give that folder"


def scan_logged(folder: Path) -> pl.LazyFrame | None:
    """The current rows of a table with a log; None for a folder without one. Logs that cannot be read are refused."""
    kind = _log_in(folder, *_contents(folder))
    if kind is None:
        check_whole(folder)
        return None
    if kind == DELTA:
        return _scan_delta(folder)
    if kind == ICEBERG:
        return scan_iceberg(_newest_metadata(folder))
    raise _unreadable(folder, kind)


def has_log(path: Path) -> bool:
    """Whether a folder is a table of a kind that is read by its log.

    >>> has_log(Path("no/such/folder"))
    False
    """
    return path.is_dir() and _log_in(path, *_contents(path)) in (DELTA, ICEBERG)


def is_iceberg_metadata(path: Path) -> bool:
    """Whether a file tells of a version of an Iceberg table.

    >>> is_iceberg_metadata(Path("v3.metadata.json")), is_iceberg_metadata(Path("genres.metadata.json"))
    (True, False)
    """
    return _METADATA.fullmatch(path.name) is not None


def check_parts_alone(place: Path, folders: list[str], files: list[str]) -> None:
    """Refuse a folder of parts, or one inside it, that is a table with a log."""
    kind = _log_in(place, folders, files)
    if kind in (DELTA, ICEBERG):
        raise DataError(
            "a folder of parts holds a table with a log of its own", where=str(place), found=kind,
            do=f"give {place} alone, or move it elsewhere",
        )  # fmt: skip
    if kind is not None:
        raise _unreadable(place, kind)


def _contents(folder: Path) -> tuple[list[str], list[str]]:
    folders: list[str] = []
    files: list[str] = []
    for entry in entries(folder):
        (folders if entry.is_dir() else files).append(entry.name)
    return folders, files


def _log_in(place: Path, folders: list[str], files: list[str]) -> str | None:
    """What a folder is by the log in it."""
    if (kind := _known_log(place, set(folders))) is not None:
        return kind
    if any(_HIVE.fullmatch(name) for name in folders):
        return "a transactional table of Hive"
    if any(name.startswith("ducklake-") and name.endswith(".parquet") for name in files):
        return "the data of a DuckLake table"
    for name in folders:
        if name.startswith("__") or name in _NO_LOGS or name[0] not in "._":
            continue
        # programs of all kinds keep settings in hidden folders, but do not number them
        entry_of = _ENTRY if name[0] == "_" else _NUMBERED
        if any(entry_of.fullmatch(entry.name) for entry in entries(place / name)):
            return f"a table with the log {name}"
    return _commits(place, files)


def _known_log(place: Path, folders: set[str] | None = None) -> str | None:
    def there(name: str) -> bool:
        return (place / name).is_dir() if folders is None else name in folders

    if there(_DELTA_LOG):
        return DELTA
    if there("metadata") and any(map(is_iceberg_metadata, entries(place / "metadata"))):
        return ICEBERG
    if there(_HUDI_LOG):
        return "a Hudi table"
    if all(map(there, _PAIMON)) and any(entry.name[:9] == "snapshot-" for entry in entries(place / "snapshot")):
        return "a Paimon table"
    return None


def _commits(place: Path, files: list[str]) -> str | None:
    """Databricks lists what a job added and removed in _committed_ID; files of a job without one do not count."""
    jobs = {name.removeprefix("_started_") for name in files if name.startswith("_started_")}
    removed: set[str] = set()
    for name in files:
        if name.startswith("_committed_"):
            jobs.discard(name.removeprefix("_committed_"))
            try:
                removed |= set(json.loads((place / name).read_bytes()).get("removed", []))
            except (OSError, ValueError, AttributeError, TypeError):
                return f"a table with the log {name}"
    parts = [name for name in files if name.endswith(".parquet")]
    stale = [name for name in parts if name in removed or any(f"-tid-{job}-" in name for job in jobs)]
    return f"a table whose log leaves out {stale[0]}" if stale else None


def check_whole(path: Path) -> None:
    """Refuse a part of a table, as a partition or a file of it is: the log is above it."""
    for above in path.resolve().parents:
        kind = _known_log(above)
        if kind is not None:
            what = "folder" if path.is_dir() else "file"
            raise DataError(
                f"the {what} is a part of a table, whose log says which rows count", where=str(path),
                found=f"{kind} in {above}",
                do=f"give {above}" if kind in (DELTA, ICEBERG) else _PARTS,
            )  # fmt: skip


def _unreadable(folder: Path, kind: str) -> DataError:
    return DataError(
        "the folder has a log that says which rows count, and this log cannot be read", where=str(folder), found=kind,
        do=_PARTS,
    )  # fmt: skip


@contextmanager
def _library(path: Path, kind: str, extra: str) -> Iterator[None]:
    """Turn whatever a library of table formats raises into an error that names the table."""
    try:
        yield
    except DataError:
        raise
    except ImportError as error:
        raise DataError(
            f"reading {kind} needs the library {extra}", where=str(path), found=f"{error.name or error} is missing",
            do=f"pip install 'trueval[{'delta' if kind == DELTA else 'iceberg'}]', or {_PARTS}",
        ) from error  # fmt: skip
    except (*FAILURES, Exception) as error:  # their own errors have no base in common
        raise DataError(
            f"the folder could not be read as {kind}", where=str(path), found=first_line(error), do=_PARTS
        ) from error


def _scan_delta(folder: Path) -> pl.LazyFrame:
    with _library(folder, DELTA, "deltalake"):
        from deltalake import DeltaTable

        place = folder.resolve()

        class LocalTable(DeltaTable):
            """Names its files as they are on this machine, where deltalake writes a blank in a folder's name as %20."""

            def file_uris(self, *_: Any, **__: Any) -> list[str]:
                return list(map(self.local, super().file_uris()))

            def deletion_vectors(self) -> Any:
                deleted = pl.DataFrame(super().deletion_vectors())
                return deleted.with_columns(pl.Series("filepath", map(self.local, deleted["filepath"]), pl.String))

            def local(self, uri: str) -> str:
                root, uri = (written.removeprefix("file://") for written in (self.table_uri, uri))
                inside = uri.startswith(root)
                return str(_check_local(str(place / uri[len(root) :].lstrip("/")) if inside else uri, folder))

        table = LocalTable(place.as_uri())
        protocol = table.protocol()
        if protocol.min_reader_version == 2 or "columnMapping" in (protocol.reader_features or []):
            raise DataError(
                "the columns of a Delta table have other names in its files", where=str(folder), found="column mapping",
                do=_PARTS,
            )  # fmt: skip
        _check_partitions(table.file_uris(), table.metadata().partition_columns, folder)
        frame = pl.scan_delta(table)
        frame.collect_schema()
        return frame


def _check_partitions(files: list[str], columns: list[str], folder: Path) -> None:
    """Refuse files whose folders do not tell the values of partition columns: these would be read as missing."""
    for column in columns:
        without = [file for file in files if f"/{column}=" not in unquote(file)]
        if without:
            raise DataError(
                f"the folders of a partitioned Delta table do not tell the {column}", where=str(folder),
                found=without[0], do=_PARTS,
            )  # fmt: skip


def _newest_metadata(folder: Path) -> Path:
    """The file of the newest version: it has the highest number."""
    versions: dict[int, list[Path]] = {}
    for entry in entries(folder / "metadata"):
        if match := _METADATA.fullmatch(entry.name):
            versions.setdefault(int(match[1] or match[2]), []).append(entry)
    newest = versions[max(versions)]
    if len(newest) > 1:
        raise DataError(
            "an Iceberg table has two newest versions, of which only its catalog knows the right one",
            where=str(folder), found=", ".join(path.name for path in newest), do=f"give the right one: {newest[0]}",
        )  # fmt: skip
    return newest[0]


def scan_iceberg(metadata: Path) -> pl.LazyFrame:
    """The rows of the version of an Iceberg table that a metadata file describes."""
    with _library(metadata, ICEBERG, "pyiceberg"):
        from pyiceberg.catalog.noop import NoopCatalog
        from pyiceberg.io.pyarrow import PyArrowFileIO
        from pyiceberg.serializers import FromInputFile
        from pyiceberg.table import StaticTable

        class LocalFiles(PyArrowFileIO):
            """Files of this machine alone, whatever the metadata name."""

            def new_input(self, location: str) -> Any:
                return super().new_input(str(_check_local(location, metadata)))

        files, name = LocalFiles(), str(metadata.resolve())
        described = FromInputFile.table_metadata(files.new_input(name))
        # Properties of a table may name classes to import: only the names of columns are taken from them.
        mapping = {key: value for key, value in described.properties.items() if key == "schema.name-mapping.default"}
        described = described.model_copy(update={"properties": mapping})
        table = StaticTable(("table", name), described, name, files, NoopCatalog("table"))
        for task in table.scan().plan_files():
            for file in (task.file, *task.delete_files):
                _check_local(file.file_path, metadata)
        # A planner of its own would open the files that the metadata name without this check.
        os.environ["POLARS_ICEBERG_PLANNER"] = "pyiceberg"
        frame = pl.scan_iceberg(table)
        frame.collect_schema()
        return frame


def _check_local(written: str, table: Path) -> Path:
    """The path of a file that a table names, which must be on this machine, and there."""
    address = _ADDRESS.match(written)
    if address and address[1].lower() != "file":
        raise DataError(
            "only files of this machine are read, and the table names an address", where=str(table), found=written,
            do=_PARTS,
        )  # fmt: skip
    plain = "/" + written[address.end() :].lstrip("/") if address else written
    # In an address % may stand for another character, in a path it is one like any other.
    path = next((path for path in (Path(plain), Path(unquote(plain))) if path.exists()), None)
    if path is None:
        raise DataError(
            "a file that the table names is not there", where=str(table), found=written,
            do="put the table back to where it was written, or " + _PARTS,
        )  # fmt: skip
    return path
