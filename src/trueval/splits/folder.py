"""Parts in a folder: parquet files and a manifest, written whole or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from trueval.data.interactions import Interactions
from trueval.data.json_values import parse_json
from trueval.data.manifests import read_manifest
from trueval.data.tables import read_parquet
from trueval.data.writing import whole_folder, writing
from trueval.errors import DataError, OutputError
from trueval.splits.leakage import leakage
from trueval.splits.parts import TESTED_ON, Parts

_MANIFEST = "split.json"
_TABLES = ("train", "validation", "test", "observed", "dropped", "candidates", "users", "items")


def save_parts(
    parts: Parts | Sequence[Parts],
    folder: str | Path,
    *,
    log: Interactions | None = None,
    force: bool = False,
) -> Path:
    """Write parts into a new folder (several into `fold-1`, `fold-2`… inside it).

    An existing folder is left alone, unless it is empty or, with `force`, holds an earlier split and nothing else. It
    must not be one that the log was read from: parts do not know their files.

    >>> import tempfile
    >>> rows = pl.DataFrame({"user": [1, 1], "item": [1, 2]})
    >>> one = Parts(Interactions.of(rows[:1]), Interactions.of(rows[1:]), how={"how": "by hand"})
    >>> with tempfile.TemporaryDirectory() as place:
    ...     written = save_parts(one, Path(place) / "split")
    ...     sorted(path.name for path in written.iterdir()), len(load_parts(written).test)
    (['split.json', 'test.parquet', 'train.parquet'], 1)
    """
    folder = Path(folder)
    source = {} if log is None else {"log": log.name, "fingerprint": log.fingerprint()}
    check_free(folder, force=force)
    what = "the split could not be written; nothing was left behind"
    with whole_folder(folder, what=what, do="check the folder, its permissions and the free space") as place:
        if isinstance(parts, Parts):
            _save_one(parts, place, source)
        else:
            for number, one in enumerate(parts, start=1):
                _save_one(one, place / f"fold-{number}", source)
            folds = [f"fold-{number}" for number in range(1, len(parts) + 1)]
            _write_json(place, {**source, "how": dict(parts[0].how), "folds": folds})
    return folder


def _save_one(parts: Parts, place: Path, source: dict[str, Any]) -> None:
    place.mkdir(exist_ok=True)
    tables = {
        name: part.frame
        for name in ("train", "validation", "test", "observed")
        if (part := getattr(parts, name)) is not None
    }
    candidates = None if parts.candidates is None else parts.candidates.alias("item").to_frame()
    extra = {
        "dropped": parts.dropped,
        "candidates": candidates,
        "users": parts.train.users,
        "items": parts.train.items,
    }
    for name, table in (tables | extra).items():
        if table is not None:
            table.write_parquet(place / f"{name}.parquet")
    own = {name: getattr(parts, name).fingerprint() for name in ("train", "test")}
    manifest = {"how": dict(parts.how), "count": parts.train.count, "counts": parts.report()}
    manifest["leakage"] = leakage(parts).as_dict()
    _write_json(place, {**source, **manifest, "fingerprints": own})


def _write_json(place: Path, manifest: dict[str, Any]) -> None:
    (place / _MANIFEST).write_text(json.dumps(manifest, indent=1, default=str) + "\n", encoding="utf-8")


def check_free(folder: Path, *, force: bool) -> None:
    """Refuse a folder that parts cannot be written to: it is replaced as a whole, so nothing else may be in it."""
    with writing(folder, what="the output folder could not be written"):
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return
        ours = folder.is_dir() and (folder / _MANIFEST).exists()
        others = [entry.name for entry in folder.iterdir() if not _is_of_a_split(entry)] if ours else []
    if force and ours and not others:
        return
    found = "a split made earlier" if ours else "a folder with other files" if folder.is_dir() else "a file"
    raise OutputError(
        "there is already something at the output folder",
        where=str(folder),
        found=f"{found}, and other files: {', '.join(others[:5])}" if others else found,
        do="move the other files, or use another folder"
        if others
        else "use force (--force) to replace it, or another folder"
        if ours
        else "use another folder",
    )


def _is_of_a_split(entry: Path) -> bool:
    """Whether trueval may have written a file or folder as part of a split."""
    if re.fullmatch(r"fold-\d+", entry.name) and entry.is_dir():
        return all(_is_of_a_split(inner) for inner in entry.iterdir())
    return entry.name in (_MANIFEST, *(f"{name}.parquet" for name in _TABLES)) and entry.is_file()


def load_parts(folder: str | Path) -> Parts:
    """Read parts back from a folder written by `save_parts` or `trueval split` (see there)."""
    folder = Path(folder)
    what, do = "this is not a folder written by trueval split", "make one with trueval split DATA --how … -o DIR"
    manifest = read_manifest(folder / _MANIFEST, _parse_manifest, what=what, do=do)
    if "folds" in manifest:
        raise DataError(
            "the folder contains several splits",
            where=str(folder),
            found=", ".join(manifest["folds"]),
            do=f"load one of them, for example {folder / manifest['folds'][0]}",
        )
    tables = {path.stem: read_parquet(path, do="make the split again") for path in sorted(folder.glob("*.parquet"))}
    for name in ("train", "validation", "test", "observed", "dropped"):
        rows, found = manifest.get("counts", {}).get(name, 0), len(tables.get(name, ()))
        if rows != found:
            raise DataError(
                f"{name}.parquet does not have the number of rows that {_MANIFEST} states",
                where=str(folder),
                found=f"{found:,} rows instead of {rows:,}",
                do="make the split again",
            )
    side: dict[str, Any] = {name: tables.get(name) for name in ("users", "items")}
    side["count"] = manifest.get("count", "users")
    parts = {
        name: _as_written(Interactions.of(tables[name], name=f"{folder.name}, {name}", **side), tables[name])
        for name in ("train", "validation", "test", "observed")
        if name in tables
    }
    candidates = tables["candidates"]["item"] if "candidates" in tables else None
    return Parts(**parts, dropped=tables.get("dropped"), candidates=candidates, how=manifest["how"])


def saved_parts(test: str | Path) -> Parts | None:
    """The parts that a file was saved with by `save_parts`, tested on that file; None for other files."""
    path = Path(test)
    if path.name not in [f"{name}.parquet" for name in TESTED_ON] or not (path.parent / _MANIFEST).is_file():
        return None
    return load_parts(path.parent).tested_on(path.stem)


def _as_written(part: Interactions, table: pl.DataFrame) -> Interactions:
    """Times in the type they were written in: those of a part may happen to be whole where others are not."""
    if not part.has("time"):
        return part
    return part.keep(part.frame.with_columns(pl.col("time").cast(table.schema["time"])))


def _parse_manifest(text: str) -> dict[str, Any]:
    """The manifest of a split; a ValueError for anything else."""
    manifest = parse_json(text)
    if not isinstance(manifest, dict):
        raise ValueError("not an object")
    folds = manifest.get("folds")
    if folds is not None and not (isinstance(folds, list) and folds and all(isinstance(name, str) for name in folds)):
        raise ValueError("folds are not a list of names")
    if folds is None and not (isinstance(manifest.get("how"), dict) and isinstance(manifest.get("counts", {}), dict)):
        raise ValueError("it does not say how the split was made")
    return manifest
