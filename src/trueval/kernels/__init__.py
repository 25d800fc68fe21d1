"""The inner loops. Large inputs go to compiled kernels, small ones to the same in plain NumPy.

Importing numba and loading its cached code costs more than a second, which an evaluation of a few
thousand rows must not pay. Both forms give the same results to the last bit.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np

from trueval.kernels.compiled import is_loaded, load
from trueval.kernels.threads import blocks, in_order, threads, use_threads

__all__ = [
    "blocks",
    "choose",
    "gather",
    "in_order",
    "load_compiler",
    "look_up",
    "mark_present",
    "threads",
    "use_kernels",
    "use_threads",
]

# Up to this many elements plain NumPy is faster than loading the compiled kernels.
SMALL = 300_000

# Families whose plain form has a module of its own.
_PLAIN = {
    "aspects": "trueval.kernels.plain_aspects",
    "item_pairs": "trueval.kernels.plain_item_pairs",
    "library_order": "trueval.kernels.plain_library_order",
    "resampling": "trueval.kernels.plain_resampling",
    "neighbours": "trueval.kernels.plain_neighbours",
    "sampling": "trueval.kernels.plain_sampling",
    "topics": "trueval.kernels.plain_topics",
    "world_fit": "trueval.kernels.plain_world_fit",
}

_FEW = 250_000  # elements that are gathered before a second thread has begun
_forced: str | None = os.environ.get("TRUEVAL_KERNELS")


@contextmanager
def use_kernels(kind: str | None) -> Iterator[None]:
    """Force "plain" or "compiled" kernels inside the block, whatever the size of the input."""
    global _forced
    before, _forced = _forced, kind
    try:
        yield
    finally:
        _forced = before


def choose(family: str, work: int) -> ModuleType:
    """The module that serves a family of kernels ("lists", "ranking", "sampling", "aspects") for this much work."""
    if _forced == "compiled" or (_forced is None and (work > SMALL or is_loaded(family))):
        return load(family)
    return importlib.import_module(_PLAIN.get(family, "trueval.kernels.plain_ranking"))


def load_compiler(work: int) -> None:
    """Load what puts compiled kernels into memory, where there is so much work: for a thread that has the time."""
    if _forced == "compiled" or (_forced is None and work > SMALL):
        from trueval.kernels.machine_code import load_llvm

        load_llvm()


def mark_present(values: np.ndarray, present: np.ndarray) -> None:
    """`present[values] = True`, by all workers.

    >>> present = np.zeros(3, bool)
    >>> mark_present(np.array([2, 0, 2], np.int32), present)
    >>> present.tolist()
    [True, False, True]
    """
    kernel, low = choose("lists", len(values)).mark_present, values.dtype.type(0)
    for _ in in_order(lambda part: kernel(values[part], low, present), blocks(len(values), 1 << 20)):
        pass


def look_up(values: np.ndarray, low: int, table: np.ndarray) -> np.ndarray:
    """Codes of integer ids through a table that starts at id `low`; -1 outside.

    >>> look_up(np.array([7, 5, 9]), 5, np.array([0, -1, 1], np.int32)).tolist()
    [1, 0, -1]
    """
    span = np.iinfo(values.dtype)
    if not span.min <= low <= span.max:  # signed and unsigned ids: what they have in common lies below 2^63
        out = np.full(len(values), -1, np.int32)
        if low < 0:
            shared = values < 2**63
            out[shared] = look_up(values[shared].astype(np.int64), low, table)
        return out
    out = np.empty(len(values), np.int32)
    kernel = choose("lists", len(values)).look_up
    low_typed = values.dtype.type(low)
    for _ in in_order(
        lambda part: kernel(values[part], low_typed, table, out[part]),
        blocks(len(values), max(1 << 20, len(values) // (2 * threads()) + 1)),
    ):
        pass
    return out


def gather(values: np.ndarray, places: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
    """`values[places]`, by all workers; `out` may be the places themselves.

    >>> gather(np.array([5, 7]), np.array([1, 1, 0])).tolist()
    [7, 7, 5]
    """
    out = np.empty(len(places), values.dtype) if out is None else out
    kernel, size = choose("lists", len(places)).take, max(_FEW, len(places) // (2 * threads()) + 1)
    if len(places) <= _FEW:
        kernel(values, places, out)
        return out
    for _ in in_order(lambda part: kernel(values, places[part], out[part]), blocks(len(places), size)):
        pass
    return out
