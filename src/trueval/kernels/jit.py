"""How kernels are compiled: without the ways in that nobody takes, which would be a quarter of the time it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from trueval.kernels.cache_folder import cache_folder
from trueval.kernels.kernel_cache import DiskCache

_KERNEL: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
# without counting references, which would call numba; nothing here allocates
_ALONE: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "_nrt": False}
_WITHIN: dict[str, Any] = {**_ALONE, "no_cfunc_wrapper": True, "forceinline": True}
INNER: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": True}


def kernel_with(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A kernel (see there) with options of the compiler."""

    def decorate(function: Callable[..., Any]) -> Any:
        made: Any = njit(**_KERNEL, **options)(function)
        if made is not function and (folder := cache_folder()):  # it is the function with NUMBA_DISABLE_JIT
            made._cache = DiskCache(function, folder)
        return made

    return decorate


kernel = kernel_with()
"""Python calls it; it is kept on disk with all that it calls."""

loop: Any = njit(**_ALONE)
"""A function of `loops`: Python calls its machine code (see `machine_code`)."""

inner = njit(**INNER)
"""Kernels call it, and only they can."""

within: Any = njit(**_WITHIN)
"""Loops call it, and other kernels: it becomes a part of their machine code, which so refers to nothing outside."""

inlined = njit(inline="always")
"""Becomes a part of what calls it, and is not compiled by itself: for what has one or two callers and is large."""
