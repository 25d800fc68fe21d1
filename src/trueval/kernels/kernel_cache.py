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
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

from trueval.kernels.cache_folder import make_folder
from trueval.kernels.sealed_files import read_sealed, say_compiling, source_stamp, write_sealed


class DiskCache(FunctionCache):
    """The compiled forms of one kernel, in a folder that can be trusted (see `cache_folder`)."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        # not that of numba, which would choose a folder by itself
        self._name, self._py_func = repr(function), function
        self._cache_path = str(folder)
        self._impl = _Kept(function, folder)
        name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self._cache_file = _Files(self.cache_path, name, source_stamp())
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
        write_sealed(self._path(key), self._dump((key, data)), self.stamp)

    def load(self, key: Any) -> Any:
        body = read_sealed(self._path(key), self.stamp)
        if body is not None:
            written, data = pickle.loads(body)
            if written == key:
                return data
        say_compiling()
        return None

    def flush(self) -> None:
        for path in self.folder.glob(f"{self.name}-*.kernel"):
            path.unlink(missing_ok=True)

    def _path(self, key: Any) -> Path:
        digest = hashlib.blake2b(repr((sys.implementation.cache_tag, key)).encode(), digest_size=10).hexdigest()
        return self.folder / f"{self.name}-{digest}.kernel"
