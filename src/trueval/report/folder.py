"""Many files into one folder, all of them or none, and never over files of somebody else."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from trueval.data.json_values import parse_json
from trueval.errors import OutputError

Content = str | Callable[[Path], Any]


def check_folder(folder: Path, names: Iterable[str], *, marker: str) -> None:
    """Refuse a folder in which these files cannot be written without touching files of others.

    Files that the marker file lists were written by trueval.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    ours = _ours(folder, marker) if folder.is_dir() else None
    if ours is None:
        raise OutputError(
            "there is already something at the output folder",
            where=str(folder),
            found="a folder with other files" if folder.is_dir() else "a file",
            do="use another folder (-o DIR)",
        )
    taken = [name for name in names if name not in ours and (folder / name).exists()]
    if taken:
        raise OutputError(
            "a file that trueval did not write would be overwritten",
            where=str(folder),
            found=", ".join(taken[:5]),
            do="move it, or use another folder (-o DIR)",
        )


def marker_text(manifest: Mapping[str, Any]) -> str:
    """A marker as text."""
    return json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"


def write_together(
    folder: Path,
    files: Mapping[str, Content],
    *,
    marker: str,
    manifest: Mapping[str, Any],
    as_text: Callable[[Mapping[str, Any]], str] = marker_text,
) -> None:
    """Write files (text, or functions that write to a path) into a folder, with a marker that lists them.

    Files that were written before are replaced, others left alone. If anything fails, all is as it was before.

    >>> with tempfile.TemporaryDirectory() as place:
    ...     write_together(Path(place) / "new", {"a/b.txt": "text"}, marker="made.json", manifest={"by": "me"})
    ...     sorted(str(path.relative_to(place)) for path in Path(place).rglob("*.*"))
    ['new/a/b.txt', 'new/made.json']
    """
    everything = {**files, marker: as_text({**manifest, "files": sorted(files)})}
    check_folder(folder, everything, marker=marker)
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    inside = {place for name in everything if not (place := (folder / name).parent).exists()}
    made = sorted(inside - set(made), reverse=True) + made
    staging: Path | None = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder))
        for name, content in everything.items():
            _write(staging / "new" / name, content)
        _move_in(staging, folder, list(everything))
        made = []
    except OSError as problem:
        raise OutputError(
            "the files could not be written; nothing was changed",
            where=str(folder),
            found=problem.strerror or str(problem),
            do="check the folder, its permissions and the free space",
        ) from problem
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)
        for place in made:  # only after a failure
            with suppress(OSError):
                place.rmdir()


def _ours(folder: Path, marker: str) -> set[str] | None:
    try:
        return {marker, *parse_json((folder / marker).read_text(encoding="utf-8"))["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, content: Content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if callable(content):
        content(path)
    else:
        path.write_text(content, encoding="utf-8")


def _move_in(staging: Path, folder: Path, names: list[str]) -> None:
    """Rename the files to their places; what was there goes aside, and comes back if something fails."""
    moved: list[str] = []
    try:
        for name in names:
            moved.append(name)
            target, aside = folder / name, staging / "old" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.exists():
                aside.parent.mkdir(parents=True, exist_ok=True)
                target.rename(aside)
            (staging / "new" / name).rename(target)
    except BaseException:
        for name in moved:
            if not (staging / "new" / name).exists():
                (folder / name).unlink()
            if (staging / "old" / name).exists():
                (staging / "old" / name).rename(folder / name)
        raise
