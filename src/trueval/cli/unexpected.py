"""What is said of an error that nobody foresaw: what, where in trueval, and how to report it."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from trueval.cli import DEFECT, REFUSED
from trueval.errors import OutputError, TruevalError


def describe_unexpected(error: BaseException) -> tuple[str, int]:
    """The message and the exit code of an error that is not one of trueval's own.

    >>> try:
    ...     [].pop()
    ... except IndexError as problem:
    ...     text, code = describe_unexpected(problem)
    >>> print(text.splitlines()[0], code)
    error: unexpected IndexError: pop from empty list 70
    """
    if isinstance(error, OSError) and error.strerror:  # the machine's fault: a full disk, a file that just vanished
        message = OutputError(
            "a file could not be read or written",
            where=str(error.filename or "standard output"),
            found=error.strerror,
            do="check the file, its permissions and the free space",
        )
        return f"error: {message}", REFUSED
    reason = " ".join(str(error).split())[:300]
    text = TruevalError(
        f"unexpected {type(error).__name__}" + (f": {reason}" if reason else ""),
        where=_place(error),
        found=f"trueval {_version()}, Python {sys.version.split()[0]}",
        do="please report it: this is a defect of trueval. Run the command again with --debug, and\n"
        "send the traceback with the command. Files and earlier results are as they were before.",
    )
    return f"error: {text}", DEFECT


def _place(error: BaseException) -> str:
    """The innermost line of trueval that was running."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "trueval" in Path(frame.filename).parts]
    if not frames:
        return ""
    path = Path(frames[-1].filename)
    name = path.as_posix().rpartition("/trueval/")[2] or path.name
    return f"trueval/{name}, line {frames[-1].lineno}, in {frames[-1].name}"


def _version() -> str:
    from trueval import __version__

    return __version__
