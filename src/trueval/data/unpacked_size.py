"""How large a gzip, zlib or zstd file becomes, found out before it is read into memory.

Polars unpacks text by itself, told by the first bytes and not by the name of a file. What it would unpack is looked at
first:

- zstd: the headers of its blocks bound the size, and reading them alone takes no time.
- gzip and zlib: only unpacking tells, which takes a third of the time that reading the table takes. It is done where
  pieces of the file, drawn at random, can themselves be packed: what has been packed 100 times or more repeats itself
  even when packed, what has been packed 5 times does not. Small files, which cannot become large, always pass.
"""

from __future__ import annotations

import random
import zlib
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from trueval.data.size_limits import most_bytes, too_large

_DEFLATE = 1032  # deflate cannot pack better than that
_ZLIB = (b"\x1f\x8b", b"\x78\x01", b"\x78\x9c", b"\x78\xda")  # gzip, and three levels of zlib
_ZSTD, _SKIPPABLE = 0xFD2FB528, 0x184D2A50
_BLOCK = 1 << 17  # the largest block of zstd, unpacked
_SAMPLES, _SAMPLE = 64, 1 << 13
_PACKS = 0.8  # a piece that shrinks to less than this has been packed suspiciously well
_STEP = 1 << 20


def check_unpacked_size(path: Path) -> None:
    """Refuse a packed file that would unpack to more than `size_limits` allows; any other file passes."""
    if not path.is_file():
        return
    status = path.stat()
    _check(path, status.st_size, status.st_mtime_ns, most_bytes(status.st_size))


@lru_cache(maxsize=256)  # one file is opened several times; it has changed where its size or time has
def _check(path: Path, packed: int, changed: int, most: int) -> None:
    with path.open("rb") as file:
        start = file.read(4)
        if int.from_bytes(start, "little") in (_ZSTD, *range(_SKIPPABLE, _SKIPPABLE + 16)):
            if _zstd_bound(file, packed, most) > most:
                raise too_large(path, packed)
        elif start.startswith(_ZLIB) and packed * _DEFLATE > most and _repeats(file, packed):
            file.seek(0)
            if _deflated_size(file, most) > most:
                raise too_large(path, packed)


def _repeats(file: BinaryIO, packed: int) -> bool:
    """Whether a piece of packed data can be packed again. Places are random so that none can be prepared."""
    for _ in range(_SAMPLES):
        file.seek(random.randrange(max(1, packed - _SAMPLE)))
        piece = file.read(_SAMPLE)
        if len(zlib.compress(piece, 1)) < _PACKS * len(piece):
            return True
    return False


def _deflated_size(file: BinaryIO, most: int) -> int:
    """Bytes that a gzip or zlib file unpacks to, counted no further than `most`; broken data ends the count."""
    total, rest = 0, b""
    unpacker = zlib.decompressobj(47)
    while total <= most and (data := rest or file.read(1 << 16)):
        try:
            total += len(unpacker.decompress(data, _STEP))
        except zlib.error:
            return total  # the reader will say what is wrong with it
        rest = unpacker.unconsumed_tail
        if unpacker.eof:  # another gzip member may follow
            rest, unpacker = unpacker.unused_data, zlib.decompressobj(47)
    return total


def _zstd_bound(file: BinaryIO, packed: int, most: int) -> int:
    """The most bytes that a zstd file can unpack to, from the headers of frames and blocks (RFC 8878)."""
    place = total = 0
    while place < packed and total <= most:
        file.seek(place)
        head = file.read(18)
        magic = int.from_bytes(head[:4], "little")
        if magic & 0xFFFFFFF0 == _SKIPPABLE:
            place += 8 + int.from_bytes(head[4:8], "little")
        elif magic == _ZSTD and len(head) > 5:
            place, inside = _frame(file, place + _header_length(head[4]), most - total)
            place, total = place + (4 if head[4] & 4 else 0), total + inside  # a checksum may follow the blocks
        else:
            break  # the reader will say what is wrong with it
    return total


def _header_length(descriptor: int) -> int:
    """Bytes before the first block of a frame: magic, descriptor, window, dictionary, size of the content."""
    content, single, dictionary = descriptor >> 6, descriptor >> 5 & 1, descriptor & 3
    sizes = (1 if single else 0, 2, 4, 8)
    return 5 + (0 if single else 1) + (0, 1, 2, 4)[dictionary] + sizes[content]


def _frame(file: BinaryIO, place: int, most: int) -> tuple[int, int]:
    """Where the blocks of a frame end, and the most bytes that they unpack to."""
    total, last = 0, False
    file.seek(place)
    while not last and total <= most and len(head := file.read(3)) == 3:
        word = int.from_bytes(head, "little")
        last, kind, size = bool(word & 1), word >> 1 & 3, word >> 3
        total += _BLOCK if kind == 2 else min(size, _BLOCK)
        place += 3 + (1 if kind == 1 else size)
        file.seek(place)
    return place, total
