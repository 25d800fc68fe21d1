"""New files take the places of old ones in a folder: all of them or none, even if the process is killed meanwhile.

The new files are first written into a hidden folder inside. One rename of that folder to `.committed` decides that they
count. Then all old files go out, and after that the new ones go in: who looks into the folder without trueval, at
whatever moment, finds old files only or new files only, though perhaps not all of them yet. Whoever opens the folder
next with trueval, to write or to read, finishes what a killed process left. No other file of the folder is touched.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from trueval.data.locks import LOCK, locked
from trueval.data.writing import make_folder, remove_empty
from trueval.errors import DataError, OutputError

COMMITTED = ".committed"
_SCRATCH, _MOVES, _NEW, _OLD = ".writing-", "moves.json", "new", "old"
_WAIT = 10.0  # seconds that a reader waits for a writer; moving files takes a moment


def is_ours_inside(name: str) -> bool:
    """Whether a name, as a file lists it, is that of something inside the folder: the list may be anybody's.

    >>> is_ours_inside("designs/a/results.parquet"), is_ours_inside("../log.csv"), is_ours_inside("/etc/hosts")
    (True, False, False)
    """
    parts = PurePosixPath(name).parts
    return bool(parts) and ".." not in parts and not os.path.isabs(name) and "\\" not in name


def is_free(folder: Path) -> bool:
    """Whether there is nothing in a folder, apart from what a killed process of trueval left half written."""
    return all(entry.name == LOCK or entry.name.startswith(_SCRATCH) for entry in folder.iterdir())


@contextmanager
def scratch_in(folder: Path) -> Iterator[Path]:
    """A hidden folder to write new files into, under `new`; what earlier ones left behind goes, under the lock."""
    for left in folder.glob(f"{_SCRATCH}*"):
        shutil.rmtree(left, ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=folder))
    try:
        (scratch / _NEW).mkdir()
        yield scratch / _NEW
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def commit(new: Path, folder: Path, names: Iterable[str], gone: Iterable[str] = ()) -> None:
    """Let the files in a scratch folder replace those in the folder, and remove those that are `gone`.

    If it fails all is as before. The folder must be locked.
    """
    scratch, committed = new.parent, folder / COMMITTED
    moves = {"in": sorted(names), "out": sorted(gone)}
    (scratch / _MOVES).write_text(json.dumps(moves), encoding="utf-8")
    scratch.rename(committed)
    try:
        made = _take_places(committed, folder, moves)
    except BaseException:
        _undo(committed, folder, moves)
        committed.rename(scratch)
        raise
    committed.rename(scratch)  # half removed, it must not look like one that still counts
    remove_empty(made)


def finish_commit(place: Path) -> None:
    """Finish what a killed process left in a folder, or in one of those that it is in as a part of a result."""
    for folder in (place, *place.absolute().parents[:3]):
        if not (folder / COMMITTED / _MOVES).is_file():
            continue
        try:
            with locked(folder, wait=_WAIT):
                _finish(folder)
        except (OSError, OutputError) as problem:
            raise DataError(
                "the files of this folder were being replaced when a process was stopped",
                where=str(folder),
                found=getattr(problem, "strerror", "") or getattr(problem, "found", "") or str(problem),
                do="read it once with an account that can write there, which finishes the replacement",
            ) from problem


def _finish(folder: Path) -> None:
    committed = folder / COMMITTED
    if not (committed / _MOVES).is_file():  # another process has just done it
        return
    try:
        moves = json.loads((committed / _MOVES).read_text(encoding="utf-8"))
        moves = {"in": list(map(str, moves["in"])), "out": list(map(str, moves["out"]))}
    except (ValueError, KeyError, TypeError):
        moves = {"in": [".."], "out": []}
    if not all(map(is_ours_inside, [*moves["in"], *moves["out"]])):
        raise DataError(
            "the list of files to be replaced is damaged",
            where=str(committed / _MOVES),
            do=f"remove {committed}, and write the result again",
        )
    made = _take_places(committed, folder, moves)
    done = folder / f"{_SCRATCH}done"
    shutil.rmtree(done, ignore_errors=True)
    committed.rename(done)
    shutil.rmtree(done, ignore_errors=True)
    remove_empty(made)


def _take_places(committed: Path, folder: Path, moves: dict[str, list[str]]) -> list[Path]:
    """Old files out, then new files in; can be repeated after a kill. Folders that may be empty now."""
    waiting = [name for name in moves["in"] if os.path.lexists(committed / _NEW / name)]  # others are in already
    for name in [*waiting, *moves["out"]]:
        if os.path.lexists(folder / name):
            _move(folder / name, committed / _OLD / name)
    for name in waiting:
        _move(committed / _NEW / name, folder / name)
    return _parents(folder, moves["out"])


def _undo(committed: Path, folder: Path, moves: dict[str, list[str]]) -> None:
    for name in moves["in"]:
        if not os.path.lexists(committed / _NEW / name) and os.path.lexists(folder / name):
            _move(folder / name, committed / _NEW / name)
    for name in [*moves["in"], *moves["out"]]:
        if os.path.lexists(committed / _OLD / name):
            _move(committed / _OLD / name, folder / name)
    remove_empty(_parents(folder, moves["in"]))


def _move(source: Path, target: Path) -> None:
    make_folder(target.parent)
    source.rename(target)


def _parents(folder: Path, names: Iterable[str]) -> list[Path]:
    """Folders of files, the innermost first."""
    inner = {folder / parent for name in names for parent in list(PurePosixPath(name).parents)[:-1]}
    return sorted(inner, key=lambda place: -len(place.parts))
