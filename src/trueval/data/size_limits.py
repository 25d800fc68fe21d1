"""How large things may become when they are fetched or unpacked, and how many: all limits, in one place.

A small file can be made to unpack to a thousand times its size and more. Real logs shrink to a quarter, a few to a
fiftieth, so that what is both large and shrunk beyond belief is refused before it fills a disk or the memory.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

from trueval.errors import DataError, DefinitionError

UNPACKED_GB, UNPACKED_FILES = "TRUEVAL_UNPACKED_GB", "TRUEVAL_UNPACKED_FILES"
DOWNLOAD_GB = "TRUEVAL_DOWNLOAD_GB"
_GB = 10**9
_ALWAYS = 4 * _GB  # so much may come of any file, however small
_RATIO = 100  # beyond that, so many times the size of the file
_MOST = 200 * _GB
_FILES = 100_000
_DOWNLOAD = 50 * _GB  # of a file whose size is not known
LONGEST_NAME = 255  # bytes of each piece of a path: the limit of most file systems
DEEPEST = 32  # folders inside each other


def most_bytes(packed: int) -> int:
    """How many bytes may come of a file of so many: what TRUEVAL_UNPACKED_GB says, else by its size.

    >>> most_bytes(10**6), most_bytes(10**9), most_bytes(10**12)
    (4000000000, 100000000000, 200000000000)
    """
    chosen = _chosen(UNPACKED_GB)
    return max(_ALWAYS, min(_RATIO * packed, _MOST)) if chosen is None else int(chosen * _GB)


def most_files() -> int:
    """How many files an archive may hold: what TRUEVAL_UNPACKED_FILES says, else 100,000."""
    chosen = _chosen(UNPACKED_FILES)
    return _FILES if chosen is None else int(chosen)


def most_downloaded(megabytes: float) -> int:
    """How many bytes a server may send for a file of about so many megabytes (0: not known).

    >>> most_downloaded(0), most_downloaded(250)
    (50000000000, 1100000000)
    """
    chosen = _chosen(DOWNLOAD_GB)
    if chosen is not None:
        return int(chosen * _GB)
    return int(megabytes * 4e6 + 1e8) if megabytes else _DOWNLOAD  # sizes are told roughly, and files grow


def _chosen(variable: str) -> float | None:
    text = os.environ.get(variable, "").strip()
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < 1e9:
        raise DefinitionError("this is not a limit", where=variable, found=repr(text), do="a number above 0, e.g. 500")
    return number


def too_large(where: Path | str, packed: int) -> DataError:
    """The error for what unpacks to more than it may.

    >>> print(too_large("log.csv.gz", 1000))
    the file unpacks to more than it may
      where: log.csv.gz
      found: 1,000 bytes that become more than 4 GB
      do:    if you trust the file, set the environment variable TRUEVAL_UNPACKED_GB to the gigabytes to allow
    """
    return DataError(
        "the file unpacks to more than it may",
        where=str(where),
        found=f"{packed:,} bytes that become more than {most_bytes(packed) / _GB:g} GB",
        do=f"if you trust the file, set the environment variable {UNPACKED_GB} to the gigabytes to allow",
    )


def too_many(where: Path | str) -> DataError:
    """The error for an archive of more files than it may hold."""
    return DataError(
        "the archive holds more files than it may",
        where=str(where),
        found=f"more than {most_files():,} files",
        do=f"if you trust the file, set the environment variable {UNPACKED_FILES} to the number to allow",
    )
