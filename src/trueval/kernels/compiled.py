"""Loading of the compiled kernels: where their cache lies, and a word to whoever waits for the first time."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType

from trueval.progress import note


def load(family: str) -> ModuleType:
    """Import one family of compiled kernels."""
    name = f"trueval.kernels.{family}"
    if name not in sys.modules:
        _prepare_cache()
        module = importlib.import_module(name)
        cache = _cache_of(module)
        _forget_stale(cache)
        if not any(cache.glob(f"{family}.*.nbi")) and sys.stderr.isatty():
            note("compiling the fast kernels, once (a few seconds)…")
        return module
    return sys.modules[name]


def _prepare_cache() -> None:
    """numba caches beside the sources or in the user's cache; give it a place when neither can be written."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    beside = Path(__file__).parent / "__pycache__"
    users = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    if not any(_writable(folder) for folder in (beside, users)):
        os.environ["NUMBA_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / f"trueval-kernels-{os.getuid()}")


def _forget_stale(cache: Path) -> None:
    """Drop what was compiled before any kernel changed: numba looks at a kernel's own file, not at what it calls."""
    changed = max(source.stat().st_mtime for source in Path(__file__).parent.glob("*.py"))
    for index in cache.glob("*.nbi"):
        try:
            if index.stat().st_mtime < changed:
                index.unlink()
        except OSError:  # another process was faster, or nobody may write here
            continue


def _writable(folder: Path) -> bool:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)


def _cache_of(module: ModuleType) -> Path:
    caches = (value._cache for value in vars(module).values() if hasattr(value, "_cache"))
    return Path(next(cache.cache_path for cache in caches if cache.cache_path))  # what only kernels call has none
