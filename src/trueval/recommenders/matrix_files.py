"""Matrices of scores and factors in NumPy and SciPy files."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from trueval.data.size_limits import most_bytes, too_large
from trueval.errors import DataError, TruevalError

# Other names under which libraries save the same matrices; implicit's models write the first two.
_ALSO = {"users": "user_factors", "items": "item_factors", "scores": "matrix"}
_IDS = ("user_ids", "item_ids")
_FAILURES = (
    ValueError, OSError, EOFError, KeyError, TypeError, SyntaxError, MemoryError, RuntimeError, zipfile.BadZipFile,
    zlib.error,
)  # fmt: skip


def read_matrices(path: str | Path, *, names: tuple[str, ...]) -> dict[str, Any]:
    """The named matrices of a file, and the ids beside them where there are any.

    A .npy file holds one matrix, whatever it is called; it stays on disk until rows are asked for.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError("there is no such file", where=str(path), do="check the path")
    if path.suffix not in (".npy", ".npz"):
        raise DataError("matrices are read from .npy and .npz files", where=str(path), found=path.suffix or "no suffix")
    try:
        if path.suffix == ".npz":
            return _archive(path, names)
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except _FAILURES as error:
        if isinstance(error, TruevalError):
            raise
        message = str(error).split("\n")[0]
        raise DataError(
            "the file could not be read", where=str(path), found=message, do="save arrays of numbers"
        ) from error
    if len(names) > 1:
        raise DataError(
            "the file contains only one matrix",
            where=str(path),
            do=f"give a file for each of {' and '.join(names)}, or a .npz",
        )
    return {names[0]: matrix}


def _archive(path: Path, names: tuple[str, ...]) -> dict[str, Any]:
    _check_size(path)
    with np.load(path, allow_pickle=False) as archive:
        if {"format", "data", "shape"} <= set(archive.files) and names == ("scores",):
            from scipy import sparse

            matrix = sparse.load_npz(path)  # takes no pickles either
            if hasattr(matrix, "check_format"):
                matrix.check_format(full_check=True)  # compiled code follows the indices without a look
            return {"scores": matrix}
        found = {name: archive[name] for name in _IDS if name in archive.files}
        for name in names:
            stored = next((key for key in (name, _ALSO[name]) if key in archive.files), None)
            matrices = [key for key in archive.files if key not in _IDS]
            if stored is None and len(names) == 1 == len(matrices):
                stored = matrices[0]
            if stored is None:
                raise DataError(
                    f"the file has no {name}",
                    where=str(path),
                    found=", ".join(archive.files) or "nothing",
                    do=f"call the matrix {name} or {_ALSO[name]}",
                )
            found[name] = archive[stored]
    return found


def _check_size(path: Path) -> None:
    """Sizes as the archive declares them: its reader unpacks no more of a member than that."""
    packed = path.stat().st_size
    with zipfile.ZipFile(path) as opened:
        if sum(member.file_size for member in opened.infolist()) > most_bytes(packed):
            raise too_large(path, packed)
