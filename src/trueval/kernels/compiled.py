"""Loading of the compiled kernels, from any thread, and a place for what was compiled."""

from __future__ import annotations

import importlib
import os
import tempfile
from pathlib import Path
from types import ModuleType

# Families whose modules are loaded to their end. In sys.modules they are from the beginning, and a thread that looked
# there would find half a module while another thread loads it.
_loaded: dict[str, ModuleType] = {}


def load(family: str) -> ModuleType:
    """One family of compiled kernels; a thread that asks while another one loads it waits."""
    if family not in _loaded:
        _prepare_cache()
        _loaded[family] = importlib.import_module(f"trueval.kernels.{family}")
    return _loaded[family]


def is_loaded(family: str) -> bool:
    """Whether a family can be used without waiting."""
    return family in _loaded


def _prepare_cache() -> None:
    """numba caches beside the sources or in the user's cache; give it a place when neither can be written."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    beside = Path(__file__).parent / "__pycache__"
    users = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    if not any(_writable(folder) for folder in (beside, users)):
        os.environ["NUMBA_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / f"trueval-kernels-{os.getuid()}")


def _writable(folder: Path) -> bool:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)
