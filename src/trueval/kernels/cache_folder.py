"""Where compiled kernels are kept: the first folder that can be written, and that nobody else can write to."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from trueval.kernels.trusted_paths import distrust
from trueval.progress import note

_SETTING = "NUMBA_CACHE_DIR"


@cache
def cache_folder() -> Path | None:
    """The folder, made if need be; None where there is none to trust, and compiled code stays in memory.

    In this order: NUMBA_CACHE_DIR, beside the sources, the user's cache, a private folder among temporary files.
    """
    if chosen := os.environ.get(_SETTING):
        folder = Path(os.path.abspath(chosen)) / _own_name()
        reason = _unusable(folder)
        if not reason:
            return folder
        note(f"compiled kernels are not kept in {_SETTING}: {reason}")
    folder = Path(__file__).parent / "__pycache__"
    make_folder(folder, mode=0o755)  # as Python makes it: its own compiled files are for everybody
    if not distrust(folder) and os.access(folder, os.W_OK):
        return folder
    reason = ""
    for folder in _private_folders():
        reason = _unusable(folder)
        if not reason:
            return folder
    note(f"compiled kernels are not kept on disk: {reason}; set {_SETTING} to a folder of your own")
    return None


def make_folder(folder: Path, *, mode: int = 0o700) -> None:
    """Make a folder and those above it, closed to others whatever the umask; that it failed shows later."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    with suppress(OSError):
        for place in reversed(missing):
            place.mkdir(mode=mode, exist_ok=True)


def _unusable(folder: Path) -> str:
    """Why a folder, made if need be, cannot be used."""
    above = next(place for place in folder.parents if place.exists())
    if not folder.exists():
        if reason := distrust(above, to_make_in=True):
            return reason
        make_folder(folder)
        if not folder.exists():
            return f"{above} cannot be written"
    return distrust(folder) or ("" if os.access(folder, os.W_OK) else f"{folder} cannot be written")


def _private_folders() -> Iterator[Path]:
    with suppress(RuntimeError):  # a user without a home
        yield _users_cache() / "trueval" / _own_name()
    user = os.getuid() if hasattr(os, "getuid") else "user"
    yield Path(tempfile.gettempdir()) / f"trueval-kernels-{user}" / _own_name()


def _users_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _own_name() -> str:
    """Each installation has a folder of its own."""
    return "kernels_" + hashlib.sha256(os.path.dirname(os.path.abspath(__file__)).encode()).hexdigest()[:20]
