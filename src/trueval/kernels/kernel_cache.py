"""Compiled kernels on disk, one file for each kernel and types of arguments, which many processes may write at once.

numba's own files are not made for that. Its index names a file before the code is in it, and numbers files by the
index as it was last read: a process that starts while another one compiles, or after one was killed, can be given
code for other types, or of an older source. Here a file says itself what it is: its digest covers the code, the types,
the processor, the version of numba and the source of all kernels (numba looks at a kernel's own file, not at what it
calls). A file of which any of this is not so is compiled again, and written whole or not at all.

A digest that anybody can compute is no seal: what is read is run, so that folders and files must be such as nobody else
can write (see `trusted_paths`).
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

from trueval.kernels.cache_folder import make_folder
from trueval.kernels.trusted_paths import is_trusted_file
from trueval.progress import note

_DIGEST = 32  # bytes
_BINARY = getattr(os, "O_BINARY", 0)  # Windows


class DiskCache(FunctionCache):
    """The compiled forms of one kernel, in a folder that can be trusted (see `cache_folder`)."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        # not that of numba, which would choose a folder by itself
        self._name, self._py_func = repr(function), function
        self._cache_path = str(folder)
        self._impl = _Kept(function, folder)
        name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self._cache_file = _Files(self.cache_path, name, _stamp())
        self.enable()


class _Kept(CompileResultCacheImpl):
    """How numba turns compiled code into data and back."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Place(function.__code__.co_filename, folder)


class _Place:
    """What numba asks of the place where it keeps code."""

    def __init__(self, source: str, folder: Path) -> None:
        self._py_file, self.folder = source, folder

    def ensure_cache_path(self) -> None:
        make_folder(self.folder)


class _Files(IndexDataCacheFile):
    """In place of numba's index and numbered files: files that are found by what they hold."""

    def __init__(self, folder: str, name: str, stamp: bytes) -> None:
        super().__init__(folder, name, stamp)
        self.folder, self.name, self.stamp = Path(folder), name, stamp

    def save(self, key: Any, data: Any) -> None:
        body = self._dump((key, data))
        with suppress(OSError), self._open_for_write(str(self._path(key))) as file:  # a full disk costs time alone
            if hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), 0o644)  # the umask may let others write, and then it would not be trusted
            file.write(self._digest(body) + body)

    def load(self, key: Any) -> Any:
        try:
            content = _read_trusted(self._path(key))
            if content[:_DIGEST] == self._digest(content[_DIGEST:]):
                written, data = pickle.loads(content[_DIGEST:])
                if written == key:
                    return data
        except OSError:
            pass
        _say_once()
        return None

    def flush(self) -> None:
        for path in self.folder.glob(f"{self.name}-*.kernel"):
            path.unlink(missing_ok=True)

    def _path(self, key: Any) -> Path:
        digest = hashlib.blake2b(repr((sys.implementation.cache_tag, key)).encode(), digest_size=10).hexdigest()
        return self.folder / f"{self.name}-{digest}.kernel"

    def _digest(self, body: bytes) -> bytes:
        return hashlib.blake2b(body, digest_size=_DIGEST, key=self.stamp).digest()


def _read_trusted(path: Path) -> bytes:
    """What a file holds; of one that somebody else may have written, nothing. It is looked at as it is open."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    with open(file, "rb") as opened:
        return opened.read() if is_trusted_file(file) else b""


@cache
def _stamp() -> bytes:
    """What all compiled code depends on, besides itself."""
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=32)
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.name.encode() + source.read_bytes())
    return digest.digest()


@cache
def _say_once() -> None:
    if sys.stderr.isatty():
        note("compiling the fast kernels, once (a few seconds)…")
