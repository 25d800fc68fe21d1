"""Progress of long work: a bar with the time left on a terminal, a line that changes in notebooks, lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from trueval.errors import visible

_quiet = False
_CELLS = 24  # of the bar in a notebook
_REWRITTEN = 0.5  # seconds between two states of it


class Step(Protocol):
    """Called with the number of units just finished."""

    def __call__(self, done: int = 1) -> None: ...


class NamedStep(Protocol):
    """A step that may also say what is done next."""

    def __call__(self, done: int = 1, doing: str = "") -> None: ...


def set_quiet(quiet: bool) -> None:
    """Silence progress and notes everywhere (`--quiet`)."""
    global _quiet
    _quiet = quiet


def note(text: str) -> None:
    """One line for the person at the terminal, on standard error."""
    if not _quiet:
        print(visible(text), file=sys.stderr, flush=True)


def bars_are_shown() -> bool:
    """Whether progress bars are shown: on a terminal, unless `--quiet`."""
    return not _quiet and sys.stderr.isatty()


def in_notebook() -> bool:
    """Whether output goes to the page of a Jupyter kernel, which is no terminal but rewrites a line."""
    ipython = sys.modules.get("IPython")  # a kernel has loaded it; nobody else needs it
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


@contextmanager
def hushed() -> Iterator[None]:
    """Show no progress inside the block: it is one step of work whose progress is shown."""
    global _quiet
    before, _quiet = _quiet, True
    try:
        yield
    finally:
        _quiet = before


@contextmanager
def progress(title: str, total: int, *, after: float = 1.0) -> Iterator[NamedStep]:
    """Show how far some work is; work that ends within `after` seconds shows nothing.

    >>> with progress("ranking", 2) as step:
    ...     step()
    ...     step()
    """
    if _quiet or total <= 0:
        yield lambda done=1, doing="": None
    elif sys.stderr.isatty():
        yield from _bar(title, total, after)
    elif in_notebook():
        yield from _one_line(title, total, after)
    else:
        yield from _lines(title, total, after)


def _bar(title: str, total: int, after: float) -> Iterator[NamedStep]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True, force_jupyter=False), transient=True)
    task = bar.add_task(visible(title), total=total)
    begun = time.monotonic()

    def step(done: int = 1, doing: str = "") -> None:
        bar.update(task, advance=done, description=visible(doing) or None)
        if not bar.live.is_started and time.monotonic() - begun >= after:
            bar.start()

    try:
        yield step
    finally:
        bar.stop()


def _one_line(title: str, total: int, after: float) -> Iterator[NamedStep]:
    """A line that is written over, at most twice a second, and is gone at the end.

    It goes to standard output: standard error has a red ground in notebooks, which stays when the line is gone.
    """
    begun = time.monotonic()
    written, finished, width = -math.inf, 0, 0

    def step(done: int = 1, doing: str = "") -> None:
        nonlocal written, finished, title, width
        finished += done
        title = doing or title
        now = time.monotonic()
        if finished and now - begun >= after and now - written >= _REWRITTEN:
            written = now
            full = min(_CELLS, _CELLS * finished // total)
            text = f"{_far(title, finished, total, now - begun)} {'█' * full}{'·' * (_CELLS - full)}"
            width = max(width, len(text))
            print(f"\r{text:<{width}}", end="", flush=True)

    try:
        yield step
    finally:
        if width:
            print("\r" + " " * width + "\r", end="", flush=True)


def _far(title: str, finished: int, total: int, seconds: float) -> str:
    left = seconds / finished * (total - finished)
    return visible(f"{title}: {finished:,} of {total:,}, {left:.0f} s left").replace("\n", " ")


def _lines(title: str, total: int, after: float) -> Iterator[NamedStep]:
    begun = printed = time.monotonic()
    finished = 0

    def step(done: int = 1, doing: str = "") -> None:
        nonlocal printed, finished, title
        finished += done
        title = doing or title
        now = time.monotonic()
        if finished and now - begun >= after and (now - printed >= 10 or (finished >= total and now - begun >= 10)):
            printed = now
            print(_far(title, finished, total, now - begun), file=sys.stderr, flush=True)

    yield step
