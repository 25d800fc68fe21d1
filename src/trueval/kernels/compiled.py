"""Loading of the compiled kernels, from any thread."""

from __future__ import annotations

import importlib
from types import ModuleType

# Families whose modules are loaded to their end. In sys.modules they are from the beginning, and a thread that looked
# there would find half a module while another thread loads it.
_loaded: dict[str, ModuleType] = {}


def load(family: str) -> ModuleType:
    """One family of compiled kernels; a thread that asks while another one loads it waits."""
    if family not in _loaded:
        _loaded[family] = importlib.import_module(f"trueval.kernels.{family}")
    return _loaded[family]


def is_loaded(family: str) -> bool:
    """Whether a family can be used without waiting."""
    return family in _loaded
