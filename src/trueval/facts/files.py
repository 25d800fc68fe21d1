"""Facts in a folder: parquet tables that any tool reads, written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trueval.arguments import checked
from trueval.data.checksummed_json import file_checksum, seal, unseal
from trueval.data.failures import reading
from trueval.data.ids import Ids
from trueval.data.manifests import read_manifest
from trueval.data.tables import read_parquet
from trueval.data.writing import whole_folder
from trueval.errors import DataError, OutputError
from trueval.facts.ranking_facts import RankingFacts

_MANIFEST = "facts.json"
_VERSION = 2
_SINGLE = ("catalogue", "exact", "ties", "counted", "highest", "one_relevant", "condensed", "label")
_BY_UNIT = ("targets", "stratum", "pool", "listed")
_BY_ROW = ("item", "value", "relevant", "rank", "above", "tied", "score", "list_rank")
_BY_PLACE = ("list_item", "list_same")
_OPTIONAL = ("stratum", "pool", "listed", "score", "list_rank", "list_same")
_COLUMNS = {
    "units": ("user", *(name for name in (*_BY_UNIT, *_BY_ROW, *_BY_PLACE) if name not in _OPTIONAL)),
    "users": ("user",),
    "items": ("item",),
}


@checked
def save_facts(facts: RankingFacts, folder: str | Path) -> Path:
    """Write facts into a folder, in place of facts written there earlier; any other content is left alone.

    `units.parquet` has one row per unit: the user's id, sizes, and as lists the judged items (`item`, a code,
    `value`, `relevant`, `rank`…) and the recommended items (`list_item`). Item codes are rows of `items.parquet`; -1 is
    a place that cannot count (see `invalid` of `evaluate_run`).

    Parameters
    ----------
    facts : RankingFacts
        The facts of a system, as `Result.facts` has them.
    folder : path
        The folder to write.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    TruevalError
        Where the folder holds other files, or cannot be written; nothing is then left behind.

    Examples
    --------
    >>> import tempfile
    >>> from trueval.metrics.measure import toy_facts
    >>> with tempfile.TemporaryDirectory() as place:
    ...     written = save_facts(toy_facts(["a", "b"], {"b"}), Path(place) / "facts")
    ...     sorted(path.name for path in written.iterdir()), load_facts(written).rank.tolist()
    (['facts.json', 'items.parquet', 'units.parquet', 'users.parquet'], [2])
    """
    folder = Path(folder)
    _check_free(folder)
    manifest = {name: getattr(facts, name) for name in _SINGLE}
    manifest = {"version": _VERSION, **manifest, "units": len(facts), "splits": facts.splits.tolist()}
    what = "the facts could not be written; nothing was left behind"
    with whole_folder(folder, what=what, do="choose a folder that can be written, with enough free space") as place:
        _unit_table(facts).write_parquet(place / "units.parquet")
        facts.users.values.alias("user").to_frame().write_parquet(place / "users.parquet")
        facts.items.values.alias("item").to_frame().write_parquet(place / "items.parquet")
        checksums = {name: file_checksum(place / f"{name}.parquet") for name in _COLUMNS}
        (place / _MANIFEST).write_text(seal({**manifest, "checksums": checksums}), encoding="utf-8")
    return folder


def _check_free(folder: Path) -> None:
    if not folder.exists():
        return
    own = {_MANIFEST, *(f"{name}.parquet" for name in _COLUMNS)}
    names = {entry.name for entry in folder.iterdir()} if folder.is_dir() else {""}
    if names and (_MANIFEST not in names or not names <= own):
        raise OutputError(
            "there is already something else at the output folder",
            where=str(folder),
            found="a folder with other files" if folder.is_dir() else "a file",
            do="use another folder",
        )


def _unit_table(facts: RankingFacts) -> pl.DataFrame:
    single = {name: getattr(facts, name) for name in _BY_UNIT if getattr(facts, name) is not None}
    rows = {name: getattr(facts, name) for name in _BY_ROW if getattr(facts, name) is not None}
    table = pl.DataFrame({"user": facts.users.decode(facts.unit_user), **single})
    list_columns = {name: getattr(facts, name) for name in _BY_PLACE if getattr(facts, name) is not None}
    lists = _nested(rows, facts.unit, len(facts)).hstack(_nested(list_columns, facts.list_unit, len(facts)))
    return table.hstack(lists)


def _nested(columns: dict[str, np.ndarray], unit: np.ndarray, units: int) -> pl.DataFrame:
    """One row per unit with the values of each column as a list; units without rows get an empty one."""
    flat = pl.DataFrame({"unit": unit.astype(np.int32), **columns})
    lists = flat.group_by("unit", maintain_order=True).agg(pl.all())
    every = pl.DataFrame({"unit": np.arange(units, dtype=np.int32)})
    return every.join(lists, on="unit", how="left", maintain_order="left").drop("unit").fill_null([])


@checked
def load_facts(folder: str | Path) -> RankingFacts:
    """Read facts back from a folder written by `save_facts`, equal to the last bit.

    Parameters
    ----------
    folder : path
        The folder.

    Returns
    -------
    RankingFacts
        The facts.

    Raises
    ------
    TruevalError
        For a folder of something else, and for files that have changed since they were written.

    Examples
    --------
    >>> import tempfile
    >>> from trueval.metrics.measure import toy_facts
    >>> with tempfile.TemporaryDirectory() as place:
    ...     load_facts(save_facts(toy_facts(["a", "b", "c"], {"c"}), Path(place) / "facts")).rank.tolist()
    [3]
    """
    folder = Path(folder)
    what, do = "this is not a folder of facts", "write one with save_facts"
    manifest = read_manifest(folder / _MANIFEST, _parse_manifest, what=what, do=do)
    tables = {
        name: _read_table(folder / f"{name}.parquet", needed, manifest["checksums"].get(name))
        for name, needed in _COLUMNS.items()
    }
    units = tables["units"]
    users, items = Ids(tables["users"]["user"]), Ids(tables["items"]["item"])
    if len(units) != manifest["units"]:
        found = f"{len(units):,} rows instead of {manifest['units']:,}"
        raise DataError("units of the facts are missing", where=str(folder), found=found, do="save the facts again")
    by_unit: dict[str, Any] = {name: units[name].to_numpy(writable=True) for name in _BY_UNIT if name in units.columns}
    by_row: dict[str, Any] = {name: _flat(units[name]) for name in (*_BY_ROW, *_BY_PLACE) if name in units.columns}
    return RankingFacts(
        unit_user=users.codes(units["user"]),
        start=_starts(units["item"]),
        list_start=_starts(units["list_item"]),
        users=users,
        items=items,
        splits=np.array(manifest["splits"], np.int64),
        **{name: manifest[name] for name in _SINGLE},
        **by_unit,
        **by_row,
    )


def _flat(lists: pl.Series) -> np.ndarray:
    return lists.filter(lists.list.len() > 0).explode().to_numpy(writable=True)


def _starts(lists: pl.Series) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lists.list.len().to_numpy(), dtype=np.int64)])


def _parse_manifest(text: str) -> dict[str, Any]:
    """The manifest of saved facts; a ValueError for anything else."""
    if f'"version": {_VERSION},' not in text:
        raise ValueError(f"not version {_VERSION} of the format")
    manifest = unseal(text)
    if missing := {*_SINGLE, "units", "splits", "checksums"} - manifest.keys():
        raise ValueError("no " + ", ".join(sorted(missing)))
    return manifest


def _read_table(path: Path, needed: tuple[str, ...], checksum: str) -> pl.DataFrame:
    with reading(path, what="parquet", do="save the facts again"):
        if file_checksum(path) != checksum:
            found = "another checksum than when it was written"
            raise DataError("the file has changed", where=str(path), found=found, do="save the facts again")
        table = read_parquet(path, do="save the facts again")
    if missing := set(needed) - set(table.columns):
        found = "no " + ", ".join(sorted(missing))
        raise DataError("columns of the facts are missing", where=str(path), found=found, do="save the facts again")
    return table
