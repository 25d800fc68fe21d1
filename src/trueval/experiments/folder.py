"""The folder of an experiment: opened before the work, filled after it, without overwriting files of others."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from trueval.data.checksummed_json import seal, unseal
from trueval.data.locks import LOCK, locked
from trueval.data.writing import writing
from trueval.errors import OutputError
from trueval.experiments.result import ExperimentResult
from trueval.progress import note
from trueval.report.commit import finish_commit
from trueval.report.files import write_whole
from trueval.report.folder import Content, write_together
from trueval.report.folder import check_folder as check_names
from trueval.report.result_table import write_result_table
from trueval.report.saved_results import DESIGNS, MANIFEST, SUMMARY, TABLE

FACTS, REPORT, COPY = "facts", "report.html", "experiment.toml"
# What the folder is, whether it is finished, and which files in it are ours.
MARKER = "experiment.json"


@contextmanager
def held_folder(folder: Path, record: Mapping[str, Any], *, resume: bool) -> Iterator[None]:
    """Hold a folder for an experiment, against other processes; refuses it as `check_folder` does.

    What a failed run made goes again, unless some of its work was finished and can be resumed.
    """
    with writing(folder, what="the output folder could not be written"):  # as where no folder can have the name
        check_folder(folder, record, resume=resume)
    with locked(folder):
        check_folder(folder, record, resume=resume)  # another process may have finished meanwhile
        try:
            yield
        except BaseException:
            _leave(folder)
            raise


def _leave(folder: Path) -> None:
    """Remove the marker of a run that finished nothing."""
    marker = _marked(folder)
    if marker is None or marker["files"] or marker["state"] != "unfinished" or has_facts(folder):
        return
    shutil.rmtree(folder / FACTS, ignore_errors=True)
    with suppress(OSError):
        (folder / MARKER).unlink()


def check_folder(folder: Path, record: Mapping[str, Any], *, resume: bool) -> None:
    """Refuse a folder that is somebody else's, or holds an experiment where `resume` was not given."""
    if folder.exists() and not folder.is_dir():
        raise OutputError("the output folder is a file", where=str(folder), do="choose another folder (-o DIR)")
    finish_commit(folder)
    before = _marked(folder) or _recovered(folder)
    if before is None:
        if folder.exists() and any(not entry.name.startswith((f".{MARKER}", LOCK)) for entry in folder.iterdir()):
            raise OutputError(
                "there is already something at the output folder",
                where=str(folder),
                found="a folder with other files",
                do="choose another folder (-o DIR)",
            )
    elif not resume and (before["files"] or has_facts(folder)):
        raise OutputError(
            "the output folder already holds an experiment",
            where=str(folder),
            found=_state(before, record),
            do="add --resume (finished results are kept, changed ones computed again), or use another folder (-o DIR)",
        )
    elif before["state"] != "damaged":
        check_names(folder, (TABLE, SUMMARY, MANIFEST, REPORT, COPY), marker=MARKER)


def open_folder(folder: Path, record: Mapping[str, Any]) -> None:
    """Make the folder ours, and remove what an interruption left half written."""
    if _marked(folder) is None:
        damaged = _recovered(folder)
        if damaged is not None:
            note(f"{folder / MARKER} is damaged and is written again")
        files = [] if damaged is None else damaged["files"]
        _mark(folder, {"experiment": record, "state": "unfinished", "files": files})
    for scratch in [*folder.glob(".writing-*"), *folder.glob(f"{FACTS}/.*")]:
        shutil.rmtree(scratch, ignore_errors=True)
    for scratch in folder.glob(f".{MARKER}.*"):
        scratch.unlink(missing_ok=True)


def has_facts(folder: Path) -> bool:
    """Whether the folder has facts with which an experiment can be resumed."""
    return any(not entry.name.startswith(".") for entry in folder.glob(f"{FACTS}/*"))


def is_unfinished(folder: Path) -> bool:
    """Whether the folder holds an experiment that stopped before its end and can be resumed."""
    return (_marked(folder) or {}).get("state") == "unfinished" and has_facts(folder)


def write_results(result: ExperimentResult, folder: Path) -> None:
    """Write all files, in place of those of an earlier run; those that no longer belong here go."""
    manifest = {"experiment": result.manifest["experiment"], "state": "finished"}
    write_together(folder, _files(result), marker=MARKER, manifest=manifest, as_text=seal)


def _files(result: ExperimentResult) -> dict[str, Content]:
    """Contents by name."""
    files: dict[str, Content] = {
        TABLE: lambda path: result.per_user.write_parquet(path),
        SUMMARY: result.to_json() + "\n",
        MANIFEST: json.dumps(result.manifest, indent=1, ensure_ascii=False, default=str) + "\n",
        REPORT: result.to_html(),
    }
    for design, one in result.results.items():
        for name, evaluation in (one.repeats or {"": one.evaluation}).items():
            place = "/".join(filter(None, (DESIGNS, design, name.replace(", ", "-").replace(" ", "-"), TABLE)))
            files[place] = partial(write_result_table, evaluation)
    if result.experiment.written.text:
        files[COPY] = result.experiment.written.text
    return files


def _mark(folder: Path, manifest: Mapping[str, Any]) -> None:
    write_whole(folder / MARKER, seal(manifest))


def _marked(folder: Path) -> dict[str, Any] | None:
    """The marker of an experiment folder; None where there is no valid one."""
    try:
        manifest = unseal((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if {"experiment", "state", "files"} <= manifest.keys() else None


def _recovered(folder: Path) -> dict[str, Any] | None:
    """A marker for a folder whose own marker is damaged; None where it may not be an experiment's."""
    if not (folder / MARKER).is_file() or not any(folder.glob(f"{FACTS}/*/facts.json")):
        return None
    names = [name for name in (TABLE, SUMMARY, MANIFEST, REPORT, COPY) if (folder / name).is_file()]
    names += [str(path.relative_to(folder)) for path in folder.glob(f"{DESIGNS}/**/{TABLE}")]
    return {"experiment": {}, "state": "damaged", "files": sorted(names)}


def _state(before: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    if before["state"] == "damaged":
        return f"an experiment whose {MARKER} is damaged"
    changed = changes(before["experiment"], json.loads(json.dumps(record, default=str)))
    which = "this experiment" if not changed else f"another experiment ({', '.join(changed[:5])} changed)"
    return f"the results of {which}" if before["state"] == "finished" else f"an unfinished run of {which}"


def changes(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Keys in which two experiments differ.

    >>> changes({"split": {"ratio": 0.2}}, {"split": {"ratio": 0.3, "seed": 1}})
    ['[split] ratio', '[split] seed']
    """
    found = []
    for section in dict.fromkeys([*one, *other]):
        left, right = one.get(section, {}), other.get(section, {})
        found += [f"[{section}] {key}" for key in dict.fromkeys([*left, *right]) if left.get(key) != right.get(key)]
    return found
