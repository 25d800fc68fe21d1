"""The folder of a rerun: opened before the work, filled after it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trueval.data.checksummed_json import seal, unseal
from trueval.data.locks import locked
from trueval.data.writing import write_whole, writing
from trueval.errors import OutputError
from trueval.report.folder import Content, check_folder, write_together

# What the folder is, whether it is finished, and which files in it are ours.
MARKER = "reproduction.json"
STEPS, WORK = "steps", "work"


@contextmanager
def held_folder(folder: Path, record: Mapping[str, Any], *, resume: bool) -> Iterator[None]:
    """Hold a folder for a rerun; one with files of others, or with a rerun that is not to be resumed, is refused.

    So is one with a rerun of another paper, whose results would be lost.
    """
    with writing(folder, what="the output folder could not be written", do="use another folder (-o DIR)"):
        _check(folder, record, resume=resume)
    with locked(folder):
        _check(folder, record, resume=resume)  # another process may have finished meanwhile
        before = _marked(folder)
        if before is None:
            write_whole(folder / MARKER, seal({**record, "state": "unfinished", "files": []}))
        try:
            yield
        except BaseException:
            if before is None and not any(folder.glob(f"{STEPS}/*")) and not any(folder.glob(f"{WORK}/*")):
                (folder / MARKER).unlink(missing_ok=True)  # nothing was finished: all is as before
            raise


def _check(folder: Path, record: Mapping[str, Any], *, resume: bool) -> None:
    check_folder(folder, (), marker=MARKER)
    before = _marked(folder) if folder.exists() else None
    if before is not None and not resume:
        raise OutputError(
            "the output folder already holds a rerun of a paper",
            where=str(folder),
            found=f"{before.get('paper', 'a paper')}, {before.get('state', 'damaged')}",
            do="add --resume (finished steps are kept), or use another folder (-o DIR)",
        )
    if before and before.get("paper", record["paper"]) != record["paper"]:
        raise OutputError(
            "the output folder holds a rerun of another paper",
            where=str(folder),
            found=str(before["paper"]),
            do="use another folder (-o DIR)",
        )


def write_results(folder: Path, files: Mapping[str, Content], record: Mapping[str, Any]) -> None:
    """Write all files in place of those of an earlier run, then remove what only an unfinished run needs."""
    write_together(folder, files, marker=MARKER, manifest={**record, "state": "finished"}, as_text=seal)
    shutil.rmtree(folder / WORK, ignore_errors=True)


def _marked(folder: Path) -> dict[str, Any] | None:
    path = folder / MARKER
    try:
        return unseal(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {}
