"""Results on disk: every user's values with the manifest, so that they can be compared later.

A result is a table of users' values (parquet) that carries its manifest and summary inside (`result_table`); or a
folder with that table as `results.parquet`, and `manifest.json` and `summary.json` beside it to read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from trueval.data.places import path_exists, usable_path
from trueval.errors import DataError, OutputError
from trueval.evaluation.outcome import Evaluation
from trueval.report.commit import finish_commit
from trueval.report.files import write_table, write_whole
from trueval.report.folder import FolderContent, check_folder, write_folders
from trueval.report.render_formats import as_json
from trueval.report.result_table import Changed, read_result_table, write_result_table

TABLE, SUMMARY, MANIFEST = "results.parquet", "summary.json", "manifest.json"
DESIGNS = "designs"  # in the folder of an experiment: a folder for each of its designs


def check_result_folder(folder: Path) -> None:
    """Refuse a folder that holds other things than a result."""
    check_folder(folder, (TABLE, SUMMARY, MANIFEST), marker=MANIFEST)


def save_folders(evaluations: Mapping[str, Evaluation], folder: Path) -> None:
    """Write a result folder for each evaluation, by its name in `folder` ("" is the folder itself): all or nothing."""
    finish_commit(folder)
    others = sorted(place.parent.name for place in folder.glob(f"*/{TABLE}") if place.parent.name not in evaluations)
    if others and any(evaluations) and not any("/" in name for name in evaluations):
        raise OutputError(
            "the folder holds results of other folds or seeds, which would be read together with these",
            where=str(folder),
            found=", ".join(others[:5]),
            do="use another folder, or remove them",
        )
    write_folders(folder, {name: _content(evaluation) for name, evaluation in evaluations.items()})


def _content(evaluation: Evaluation) -> FolderContent:
    return FolderContent(
        {TABLE: lambda path: write_result_table(evaluation, path), SUMMARY: as_json(evaluation) + "\n"},
        marker=MANIFEST,
        manifest=json.loads(json.dumps(evaluation.manifest, default=str)),
    )


def save_per_user(evaluation: Evaluation, path: Path, *, csv_safe: bool = False) -> None:
    """Write users' values in the format of the suffix; a parquet file carries manifest and summary too.

    With `csv_safe`, CSV and TSV hold nothing that a spreadsheet would run.
    """
    if path.suffix.lower() != ".parquet":
        write_table(path, evaluation.per_user(), csv_safe=csv_safe)
    else:
        write_whole(path, lambda target: write_result_table(evaluation, target))


def designs_in(path: Path | str) -> list[Path]:
    """Folders of the designs in the folder of an experiment; none for any other result."""
    finish_commit(Path(path))
    return sorted(folder for folder in Path(path).glob(f"{DESIGNS}/*") if folder.is_dir())


def load_results(path: Path | str) -> dict[str, Evaluation]:
    """Read a result, or a folder of results of several folds or seeds, by the names of their folders.

    Of an experiment with several designs one must be chosen: values of different designs are not comparable.
    """
    path = usable_path(path)
    designs = designs_in(path) if path_exists(path) else []
    if len(designs) > 1:
        raise DataError(
            "the experiment has several designs, whose values cannot be compared",
            where=str(path),
            found=", ".join(folder.name for folder in designs),
            do=f"give one of them, as {designs[0]}; or ask whether they rank systems alike (--agreement)",
        )
    path = designs[0] if designs else path
    inside = sorted(table.parent for table in path.glob(f"*/{TABLE}")) if not (path / TABLE).exists() else []
    return {folder.name: load_result(folder) for folder in inside} or {"": load_result(path)}


def load_result(path: Path) -> Evaluation:
    """Read a result folder, or a table of users' values with its manifest."""
    finish_commit(path)
    table = path / TABLE if path.is_dir() else path
    if not path_exists(table):
        finish_commit(path)  # which waits for a writer that began to replace it just now
    if not path_exists(table):
        found = "the folder has no results.parquet" if path.is_dir() else "nothing there"
        raise DataError(
            "there is no result to read",
            where=str(path),
            found=found,
            do="give a folder of `trueval evaluate -o DIR/`, or a file of `--per-user FILE.parquet`",
        )
    beside = table.parent / MANIFEST
    for _ in range(100):
        before = _stamps(table, beside)
        try:
            return read_result_table(table, beside=beside, where=str(path))
        except Changed:
            finish_commit(path)
            if _stamps(table, beside) == before:  # else a writer replaced the folder between its files
                raise
    return read_result_table(table, beside=beside, where=str(path))


def _stamps(*files: Path) -> list[tuple[int, int] | None]:
    """What changes when files are replaced."""
    found: list[tuple[int, int] | None] = []
    for file in files:
        try:
            status = file.stat()
            found.append((status.st_ino, status.st_mtime_ns))
        except OSError:
            found.append(None)
    return found
