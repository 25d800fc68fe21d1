"""Ids as keys of 128 bits, which compiled kernels can compare: equal keys are equal ids."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

Keys = tuple[np.ndarray, np.ndarray]
ANY = 2**32 - 1  # longer than every text
SHORT = 12  # bytes of a text that polars (Arrow) keeps with its length, and zeros behind, in 16 bytes


def is_short(column: pl.Series) -> bool:
    """Whether `keys` can take the texts of a column as they are.

    >>> is_short(pl.Series(["sku-1", "ü" * 6])), is_short(pl.Series(["a", "0123456789abc"])), is_short(pl.Series([1]))
    (True, False, False)
    """
    return column.dtype == pl.String and all(bool((_lengths(chunk) <= SHORT).all()) for chunk in column.get_chunks())


def keys(column: pl.Series, *, short: bool) -> Keys:
    """Left and right half of the key of each id; columns that are compared need the same `short`.

    An integer is its own key. A `short` text (see `is_short`) is, too: its length and its bytes; longer ones have keys
    that are equal to none of these, and are not told apart. Otherwise texts have two independent hashes: that two of a
    billion different ones share both has a chance below 1e-20.
    """
    if column.dtype.is_integer():
        values = column.to_numpy().view(np.uint64)
        return values, values
    if short:
        views = _views(column.rechunk())
        return views[:, 0], views[:, 1]
    both = column.to_frame().select(left=pl.all().hash(seed=1), right=pl.all().hash(seed=2))
    return both["left"].to_numpy(), both["right"].to_numpy()


def _lengths(chunk: pl.Series) -> np.ndarray:
    """Bytes of each text."""
    return _views(chunk)[:, 0] & np.uint64(0xFFFF_FFFF)


class _Array(ctypes.Structure):
    """A column in the C interface of Arrow."""

    _fields_ = (
        ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        ("children", ctypes.c_void_p), ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )  # fmt: skip


_Next = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class _Stream(ctypes.Structure):
    """Columns one after the other, in the C interface of Arrow."""

    _fields_ = (("get_schema", _Next), ("get_next", _Next), *((name, ctypes.c_void_p) for name in ("error", "release")))


class _Views:
    """The 16 bytes of each text of a column, for NumPy; gives the column back when no array needs it any more."""

    def __init__(self, column: pl.Series) -> None:
        capsule = column.__arrow_c_stream__()
        address = _capsule_pointer(capsule, b"arrow_array_stream")
        self.array = _Array()
        if _Stream.from_address(address).get_next(address, ctypes.addressof(self.array)):
            raise MemoryError("a column of texts")
        start = self.array.buffers[1] + 16 * self.array.offset
        self.__array_interface__ = {
            "data": (start, True), "shape": (self.array.length, 2), "typestr": "<u8", "version": 3,
        }  # fmt: skip

    def __del__(self) -> None:
        if self.array.release:
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.array.release)(ctypes.addressof(self.array))


def _views(column: pl.Series) -> np.ndarray:
    """The 16 bytes of each text of a column in one piece, as they are in memory."""
    return np.asarray(_Views(column)) if len(column) else np.empty((0, 2), np.uint64)


_capsule_pointer: Callable[[Any, bytes], int] = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]  # type: ignore[attr-defined]
