"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from trueval.errors import OutputError


def write_whole(path: Path | str, content: str | Callable[[Path], None]) -> None:
    """Write text, or let a function write, into a temporary file beside the target, then rename."""
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
    except OSError as error:
        raise OutputError(
            "the result could not be written",
            where=str(target),
            found=error.strerror or str(error),
            do="choose a folder that exists and can be written",
        ) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
