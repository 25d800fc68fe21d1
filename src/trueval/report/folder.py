"""Many files into one folder, all of them or none, and never over files of somebody else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueval.data.json_values import parse_json
from trueval.data.locks import locked
from trueval.data.writing import keep_permissions, write_content, writing
from trueval.errors import OutputError
from trueval.report.commit import commit, finish_commit, is_free, is_ours_inside, scratch_in

Content = str | Callable[[Path], Any]


def check_folder(folder: Path, names: Iterable[str], *, marker: str) -> None:
    """Refuse a folder in which these files cannot be written without touching files of others.

    Files that the marker file lists were written by trueval.
    """
    with writing(folder, what="the output folder could not be written", do="use another folder (-o DIR)"):
        if not folder.exists() or (folder.is_dir() and is_free(folder)):
            return
        finish_commit(folder)
        ours = _ours(folder, marker) if folder.is_dir() else None
        taken = [name for name in names if ours is not None and name not in ours and (folder / name).exists()]
    if ours is None:
        raise OutputError(
            "there is already something at the output folder",
            where=str(folder),
            found="a folder with other files" if folder.is_dir() else "a file",
            do="use another folder (-o DIR)",
        )
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


@dataclass(frozen=True)
class FolderContent:
    """The files of a folder, with a marker file that lists them."""

    files: Mapping[str, Content]
    marker: str
    manifest: Mapping[str, Any]
    as_text: Callable[[Mapping[str, Any]], str] = marker_text

    @property
    def everything(self) -> dict[str, Content]:
        """All files, with the marker."""
        return {**self.files, self.marker: self.as_text({**self.manifest, "files": sorted(self.files)})}


def write_together(
    folder: Path,
    files: Mapping[str, Content],
    *,
    marker: str,
    manifest: Mapping[str, Any],
    as_text: Callable[[Mapping[str, Any]], str] = marker_text,
) -> None:
    """Write files (text, or functions that write to a path) into a folder, with a marker that lists them.

    Files that were written before are replaced, or removed if they are no longer among them; others are left alone.
    If anything fails, all is as it was before; if the process is killed, the folder has the old files or the new ones
    once it is next opened (see `report.commit`).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     write_together(Path(place) / "new", {"a/b.txt": "text"}, marker="made.json", manifest={"by": "me"})
    ...     sorted(str(path.relative_to(place)) for path in Path(place).rglob("*.*"))
    ['new/a/b.txt', 'new/made.json']
    """
    write_folders(folder, {"": FolderContent(files, marker, manifest, as_text)})


def write_folders(folder: Path, contents: Mapping[str, FolderContent]) -> None:
    """Write several folders (by their names in `folder`; "" is itself), all of them or none."""
    _check_folders(folder, contents)
    do = "check the folder, its permissions and the free space"
    with writing(folder, what="the files could not be written; nothing was changed", do=do), locked(folder):
        _check_folders(folder, contents)
        gone: set[str] = set()
        names: list[str] = []
        with scratch_in(folder) as new:
            for inner, content in contents.items():
                prefix = f"{inner}/" if inner else ""
                for name, text in content.everything.items():
                    _write(new / f"{prefix}{name}", text, folder / f"{prefix}{name}")
                    names.append(f"{prefix}{name}")
                gone |= {f"{prefix}{name}" for name in _ours(folder / inner, content.marker) or ()}
            commit(new, folder, names, gone - set(names))


def _check_folders(folder: Path, contents: Mapping[str, FolderContent]) -> None:
    finish_commit(folder)
    for inner, content in contents.items():
        check_folder(folder / inner, [*content.files, content.marker], marker=content.marker)


def _ours(folder: Path, marker: str) -> set[str] | None:
    try:
        names = parse_json((folder / marker).read_text(encoding="utf-8"))["files"]
        return {marker, *(name for name in names if is_ours_inside(name))}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, content: Content, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_content(path, content)
    keep_permissions(path, target)
