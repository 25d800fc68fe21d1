"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from trueval.errors import OutputError


def write_whole(
    path: Path | str,
    content: str | Callable[[Path], None],
    *,
    what: str = "the result could not be written",
    do: str = "choose a folder that exists and can be written",
) -> None:
    """Write text, or let a function write, into a temporary file beside the target, then rename.

    >>> with tempfile.TemporaryDirectory() as place:
    ...     write_whole(Path(place) / "result.txt", "42")
    ...     [(path.name, path.read_text()) for path in Path(place).iterdir()]
    [('result.txt', '42')]
    """
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix)
        os.close(handle)
        temporary = Path(name)
        try:
            if callable(content):
                content(temporary)
            else:
                temporary.write_text(content, encoding="utf-8")
            os.chmod(temporary, 0o666 & ~_umask())
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise OutputError(what, where=str(target), found=problem.strerror or str(problem), do=do) from problem


@contextmanager
def whole_folder(folder: Path, *, what: str, do: str) -> Iterator[Path]:
    """A new folder to write into, which takes the place of `folder` once all is written; what was there goes then.

    >>> with tempfile.TemporaryDirectory() as place:
    ...     with whole_folder(Path(place) / "out", what="not written", do="try again") as new:
    ...         written = (new / "a.txt").write_text("42")
    ...     [str(path.relative_to(place)) for path in Path(place).rglob("*.txt")]
    ['out/a.txt']
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
            new = Path(scratch) / "new"
            new.mkdir()
            yield new
            _replace(folder, new)
    except (OSError, pl.exceptions.PolarsError) as problem:
        found = getattr(problem, "strerror", None) or str(problem)
        raise OutputError(what, where=str(folder), found=found, do=do) from problem


def _replace(folder: Path, new: Path) -> None:
    """Put the new folder where the old one was; the old one goes with the scratch folder, or comes back."""
    old = new.with_name("old")
    if folder.exists():
        os.replace(folder, old)
    try:
        os.replace(new, folder)
    except OSError:
        if old.exists():
            os.replace(old, folder)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
