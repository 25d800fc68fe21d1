"""Parts in a folder: parquet files and a manifest, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from trueval.data.interactions import Interactions
from trueval.data.writing import whole_folder
from trueval.errors import DataError, OutputError
from trueval.splits.leakage import leakage
from trueval.splits.parts import Parts

_MANIFEST = "split.json"


def save_parts(
    parts: Parts | Sequence[Parts],
    folder: str | Path,
    *,
    log: Interactions | None = None,
    force: bool = False,
) -> Path:
    """Write parts into a new folder (several into `fold-1`, `fold-2`… inside it).

    An existing folder is left alone, unless it is empty or, with `force`, holds an earlier split.

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
    _check_free(folder, force=force)
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
    told = {"how": dict(parts.how), "count": parts.train.count, "counts": parts.report()}
    told["leakage"] = leakage(parts).as_dict()
    _write_json(place, {**source, **told, "fingerprints": own})


def _write_json(place: Path, told: dict[str, Any]) -> None:
    (place / _MANIFEST).write_text(json.dumps(told, indent=1, default=str) + "\n", encoding="utf-8")


def _check_free(folder: Path, *, force: bool) -> None:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    ours = folder.is_dir() and (folder / _MANIFEST).exists()
    if force and ours:
        return
    found = "a split made earlier" if ours else "a folder with other files" if folder.is_dir() else "a file"
    raise OutputError(
        "there is already something at the output folder",
        where=str(folder),
        found=found,
        do="use force (--force) to replace it, or another folder" if ours and not force else "use another folder",
    )


def load_parts(folder: str | Path) -> Parts:
    """Read parts back from a folder written by `save_parts` or `trueval split` (see there)."""
    folder = Path(folder)
    told = _read_manifest(folder)
    if "folds" in told:
        raise DataError(
            "the folder holds several splits",
            where=str(folder),
            found=", ".join(told["folds"]),
            do=f"load one of them, for example {folder / told['folds'][0]}",
        )
    tables = {path.stem: _read_table(path) for path in sorted(folder.glob("*.parquet"))}
    for name in ("train", "validation", "test", "observed", "dropped"):
        rows, found = told.get("counts", {}).get(name, 0), len(tables.get(name, ()))
        if rows != found:
            raise DataError(
                f"{name}.parquet does not have the rows that {_MANIFEST} tells of",
                where=str(folder),
                found=f"{found:,} rows instead of {rows:,}",
                do="make the split again",
            )
    side: dict[str, Any] = {name: tables.get(name) for name in ("users", "items")}
    side["count"] = told.get("count", "users")
    parts = {
        name: _as_written(Interactions.of(tables[name], name=f"{folder.name}, {name}", **side), tables[name])
        for name in ("train", "validation", "test", "observed")
        if name in tables
    }
    candidates = tables["candidates"]["item"] if "candidates" in tables else None
    return Parts(**parts, dropped=tables.get("dropped"), candidates=candidates, how=told["how"])


def saved_parts(test: str | Path) -> Parts | None:
    """The parts that a test file was saved with by `save_parts`; None for other files."""
    path = Path(test)
    return load_parts(path.parent) if path.name == "test.parquet" and (path.parent / _MANIFEST).is_file() else None


def _as_written(part: Interactions, table: pl.DataFrame) -> Interactions:
    """Times in the type they were written in: those of a part may happen to be whole where others are not."""
    if not part.has("time"):
        return part
    return part.keep(part.frame.with_columns(pl.col("time").cast(table.schema["time"])))


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        told = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise DataError(
            "this is not a folder written by trueval split",
            where=str(folder),
            found=f"{_MANIFEST}: {problem}",
            do="make one with trueval split DATA --how … -o DIR",
        ) from problem
    return told


def _read_table(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as problem:
        raise DataError(
            "the file could not be read", where=str(path), found=str(problem), do="make the split again"
        ) from problem
