"""Files of compiled code that say themselves what they are: written whole or not at all, read only if they are ours.

A digest covers the content, the processor, the version of numba and the source of all kernels. A digest that anybody
can compute is no seal: what is read is run, so that files must be such as nobody else can write (see `trusted_paths`).
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

from trueval.kernels.cache_folder import make_folder
from trueval.kernels.trusted_paths import is_trusted_file
from trueval.progress import note

DIGEST = 32  # bytes
_BINARY = getattr(os, "O_BINARY", 0)  # Windows


def write_sealed(path: Path, body: bytes, stamp: bytes) -> None:
    """Write a file under a digest; that it failed, on a full disk, costs time alone."""
    with suppress(OSError):
        make_folder(path.parent)
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".draft")
        try:
            with open(handle, "wb") as file:
                if hasattr(os, "fchmod"):
                    os.fchmod(handle, 0o644)  # the umask may let others write, and then it would not be trusted
                file.write(digest(body, stamp) + body)
            os.replace(draft, path)
        except BaseException:
            os.unlink(draft)
            raise


def read_sealed(path: Path, stamp: bytes) -> bytes | None:
    """What a file holds; None where it is missing, damaged, of another source, or somebody else may have written it."""
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | _BINARY)
        with open(file, "rb") as opened:  # it is looked at as it is open
            content = opened.read() if is_trusted_file(file) else b""
    except OSError:
        return None
    return content[DIGEST:] if content[:DIGEST] == digest(content[DIGEST:], stamp) else None


def digest(body: bytes, stamp: bytes) -> bytes:
    """What stands before the content."""
    return hashlib.blake2b(body, digest_size=DIGEST, key=stamp).digest()


@cache
def source_stamp() -> bytes:
    """What all compiled code depends on, besides itself."""
    found = hashlib.blake2b(metadata.version("numba").encode(), digest_size=32)
    folder = Path(__file__).parent
    for source in sorted(folder.rglob("*.py")):
        found.update(source.relative_to(folder).as_posix().encode() + source.read_bytes())
    return found.digest()


@cache
def say_compiling() -> None:
    """Tell, once, what takes so long."""
    if sys.stderr.isatty():
        note("compiling the fast kernels, once (a few seconds)…")
