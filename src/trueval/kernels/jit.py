"""How kernels are compiled: without the ways in that nobody takes, which would be a quarter of the time it takes."""

from __future__ import annotations

from typing import Any

from numba import njit

KERNEL: dict[str, Any] = {"nogil": True, "cache": True, "no_cfunc_wrapper": True}
INNER: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": True}

kernel = njit(**KERNEL)
"""Python calls it; it is kept on disk with all that it calls."""

inner = njit(**INNER)
"""Kernels call it, and only they can."""

inlined = njit(inline="always")
"""Becomes a part of what calls it, and is not compiled by itself: for what has one or two callers and is large."""
