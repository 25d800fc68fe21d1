"""The files in a zip or tar archive, one after the other, as streams that are trusted in nothing."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from trueval.data.size_limits import most_bytes, most_files, too_large, too_many
from trueval.errors import DataError

# What readers of archives raise for content that is none, or for a full disk.
BROKEN = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, RuntimeError,
    ValueError, LookupError, ArithmeticError,
)  # fmt: skip
_HEADERS = 1 << 24  # bytes between two files of a tar: names, and what else is said of the next one


@dataclass(frozen=True)
class Member:
    """A file of an archive, or a folder: its name, and its bytes until there are no more."""

    name: str
    read: Callable[[int], bytes]
    is_folder: bool = False


@contextmanager
def open_members(archive: Path, file_name: str) -> Iterator[Iterator[Member]]:
    """The members of an archive, each to be read before the next one is asked for."""
    with ExitStack() as stack:
        if file_name.lower().endswith(".zip"):
            opened = stack.enter_context(zipfile.ZipFile(archive))
            yield _zip_members(opened, file_name)
        else:
            stream = _Limited(stack.enter_context(_unpacking(archive)), archive.stat().st_size, file_name)
            tar = stack.enter_context(tarfile.open(fileobj=cast(BinaryIO, stream), mode="r|", bufsize=1 << 18))
            yield _tar_members(tar, stream, file_name)


def _zip_members(opened: zipfile.ZipFile, file_name: str) -> Iterator[Member]:
    members = opened.infolist()
    if len(members) > most_files():
        raise too_many(file_name)
    for member in members:
        if member.flag_bits & 1:
            raise DataError(
                "the archive is encrypted",
                where=file_name,
                found=repr(member.filename[:120]),
                do="unpack it with its password, and give the folder",
            )
        if member.is_dir():
            yield Member(member.filename, _nothing, is_folder=True)
            continue
        if (member.external_attr >> 16) & 0o170000 == 0o120000:
            raise _link(member.filename, file_name)
        with opened.open(member) as stream:
            yield Member(member.orig_filename, stream.read)


def _tar_members(opened: tarfile.TarFile, stream: _Limited, file_name: str) -> Iterator[Member]:
    """Regular files and folders only: a link could point anywhere."""
    while True:
        stream.only(_HEADERS)
        member = opened.next()
        if member is None:
            return
        if member.isdir():
            yield Member(f"{member.name}/", _nothing, is_folder=True)
            continue
        content = opened.extractfile(member) if member.isreg() else None
        if content is None:
            raise _link(member.name, file_name)
        stream.only(None)
        yield Member(member.name, content.read)


def _nothing(size: int) -> bytes:
    return b""


def _link(name: str, file_name: str) -> DataError:
    return DataError(
        "the archive contains a link",
        where=file_name,
        found=repr(name[:120]),
        do="do not use this file; fetch it from the publisher",
    )


def _unpacking(archive: Path) -> BinaryIO:
    """A tar archive without its compression, which its first bytes tell."""
    with archive.open("rb") as file:
        start = file.read(6)
    if start.startswith(b"\x1f\x8b"):
        return cast(BinaryIO, gzip.open(archive))
    if start.startswith(b"BZh"):
        return cast(BinaryIO, bz2.open(archive))
    if start == b"\xfd7zXZ\x00":
        return cast(BinaryIO, lzma.open(archive))
    return archive.open("rb")


class _Limited(io.RawIOBase):
    """A stream that ends with an error where more comes out of it than may: also where headers are the bomb."""

    def __init__(self, inner: BinaryIO, packed: int, file_name: str) -> None:
        self.inner, self.packed, self.file_name = inner, packed, file_name
        # Blocks of a tar are padded, by up to 511 bytes and a header for each file.
        self.whole = most_bytes(packed) + 1024 * most_files()
        self.most, self.count = min(self.whole, _HEADERS), 0

    def only(self, size: int | None) -> None:
        """From here on, so many bytes may come; None: as many as the whole may have."""
        self.most = self.whole if size is None else min(self.whole, self.count + size)

    def read(self, size: int = -1) -> bytes:
        if self.count > self.most:
            raise too_large(self.file_name, self.packed)
        piece = self.inner.read(min(size, 1 << 20) if size >= 0 else 1 << 20)
        self.count += len(piece)
        return piece
