"""Archives unpacked without surprises: nothing outside the folder, nothing half done."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from trueval.errors import DataError

ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar", ".tar.bz2", ".tar.xz")
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, RuntimeError)


def unpack(archive: Path, target: Path, *, file_name: str) -> Path:
    """Unpack an archive into the new folder `target`, which appears whole or not at all.

    `file_name` says the kind of archive; any other file becomes the only file of the folder. A single folder
    at the top of the archive is left out.
    """
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        content = work / "content"
        content.mkdir()
        try:
            _fill(archive, content, file_name)
        except _BROKEN as error:
            found = str(error) or type(error).__name__
            raise DataError("the archive is broken", where=file_name, found=found, do="fetch it again") from error
        _move(_single_folder(content), target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def _fill(archive: Path, content: Path, file_name: str) -> None:
    if file_name.lower().endswith(".zip"):
        with zipfile.ZipFile(archive) as opened:
            _extract(_zip_members(opened), content, file_name)
    elif file_name.lower().endswith(ARCHIVES):
        with tarfile.open(archive) as opened_tar:
            _extract(_tar_members(opened_tar), content, file_name)
    else:
        shutil.copyfile(archive, content / file_name)


Members = Iterator[tuple[str, "IO[bytes] | None"]]


def _zip_members(opened: zipfile.ZipFile) -> Members:
    for member in opened.infolist():
        if not member.is_dir():
            with opened.open(member) as stream:
                yield member.filename, stream


def _tar_members(opened: tarfile.TarFile) -> Members:
    """Regular files only; a link (which could point anywhere) has no stream and is refused."""
    for member in opened:
        if not member.isdir():
            yield member.name, opened.extractfile(member) if member.isreg() else None


def _extract(members: Members, content: Path, file_name: str) -> None:
    for name, stream in members:
        pieces = PurePosixPath(name.replace("\\", "/"))
        outside = pieces.is_absolute() or ".." in pieces.parts or ":" in (pieces.parts or ("",))[0]
        if outside or stream is None:
            raise DataError(
                "the archive would write outside its folder" if outside else "the archive contains a link",
                where=file_name,
                found=repr(name),
                do="do not use this file; fetch it from the publisher",
            )
        path = content / pieces
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file, 1 << 20)


def _single_folder(content: Path) -> Path:
    entries = [entry for entry in content.iterdir() if entry.name not in ("__MACOSX", ".DS_Store")]
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else content


def _move(folder: Path, target: Path) -> None:
    try:
        os.rename(folder, target)
    except OSError:
        if not target.is_dir():  # else someone else has just fetched the same set, which is as good
            raise
