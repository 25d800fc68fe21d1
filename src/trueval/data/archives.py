"""Archives unpacked without surprises: nothing outside the folder, nothing half done, nothing beyond measure."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from trueval.data.archive_members import BROKEN, Member, open_members
from trueval.data.member_names import MemberNames
from trueval.data.size_limits import most_bytes, most_files, too_large, too_many
from trueval.errors import DataError, OutputError, TruevalError

ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar", ".tar.bz2", ".tar.xz")
OF_SYSTEMS = ("__MACOSX", ".DS_Store")  # what file managers add


def unpack(archive: Path, target: Path, *, file_name: str, accept: Callable[[Path], None] | None = None) -> Path:
    """Unpack an archive into the new folder `target`, which appears whole or not at all.

    `file_name` says the kind of archive; any other file becomes the only file of the folder. A single folder
    at the top of the archive is left out. `accept` looks at the content before it is kept, and may raise.
    """
    work: Path | None = None
    try:
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        content = work / "content"
        content.mkdir()
        _fill(archive, content, file_name)
        inside = _single_folder(content)
        if accept is not None:
            accept(inside)
        _move(inside, target)
    except TruevalError:
        raise
    except BROKEN as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk, not the archive
            raise OutputError(
                "the archive could not be unpacked",
                where=file_name,
                found=str(error),
                do=f"free space, and check that {target.parent} can be written",
            ) from error
        found = (str(error) or type(error).__name__).split("\n")[0]
        unknown = isinstance(error, NotImplementedError)  # a way of packing that Python does not know
        do = "unpack it with another program, and give the folder" if unknown else "fetch it again"
        raise DataError("the archive is broken", where=file_name, found=found, do=do) from error
    finally:
        if work is not None:
            shutil.rmtree(work, ignore_errors=True)
    return target


def _fill(archive: Path, content: Path, file_name: str) -> None:
    if not file_name.lower().endswith(ARCHIVES):
        shutil.copyfile(archive, content / file_name)
        total = archive.stat().st_size
    else:
        total = _extract(archive, content, file_name)
    if not total:
        raise DataError(
            "there is no data in the file",
            where=file_name,
            found="no files, or only empty ones",
            do="check where it comes from",
        )


def _extract(archive: Path, content: Path, file_name: str) -> int:
    """Write all files of an archive; their sizes are counted as they come, for what headers say may be false."""
    packed, total = archive.stat().st_size, 0
    most, files = most_bytes(packed), most_files()
    names = MemberNames(file_name)
    with open_members(archive, file_name) as members:
        for count, member in enumerate(members, 1):
            if count > files:
                raise too_many(file_name)
            path = content / names.place(member.name)
            if member.is_folder:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            total += _write(member, path, most - total)
            if total > most:
                raise too_large(file_name, packed)
    return total


def _write(member: Member, path: Path, most: int) -> int:
    """Bytes written; the count goes no further than just beyond `most`."""
    size = 0
    with path.open("xb") as file:
        while size <= most and (piece := member.read(1 << 20)):
            size += len(piece)
            file.write(piece)
    return size


def _single_folder(content: Path) -> Path:
    entries = [entry for entry in content.iterdir() if entry.name not in OF_SYSTEMS]
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else content


def _move(folder: Path, target: Path) -> None:
    try:
        os.rename(folder, target)
    except OSError:
        if not target.is_dir():  # else someone else has just fetched the same set, which is as good
            raise
